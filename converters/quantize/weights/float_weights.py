"""Float weights that are replaced before they are quantized, and the values by which they are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from arenite.converters.graph.model import Tensor

#: The largest number of rows of values by which weights are chosen.
_MAX_ROWS = 8192

#: Weights with a larger share of zeros are pruned.
_MAX_ZEROS = 0.05


def frozen_float32(values: np.ndarray) -> np.ndarray:
    """Return a read-only float32 copy of ``values``."""
    out = values.astype(np.float32)
    out.flags.writeable = False
    return out


def float64_matrix(weights: Tensor) -> np.ndarray:
    """Return constant weights as float64 [outputs, inputs]."""
    assert weights.data is not None
    return weights.data.reshape(weights.shape[0], -1).astype(np.float64)


def is_pruned(weights: Tensor) -> bool:
    """Return whether many of the constant ``weights`` are zeros, which other weights would not keep."""
    assert weights.data is not None
    return bool(np.mean(weights.data == 0) > _MAX_ZEROS)


def sampled_rows(values: Iterable[Mapping[int, np.ndarray]], tensor: int, columns: int) -> np.ndarray:
    """Return the values of a tensor as float64 [rows, ``columns``], in order. At most 8,192 of the rows are returned,
    evenly distributed.

    Args:
        values: the values of some tensors for each sample, by the indices of the tensors.
        tensor: the index of the tensor.
        columns: the number of columns, which divides the size of the tensor.
    """
    rows = np.concatenate([sample[tensor].reshape(-1, columns) for sample in values])
    return rows[:: -(-len(rows) // _MAX_ROWS)].astype(np.float64)
