"""Interpret the numbers of a data set, and check whether a model can be calibrated with them.

Integers are interpreted by the first rule that applies:

1. If the model's input has integers without a scale or booleans (ids, flags), they are not changed. A stated scale is
   for the other inputs.
2. If a scale is stated (array ``scale`` in the file, or an argument), they are quantized values q:
   real = scale * (q - zero_point).
3. If the model's input is quantized and has the same type, they are quantized like the input.
4. uint8 values are pixels from 0 to 255 and are not changed.
5. int8 or int16 values for a float input are an error that asks for the scale, because such integers are nearly always
   quantized values or PCM sound, and unchanged int8 values would be 127 times too large.
6. Wider integers and booleans are not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from arenite.converters.graph.model import DTYPES, Quantization, Tensor
from arenite.errors import UsageError

#: A note is added if less than this share of the samples is different.
_MIN_DIFFERENT_SHARE = 0.9

#: A note is added if a larger share of the values is outside the range of the input.
_MAX_OUTSIDE_SHARE = 0.001

#: A note is added if the values use less than this share of the range of the input.
_MIN_USED_SHARE = 0.02


def reshape_samples(where: str, name: str, array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return ``array`` in the shape (samples, *shape of the input with a batch of 1). Raises ``UsageError`` if its
    shape does not fit."""
    shape = tensor.shape
    if shape[:1] == (1,) and array.shape[1:] == shape[1:] and array.shape[1:] != shape:
        return array[:, np.newaxis]
    if array.shape[1:] == shape:
        return array
    one = shape[1:] if shape[:1] == (1,) else shape
    hint = f"Give '{name}' as (samples, {', '.join(map(str, one))})."
    actual = array.shape[1:]
    if array.shape in (one, shape):
        hint = f"This is a single sample: give '{name}'[None] with shape {(1, *one)}."
    elif len(one) == 3 and len(actual) == 3 and (actual[1], actual[2], actual[0]) == one:
        hint = "The channels are first, but the model has them last: transpose with x.transpose(0, 2, 3, 1)."
    elif len(one) == 3 and len(actual) == 3 and (actual[2], actual[0], actual[1]) == one:
        hint = "The channels are last, but the model has them first: transpose with x.transpose(0, 3, 1, 2)."
    elif order := _find_permutation(actual, one):
        axes = ", ".join(str(k + 1) for k in order)
        hint = f"The dimensions are in another order: transpose with x.transpose(0, {axes})."
    elif int(np.prod(actual)) == int(np.prod(one)):
        hint = f"The number of values is right: reshape with x.reshape({(-1, *one)})."
    raise UsageError(
        f"{where}: '{name}' has shape {array.shape}; the input '{tensor.name}' takes samples of {one}.", hint
    )


def _find_permutation(actual: Sequence[int], expected: Sequence[int]) -> tuple[int, ...] | None:
    """Return the permutation of the dimensions ``actual`` that gives ``expected``, or None if there is none or there
    are more than 5 dimensions."""
    if len(actual) != len(expected) or len(actual) > 5:
        return None
    orders = permutations(range(len(actual)))
    return next((p for p in orders if [actual[k] for k in p] == list(expected)), None)


def real_values(
    where: str, name: str, array: np.ndarray, tensor: Tensor, stated: tuple[float, int] | None
) -> tuple[np.ndarray, list[str]]:
    """Return ``array`` as float32 real values, or in the input's type if the input has integers without a scale; and
    notes.

    ``stated`` is the scale and zero point of integers, or None. Raises ``UsageError`` if the numbers cannot be
    interpreted.
    """
    check_numbers(where, name, array)
    dtype = DTYPES[tensor.dtype]
    if tensor.quant is None and dtype is not None and dtype.kind in "iub":
        return _as_integers(where, name, array, tensor, dtype), []
    if array.dtype.kind == "f":
        if stated is not None:
            raise UsageError(
                f"{where}: '{name}' is {array.dtype} and a scale is stated for it.",
                "Real values need no scale: leave out scale and zero_point.",
            )
        with np.errstate(over="ignore"):  # the caller checks for infinities
            return array.astype(np.float32), []
    if stated is not None:
        return _dequantize(array, *stated), []
    if tensor.quant is not None and array.dtype == dtype:
        return _dequantize(array, tensor.scale, tensor.zero_point), []
    if array.dtype == np.uint8:
        note = f"{where}: '{name}' is uint8: it is used as pixels from 0 to 255, without scaling."
        return array.astype(np.float32), [note]
    if array.dtype in (np.int8, np.int16):
        low, high = int(array.min()), int(array.max())
        raise UsageError(
            f"{where}: '{name}' is {array.dtype} ({low} to {high}) and the input '{tensor.name}' takes real values: "
            "are these quantized?",
            "If they are, add the arrays scale and zero_point to the file; if not, save them as float32.",
        )
    return array.astype(np.float32), []


