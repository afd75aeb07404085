"""Check samples against the range of a model's inputs, because wrongly scaled samples give a meaningless score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import DTYPES, Tensor
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.dataset.sample_values import range_mismatch_notes, takes_whole_numbers
from arenite.errors import UsageError

#: Samples whose values are larger or smaller than the range of the input by this factor were scaled differently.
_SCALE_MISMATCH_FACTOR = 20.0


def representable_range(tensor: Tensor) -> tuple[float, float] | None:
    """Return the range of real values of a tensor that is quantized per tensor, or None for other tensors."""
    dtype = DTYPES[tensor.dtype]
    if tensor.quant is None or tensor.quant.per_axis or dtype is None or dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return tensor.scale * (info.min - tensor.zero_point), tensor.scale * (info.max - tensor.zero_point)


def check_range(dataset: Dataset, inputs: Sequence[Tensor]) -> list[str]:
    """Return notes on samples that do not fit the scales of a quantized model's ``inputs``.

    Raises ``UsageError`` if values are larger or smaller than the range of an input by ``_SCALE_MISMATCH_FACTOR``.
    """
    notes: list[str] = []
    for index, tensor in enumerate(inputs):
        span = representable_range(tensor)
        if span is None or not len(dataset):
            continue
        values = np.stack([sample[index] for sample in dataset.inputs])
        name = "x" if len(inputs) == 1 else f"x{index}"
        if takes_whole_numbers(tensor):
            _check_whole_numbers(f"{dataset.path}: '{name}'", values, tensor, span)
            continue
        mismatches = range_mismatch_notes(
            str(dataset.path), name, values, *span, f"the input '{tensor.name}'"
        )
        largest, limit = float(np.abs(values).max()), max(map(abs, span))
        if mismatches and not limit / _SCALE_MISMATCH_FACTOR < largest < limit * _SCALE_MISMATCH_FACTOR:
            raise UsageError(
                mismatches[0],
                "Scale samples for calibration and scoring in the same way as for the model's training.",
            )
        notes += mismatches
    return notes


def _check_whole_numbers(where: str, values: np.ndarray, tensor: Tensor, span: tuple[float, float]) -> None:
    """Raise ``UsageError`` for values that the input would round or clip."""
    bad = (values != np.round(values)) | (values < span[0]) | (values > span[1])
    if bad.any():
        raise UsageError(
            f"{where} has the value {values[bad][0]:g}; the input '{tensor.name}' takes whole numbers "
            f"from {span[0]:g} to {span[1]:g}.",
            "Convert with --features float32, or train the model with whole numbers of this type.",
        )
