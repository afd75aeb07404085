"""Make the inputs for a bench run: read them from an .npz file, or draw random values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from arenite.array_files import read_arrays
from arenite.converters.graph.model import DTYPES, Subgraph, Tensor
from arenite.converters.graph.trees import ensemble_of, is_tree_ensemble, random_features
from arenite.converters.quantize.scoring.decisions import class_map_axis, decide, is_dense
from arenite.errors import UsageError

SEED = 0


@dataclass(frozen=True)
class Samples:
    """The inputs and labels of all samples. ``inputs[k][i]`` is input ``i`` of sample ``k`` with the shape and type of
    the model's input. ``labels`` has one label per sample, or is None."""

    inputs: list[list[np.ndarray]]
    labels: np.ndarray | None

    def __len__(self) -> int:
        return len(self.inputs)


def random_samples(
    tensors: Sequence[Tensor], count: int, limits: Mapping[int, int] = MappingProxyType({})
) -> Samples:
    """Return ``count`` random samples with seed 0: integers from the whole range of their type, floats in [-1, 1).

    ``limits`` maps the tensor index of an input that holds indices into a table to the number of valid indices
    (``graph.index_limits``). Such an input gets only valid indices.
    """
    rng = np.random.default_rng(SEED)
    return Samples(
        [[_random_input(t, limits.get(t.index), rng) for t in tensors] for _ in range(count)], None
    )


def _random_input(tensor: Tensor, limit: int | None, rng: np.random.Generator) -> np.ndarray:
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    if limit is not None and tensor.quant is None:
        return rng.integers(0, limit, tensor.shape).astype(dtype)
    if dtype.kind == "f":
        return (rng.random(tensor.shape) * 2 - 1).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, tensor.shape, dtype=dtype, endpoint=True)


def random_tree_samples(graph: Subgraph, count: int) -> Samples:
    """Return ``count`` random samples for a tree ensemble, with seed 0: values at its thresholds and beside them."""
    rng = np.random.default_rng(SEED)
    op = next(op for op in graph.ops if is_tree_ensemble(op))
    ensemble, features = ensemble_of(graph, op), graph.tensors[op.inputs[0]].elements
    return Samples([[random_features(ensemble, features, rng)] for _ in range(count)], None)


def load_samples(path: Path, tensors: Sequence[Tensor], limit: int | None = None) -> Samples:
    """Read the arrays ``x`` (or ``x0``, ``x1``, ... for several inputs) and, if it exists, ``y`` from an .npz file.

    The first dimension of an array counts samples. The other dimensions are the input's shape, with or without its
    batch dimension of 1. At most ``limit`` samples are returned. Raises ``UsageError`` that names the array, its shape
    or type, and the expected shape or type.
    """
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"Cannot read {path}: {error}.", "Write it with numpy.savez(path, x=..., y=...)."
        ) from error
    return samples_of_arrays(arrays, tensors, limit, str(path))


def samples_of_arrays(
    arrays: Mapping[str, np.ndarray],
    tensors: Sequence[Tensor],
    limit: int | None = None,
    path: str = "The data",
) -> Samples:
    """Return the samples in ``arrays``, which has the names of ``load_samples``. Errors begin with ``path``. Raises
    ``UsageError`` like ``load_samples``."""
    names = ["x"] if len(tensors) == 1 and "x" in arrays else [f"x{i}" for i in range(len(tensors))]
    columns = []
    for name, tensor in zip(names, tensors, strict=True):
        if name not in arrays:
            raise UsageError(
                f"{path} has no array '{name}'; it has {', '.join(arrays) or 'none'}.",
                "The array of a single input is called x. Those of several inputs are called x0, x1, ...",
            )
        columns.append(_with_input_shape(path, name, arrays[name], tensor))
    count = len(columns[0])
    if any(len(c) != count for c in columns) or any(
        arrays[name].shape[:1] != (count,) for name in ("y", "y0") if name in arrays
    ):
        raise UsageError(
            f"{path}: the arrays have different numbers of samples.",
            "Give every array the same first dimension.",
        )
    if count == 0:
        raise UsageError(f"{path} has no samples.", "Write at least one.")
    count = count if limit is None else min(limit, count)
    labels = arrays.get("y", arrays.get("y0"))
    labels = None if labels is None else labels[:count]
    return Samples([[c[k] for c in columns] for k in range(count)], labels)


def _with_input_shape(path: str, name: str, array: np.ndarray, tensor: Tensor) -> np.ndarray:
    shape = tensor.shape
    dtype = DTYPES[tensor.dtype]
    if array.ndim and array.shape[1:] != shape and shape[:1] == (1,) and array.shape[1:] == shape[1:]:
        array = array[:, np.newaxis]
    if array.ndim == 0 or array.shape[1:] != shape:
        raise UsageError(
            f"{path}: '{name}' has shape {array.shape}, expected (samples, {', '.join(map(str, shape))}).",
            "Give the samples in the shape of the model's input.",
        )
    if array.dtype != dtype:
        raise UsageError(
            f"{path}: '{name}' is {array.dtype}, the model's input '{tensor.name}' is {tensor.dtype}.",
            "Quantize the samples with the input's scale and zero point first (`arenite inspect` shows them).",
        )
    return array


def accuracy(
    outputs: Sequence[np.ndarray], labels: np.ndarray | None, tensor: Tensor | None = None
) -> float | None:
    """Return the fraction of samples (for a dense output such as a segmentation: of positions) whose largest output
    value is at the label's index.

    Returns None if ``labels`` is not one class number per sample, or per position of a dense output. An output with a
    single value means class 1 if its real value, dequantized with the scale of ``tensor``, is above 0.5, else class 0.
    """
    if labels is None or labels.dtype.kind not in "iu" or not outputs:
        return None
    values = [_real_values(o, tensor) for o in outputs]
    axis = class_map_axis(values[0], labels)
    if axis is None and (labels.ndim != 1 or is_dense(values[0])):
        return None
    hits = decide(values, axis=axis) == labels.reshape((len(labels), -1) if axis is not None else -1)
    return float(np.mean(hits))


def _real_values(output: np.ndarray, tensor: Tensor | None) -> np.ndarray:
    """Return the real values of an output, dequantized with the scale of ``tensor``. If ``tensor`` is not quantized,
    its integers are class numbers and are returned unchanged."""
    if tensor is not None and tensor.quant is None and output.dtype.kind in "iu":
        return output
    quant = tensor.quant if tensor is not None else None
    scale, zero = (quant.scale[0], quant.zero_point[0]) if quant is not None else (1.0, 0)
    return np.asarray(np.float32(scale) * (output.astype(np.float32) - np.float32(zero)))
