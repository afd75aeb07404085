"""Samples against the values that a model's inputs hold: scaled otherwise, they would score a model that nobody has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import DTYPES, Tensor
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.dataset.sample_values import range_mismatch_notes
from arenite.errors import UsageError

#: Values so many times as large, or as small, were scaled otherwise.
_SCALE_MISMATCH_FACTOR = 20.0


def representable_range(tensor: Tensor) -> tuple[float, float] | None:
    """The real values that a quantised tensor holds; None for one that is not quantised."""
    dtype = DTYPES[tensor.dtype]
    if tensor.quant is None or tensor.quant.per_axis or dtype is None or dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return tensor.scale * (info.min - tensor.zero_point), tensor.scale * (info.max - tensor.zero_point)


def check_range(dataset: Dataset, inputs: Sequence[Tensor]) -> list[str]:
    """Notes on samples that do not suit the scales of a quantised model's ``inputs``.

    Raises ``UsageError`` for values that are many times as large, or as small, as what the inputs hold.
    """
    notes: list[str] = []
    for place, tensor in enumerate(inputs):
        span = representable_range(tensor)
        if span is None or not len(dataset):
            continue
        values = np.stack([sample[place] for sample in dataset.inputs])
        name = "x" if len(inputs) == 1 else f"x{place}"
        mismatches = range_mismatch_notes(
            str(dataset.path), name, values, *span, f"the input '{tensor.name}'"
        )
        largest, most = float(np.abs(values).max()), max(map(abs, span))
        if mismatches and not most / _SCALE_MISMATCH_FACTOR < largest < most * _SCALE_MISMATCH_FACTOR:
            raise UsageError(
                mismatches[0], "Scale samples to calibrate and to score with as the model's training did."
            )
        notes += mismatches
    return notes
