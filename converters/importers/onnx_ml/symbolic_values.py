"""The values of a classical model's ONNX graph while it is read: linear functions, activations, trees and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.importers.onnx_ml.feature_steps import FeatureStep
from arenite.converters.importers.onnx_ml.tree_nodes import TreeNodes


@dataclass(frozen=True)
class Linear:
    """``weights @ x + bias``, where ``x`` is the output of ``layer``, or the model's input if ``layer`` is None.

    ``steps`` has the same function as a sequence of ``FeatureStep``, if it is a function of the model's input that
    changes each feature on its own. Otherwise ``steps`` is None.
    """

    layer: Activated | None
    weights: np.ndarray  # float64, (outputs, inputs)
    bias: np.ndarray  # float64, (outputs,)
    steps: tuple[FeatureStep, ...] | None = None

    @staticmethod
    def identity(size: int, layer: Activated | None = None) -> Linear:
        return Linear(layer, np.eye(size), np.zeros(size), () if layer is None else None)

    def elementwise(
        self, before: np.ndarray, factor: np.ndarray, after: np.ndarray, *, divide: bool = False
    ) -> Linear:
        """Return ``(self + before) * factor + after``, or with a division by ``factor``."""
        size = len(self.bias)
        before, factor, after = (
            np.broadcast_to(np.asarray(a, np.float64), (size,)) for a in (before, factor, after)
        )
        multiplier = 1 / factor if divide else factor
        steps = None if self.steps is None else (*self.steps, FeatureStep(before, factor, after, divide))
        bias = (self.bias + before) * multiplier + after
        return replace(self, weights=self.weights * multiplier[:, None], bias=bias, steps=steps)

    def through(self, weights: np.ndarray, bias: np.ndarray) -> Linear:
        """Return ``weights @ self + bias``."""
        return Linear(self.layer, weights @ self.weights, weights @ self.bias + bias)

    def rows(self, indices: np.ndarray) -> Linear:
        return Linear(self.layer, self.weights[indices], self.bias[indices])


@dataclass(frozen=True)
class Activated:
    """An activation of a linear function. ``kind`` is RELU, TANH, LOGISTIC, SOFTMAX or L2_NORMALIZATION."""

    kind: str
    linear: Linear

    @property
    def size(self) -> int:
        return len(self.linear.bias)


@dataclass(frozen=True)
class Trees:
    """The scores of a tree ensemble: the sums of the leaves that the trees reach, plus ``bias``.

    ``values`` has the leaves as real numbers, of shape (leaves, outputs). ``steps`` change the features before the
    trees, and ``features`` is their number.
    """

    nodes: TreeNodes
    values: np.ndarray
    bias: np.ndarray
    steps: tuple[FeatureStep, ...]
    features: int


@dataclass(frozen=True)
class Label:
    """The name or number of the chosen class. An image has the scores of all classes instead."""


Value = Linear | Activated | Trees | Label
