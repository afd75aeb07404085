"""Decisions of outputs: one class per sample, or one class per position of a dense output such as a segmentation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: If the probabilities of C classes were rounded to 8 bits, their sum may differ from 1 by this, plus C half steps of
#: 1/256.
_SUM_TOLERANCE = 0.02


def is_dense(output: np.ndarray) -> bool:
    """Return whether ``output``, of shape ``(1, ..., channels)``, has several positions, such as pixels or boxes."""
    return output.ndim > 2 and output.size > output.shape[-1]


def probability_axis(outputs: Sequence[np.ndarray]) -> int | None:
    """Return the axis along which ``outputs`` are probabilities that sum to 1: the last axis, or axis 1 if channels
    come first. Return None if there is no such axis."""
    for axis in (-1, 1):
        if outputs[0].ndim > 1 and outputs[0].shape[axis] > 1:
            tolerance = _SUM_TOLERANCE + outputs[0].shape[axis] / 512
            if all(o.min() >= 0 and np.abs(o.sum(axis=axis) - 1).max() <= tolerance for o in outputs):
                return axis
    return None


def class_map_axis(output: np.ndarray, labels: np.ndarray) -> int | None:
    """Return the axis of the classes if ``labels`` has a class number for every position of a dense output (0 if the
    output has class numbers itself), else None."""
    if not is_dense(output) or labels.ndim < 2 or not np.array_equal(labels, np.trunc(labels)):
        return None
    positions = labels[0].size
    if positions == output.size and labels.dtype.kind == "f":
        return None  # the labels are target values
    for axis in (-1, 1):
        classes = max(output.shape[axis], 2)
        if positions * output.shape[axis] == output.size and labels.min() >= 0 and labels.max() < classes:
            return axis
    return 0 if output.dtype.kind in "iub" and positions == output.size else None


def decide(outputs: Sequence[np.ndarray], threshold: float = 0.5, axis: int | None = None) -> np.ndarray:
    """Return the class number of each output, or of each position of dense outputs.

    Args:
        outputs: one array per sample, of shape ``(1, ...)``. Integers are class numbers already.
        threshold: if outputs have a single channel, the class is 1 for values above the threshold, else 0.
        axis: the axis of the classes of dense outputs. None selects ``probability_axis``, or the last axis if there is
            none.

    Returns:
        an array of shape ``(samples,)``, or ``(samples, positions)`` for dense outputs.
    """
    first = outputs[0]
    if first.dtype.kind in "iub":
        classes = np.stack([o.reshape(-1) for o in outputs])
    elif is_dense(first):
        axis = (probability_axis(outputs) or -1) if axis is None else axis
        single = first.shape[axis] == 1
        each = [o > threshold if single else np.argmax(o, axis=axis) for o in outputs]
        classes = np.stack([e.reshape(-1) for e in each])
    else:
        rows = np.stack([o.reshape(-1) for o in outputs])
        classes = rows > threshold if rows.shape[1] == 1 else np.argmax(rows, axis=1)[:, None]
    return np.asarray(classes[:, 0] if classes.shape[1] == 1 else classes).astype(np.int64)