def _dequantize(array: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    return (np.float32(scale) * (array.astype(np.int64) - zero_point).astype(np.float32)).astype(np.float32)


def _as_integers(where: str, name: str, array: np.ndarray, tensor: Tensor, dtype: np.dtype) -> np.ndarray:
    """Return the values for an input of integers without a scale. Raises ``UsageError`` if ``dtype`` cannot
    represent them."""
    if array.dtype == dtype:
        return array
    info = None if dtype.kind == "b" else np.iinfo(dtype)
    low, high = (0, 1) if info is None else (info.min, info.max)
    are_integers = array.dtype.kind != "f" or bool(np.all(array == np.trunc(array)))
    if not are_integers or (array.size and (array.min() < low or array.max() > high)):
        raise UsageError(
            f"{where}: '{name}' has values from {array.min()} to {array.max()}; "
            f"the input '{tensor.name}' takes {tensor.dtype}.",
            f"Give integers from {low} to {high}.",
        )
    return array.astype(dtype)


def check_numbers(where: str, name: str, array: np.ndarray) -> None:
    """Raise ``UsageError`` if ``array`` holds texts or anything else that is no number."""
    if array.dtype.kind not in "fiub":
        raise UsageError(
            f"{where}: '{name}' is of type {array.dtype}.", "Give numbers: float32, or integers with a scale."
        )


def check_finite(where: str, name: str, array: np.ndarray) -> None:
    """Raise ``UsageError`` if there is NaN or infinity. The message has the number of the first such sample."""
    if array.dtype.kind != "f":
        return
    bad = ~np.isfinite(array.reshape(len(array), -1))
    if bad.any():
        samples = np.flatnonzero(bad.any(axis=1))
        nan = bool(np.isnan(array).any())
        raise UsageError(
            f"{where}: '{name}' has {int(bad.sum()):,} {'NaN' if nan else 'infinite'} values in {len(samples):,} of "
            f"{len(array):,} samples, the first in sample {samples[0]}.",
            "Leave those samples out, or correct their source: the ranges of all tensors depend on them.",
        )


def varies(array: np.ndarray) -> bool:
    """Return whether any sample differs from the first."""
    return not bool((array == array[:1]).all())


def check_varies(where: str, name: str, array: np.ndarray, alone: bool = True) -> list[str]:
    """Return notes on samples whose values are all equal, and on repeated samples. Raises ``UsageError`` if all samples
    are the same, if each sample has only equal values, or if samples have no values.

    ``alone`` is true if no other input varies. If another input varies, all samples of this input may be the same, for
    example if it is a mode or a length.
    """
    flat = array.reshape(len(array), -1)
    if flat.size == 0:
        raise UsageError(f"{where}: '{name}' has samples without values.", "Give non-empty samples.")
    if len(flat) > 1 and not varies(flat):
        if not alone:
            return [f"{where}: '{name}' is the same in all {len(flat):,} samples."]
        raise UsageError(
            f"{where}: all {len(flat):,} samples of '{name}' are the same.",
            "Calibration needs samples like those in the field; check the program that wrote this file.",
        )
    constant = flat.min(axis=1) == flat.max(axis=1)
    if alone and flat.shape[1] > 1 and bool(constant.all()):
        raise UsageError(
            f"{where}: in every sample of '{name}' all values are equal (in sample 0 they are {flat[0, 0]:g}).",
            "Calibration needs samples like those in the field; check the program that wrote this file.",
        )
    notes = []
    if flat.shape[1] > 1 and constant.any():
        notes.append(
            f"{where}: in {int(constant.sum()):,} of {len(flat):,} samples of '{name}' all values are equal; "
            f"the first is sample {int(np.flatnonzero(constant)[0])}."
        )
    different = len({row.tobytes() for row in flat})
    if different < _MIN_DIFFERENT_SHARE * len(flat) and flat.shape[1] > 1:
        notes.append(f"{where}: only {different:,} of {len(flat):,} samples of '{name}' differ.")
    return notes


def range_notes(where: str, name: str, array: np.ndarray, tensor: Tensor) -> list[str]:
    """Return a note if real values do not fit the range of a quantized input, otherwise an empty list."""
    kind = DTYPES[tensor.dtype]
    if tensor.quant is None or tensor.quant.per_axis or kind is None or kind.kind not in "iu":
        return []
    # Small values are not suspicious; values that do not fit are an error later.
    if takes_whole_numbers(tensor):
        return []
    info = np.iinfo(kind)
    low = tensor.scale * (info.min - tensor.zero_point)
    high = tensor.scale * (info.max - tensor.zero_point)
    return range_mismatch_notes(where, name, array, low, high, f"the input '{tensor.name}'")


def takes_whole_numbers(tensor: Tensor) -> bool:
    """Return whether an input takes whole numbers as they are, such as the features of trees."""
    return tensor.dtype in ("int16", "int8") and tensor.quant == Quantization((1.0,), (0,))


def range_mismatch_notes(
    where: str, name: str, array: np.ndarray, low: float, high: float, owner: str
) -> list[str]:
    """Return a note if values of ``array`` are outside [``low``, ``high``] or use less than 2 % of this range.
    ``owner`` is the part of the note that names the tensor with the range."""
    lowest, highest = float(array.min()), float(array.max())
    tolerance = (high - low) / 512  # half a step of 8 bits
    outside = float(np.mean((array < low - tolerance) | (array > high + tolerance)))
    figures = f"{lowest:g} to {highest:g}, and {owner} represents {low:g} to {high:g}"
    if outside > _MAX_OUTSIDE_SHARE:
        factor = max(abs(lowest), abs(highest)) / max(abs(low), abs(high), 1e-30)
        guess = ""
        if 100 < factor < 300:  # near 255
            guess = f" They are {factor:.0f} times as large: were pixels not divided by 255?"
        elif factor > 2:
            guess = f" They are {factor:.1f} times as large."
        return [f"{where}: '{name}' has values from {figures}: {outside:.1%} of them will clip.{guess}"]
    if high > low and highest - lowest < _MIN_USED_SHARE * (high - low):
        return [
            f"{where}: '{name}' has values from {figures}: less than 2% of it is used. Were they already scaled?"
        ]
    return []


def class_numbers(
    where: str, labels: np.ndarray, classes: Sequence[str], name: str = "y"
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels as numbers, and the names of the classes. If labels are names, they are numbered alphabetically.
    Integers of shape (samples, 1) become (samples,). Raises ``UsageError`` for labels that are not finite or have
    another type."""
    if labels.dtype.kind in "US":
        names, numbers = np.unique(labels.astype(str), return_inverse=True)
        return numbers.reshape(labels.shape).astype(np.int64), tuple(str(n) for n in names)
    if labels.dtype.kind not in "fiub":
        raise UsageError(
            f"{where}: '{name}' is of type {labels.dtype}.", "Give class numbers, names or target values."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise UsageError(f"{where}: '{name}' has NaN or infinite values.", "Leave those samples out.")
    if labels.ndim == 2 and labels.shape[1] == 1 and labels.dtype.kind in "iub":
        labels = labels[:, 0]
    if labels.dtype.kind == "b":
        labels = labels.astype(np.int64)
    return labels, tuple(classes)
