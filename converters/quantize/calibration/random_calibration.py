"""Random inputs that replace calibration samples if only the size of a model is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.errors import UsageError

_SEED = 0


@dataclass(frozen=True)
class RandomSamples:
    """Random samples in the form that ``observe`` takes. ``inputs[k][i]`` is input ``i`` of sample ``k``."""

    inputs: list[list[np.ndarray]]


def random_calibration(model: Model, count: int) -> RandomSamples:
    """Return ``count`` random samples for the inputs of the float ``model``, the same in every call.

    Floats are in [0, 1), so that roots and logarithms of inputs are defined. Indices into a table are inside the
    table, and other integers and booleans are 0 or 1. Raises ``UsageError`` for an input of another type.
    """
    graph = model.main
    rng = np.random.default_rng(_SEED)
    limits = index_limits(graph)
    tensors = [graph.tensors[i] for i in graph.inputs]
    return RandomSamples([[_random(t, limits.get(t.index), rng) for t in tensors] for _ in range(count)])


def _random(tensor: Tensor, limit: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return random values for an input. ``limit`` is the size of the table that its values index, or None."""
    dtype = DTYPES[tensor.dtype]
    if dtype is None or dtype.kind not in "fiub":
        raise UsageError(
            f"Input '{tensor.name}' is of type {tensor.dtype}, for which there are no random values.",
            "Give real inputs with --calibration.",
        )
    if limit is None and dtype.kind == "f":
        return rng.random(tensor.shape).astype(dtype)
    return rng.integers(0, limit or 2, tensor.shape).astype(dtype)
