"""Rotate the values between two layers without an activation in between, so that int8 loses less of them.

Such a bottleneck is the code of an auto-encoder, or the middle of a layer that was factored into two. The first layer
can multiply its output z by any invertible matrix R, and the second layer by the inverse matrix A, without a change of
the model's results. All channels of z have the same int8 step. An error of channel c reaches the output as column c of
V A, where V has the weights of the second layer.

Let C be the covariance of z and M = V^T V. With the eigenvalues L and eigenvectors U of M^1/2 C M^1/2, the rotation is
A = M^-1/2 U L^1/4 Q. The channels that carry most of the output get most steps, and the orthogonal matrix Q, whose
entries have similar magnitudes, distributes them evenly, so that no channel needs a wider range than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import NONE
from arenite.converters.quantize.weights.equalize import find_layer_pairs
from arenite.converters.quantize.weights.float_weights import (
    float64_matrix,
    frozen_float32,
    is_pruned,
    sampled_rows,
)
from arenite.converters.tflite.litert.interpreter import run_tensor_values

#: The largest number of channels that are rotated.
_MAX_CHANNELS = 256

#: A rotation is used if its expected error is at most this share of the error without it.
_WORTHWHILE = 0.8

#: Eigenvalues are at least this share of the largest one, so that matrices have an inverse.
_MIN_EIGENVALUE = 1e-6


@dataclass(frozen=True)
class RotatedModel:
    """The float model, and the indices of the tensors with rotated values."""

    model: Model
    rotated: frozenset[int]


def rotate_bottlenecks(
    model: Model, flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]]
) -> RotatedModel:
    """Return ``model`` with rotated values in its bottlenecks where this lowers the error of int8.

    Args:
        model: the float model.
        flatbuffer: a model with the same values in the bottlenecks, which is run.
        samples: real values, as in ``Dataset.inputs``.
    """
    pairs = _bottlenecks(model.main)
    if not pairs or not samples:
        return RotatedModel(model, frozenset())
    values = list(run_tensor_values(flatbuffer, samples, sorted(first.outputs[0] for first, _ in pairs)))
    tensors = list(model.main.tensors)
    rotated = set()
    for first, second in pairs:
        code = first.outputs[0]
        z = sampled_rows(values, code, tensors[code].shape[-1])
        v = float64_matrix(tensors[second.inputs[1]])
        mean = z.mean(axis=0)
        back = _inverse_rotation(z - mean, v)
        turn = np.linalg.inv(back)
        before, after = _expected_error(z, v), _expected_error((z - mean) @ turn.T, v @ back)
        if after > _WORTHWHILE * before:
            continue
        w, b, c = (tensors[i] for i in (first.inputs[1], first.inputs[2], second.inputs[2]))
        assert b.data is not None and c.data is not None
        tensors[w.index] = _with(w, turn @ float64_matrix(w))
        tensors[b.index] = _with(b, turn @ (b.data - mean))
        tensors[second.inputs[1]] = _with(tensors[second.inputs[1]], v @ back)
        tensors[c.index] = _with(c, c.data + v @ mean)
        rotated.add(code)
    if not rotated:
        return RotatedModel(model, frozenset())
    main = replace(model.main, tensors=tuple(tensors))
    return RotatedModel(model.with_main(main), frozenset(rotated))


def _bottlenecks(graph: Subgraph) -> list[tuple[Op, Op]]:
    """Return the pairs of layers with a bias, without an activation or another reader in between, of which the second
    multiplies each position by a matrix."""
    bottlenecks = []
    for pair in find_layer_pairs(graph):
        first, second = graph.ops[pair.first], graph.ops[pair.second]
        weights = [graph.tensors[op.inputs[1]] for op in (first, second)]
        is_matrix = second.name == "FULLY_CONNECTED" or (
            second.name == "CONV_2D" and weights[1].shape[1:3] == (1, 1)
        )
        if (
            first.name != "DEPTHWISE_CONV_2D"
            and first.options["fused_activation_function"] == NONE
            and pair.between == (first.outputs[0],)
            and is_matrix
            and min(first.input(2), second.input(2)) >= 0
            and 1 < weights[0].shape[0] <= _MAX_CHANNELS
            and not any(is_pruned(t) for t in weights)
        ):
            bottlenecks.append((first, second))
    return bottlenecks


def _with(t: Tensor, values: np.ndarray) -> Tensor:
    return replace(t, data=frozen_float32(np.ascontiguousarray(values).reshape(t.shape)))


def _inverse_rotation(centred: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the matrix A of the module's docstring for values with a mean of 0."""
    root, inverse = _roots(v.T @ v)
    eigenvalues, vectors = _eigen(root @ (centred.T @ centred / len(centred)) @ root)
    k = np.arange(len(v.T))
    angles = 2 * np.pi * np.outer(k, k) / len(k)
    even = (np.cos(angles) + np.sin(angles)) / len(k) ** 0.5  # the orthogonal matrix of the Hartley transform
    return np.asarray(inverse @ vectors @ np.diag(eigenvalues**0.25) @ even)


def _eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix. Small eigenvalues become larger."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.maximum(eigenvalues, _MIN_EIGENVALUE * max(float(eigenvalues.max()), 1e-30)), vectors


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the square root of a symmetric matrix, and the inverse of this root."""
    eigenvalues, vectors = _eigen(matrix)
    root = np.sqrt(eigenvalues)
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def _expected_error(z: np.ndarray, v: np.ndarray) -> float:
    """Return a number that is proportional to the squared error at the output if ``z`` is rounded to int8."""
    return float((max(z.max(), 0) - min(z.min(), 0)) ** 2 * np.sum(v**2))
