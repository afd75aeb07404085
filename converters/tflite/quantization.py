"""Check the quantization parameters of a tensor, and repair parameters that old converters wrote wrongly."""

from __future__ import annotations

import math
from typing import Any

from arenite.converters.graph.model import Quantization
from arenite.converters.tflite.diagnostics import Repairs, malformed, unsupported
from arenite.counts import count_of

#: The smallest and largest value of each type that can be quantized (int64 is for biases of int16 activations).
INTEGER_RANGE: dict[str, tuple[int, int]] = {
    "int2": (-2, 1),
    "int4": (-8, 7),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint4": (0, 15),
    "uint8": (0, 255),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}

#: The smallest and the largest scale. With these limits, the largest ratio that a kernel needs, (2**30 * 2**30) /
#: 2**-60, is a finite float32.
MIN_SCALE = 2.0**-60
MAX_SCALE = 2.0**30


def quantization(
    location: str,
    dtype: str,
    shape: tuple[int, ...],
    table: dict[str, Any] | None,
    repairs: Repairs,
    *,
    constant: bool,
) -> Quantization | None:
    """Return the quantization parameters in ``table``, the decoded table ``QuantizationParameters`` of a tensor with
    ``dtype`` and ``shape``. Return None if there are none, or if the type is not an integer.

    A scale must be finite and positive. 0 is accepted only if there are several scales (for a channel whose weights are
    all 0). ``constant`` is true if the tensor has a stored value. Raises ``ModelError`` for wrong numbers of values and
    for wrong values.
    """
    if table is None:
        return None
    if table["details_type"]:
        raise unsupported(
            location,
            "quantization.details",
            "block-wise, multi-axis and custom quantization are not supported",
            "Quantize per tensor or per channel.",
        )
    scale: tuple[float, ...] = table["scale"] or ()
    if not scale or dtype not in INTEGER_RANGE:
        return None
    _check_scale(location, scale, constant)
    zero = _zero_point(location, dtype, scale, table["zero_point"] or (), repairs)
    axis = _axis(location, scale, shape, table["quantized_dimension"], repairs)
    return Quantization(scale, zero, axis)


def _check_scale(location: str, scale: tuple[float, ...], constant: bool) -> None:
    for value in scale:
        if not math.isfinite(value) or value < 0 or (value == 0 and len(scale) == 1):
            raise malformed(
                location, "quantization.scale", f"has the value {value}, expected a positive number"
            )
    # Kernels divide by the scale of a computed tensor, so it has a minimum. Weights may have channels with tiny scales.
    if max(scale) > MAX_SCALE or (not constant and min(scale) < MIN_SCALE):
        extreme = max(scale) if max(scale) > MAX_SCALE else min(scale)
        raise unsupported(
            location,
            "quantization.scale",
            f"has the value {extreme}, outside {MIN_SCALE:.1e} to {MAX_SCALE:.1e}",
            "Calibrate the model again with real inputs.",
        )


def _zero_point(
    location: str, dtype: str, scale: tuple[float, ...], zero: tuple[int, ...], repairs: Repairs
) -> tuple[int, ...]:
    """Return one zero point per scale, repaired if necessary."""
    if not zero:
        repairs.add(
            "zero_point",
            location,
            lambda n, first: (
                f"The missing zero_point of {count_of(n, 'tensor')} (first: {first}) is set to 0."
            ),
        )
        zero = (0,) * len(scale)
    elif len(zero) == 1 and len(scale) > 1:
        repairs.add(
            "zero_points",
            location,
            lambda n, first: (
                f"The single zero_point of {count_of(n, 'per-channel tensor')} (first: {first}) "
                "is repeated for each channel."
            ),
        )
        zero = zero * len(scale)
    if len(zero) != len(scale):
        raise malformed(
            location,
            "quantization.zero_point",
            f"has {count_of(len(zero), 'value')}, expected {len(scale)} as in scale",
        )
    low, high = INTEGER_RANGE[dtype]
    for value in zero:
        if not low <= value <= high:
            raise malformed(
                location,
                "quantization.zero_point",
                f"has the value {value}, outside {dtype} ({low} to {high})",
            )
    return zero


def _axis(
    location: str, scale: tuple[float, ...], shape: tuple[int, ...], axis: int, repairs: Repairs
) -> int:
    """Return the axis to which the scales belong, repaired if only one axis fits. It is 0 if there is one scale."""
    inside = 0 <= axis < len(shape) or (not shape and axis == 0)
    if len(scale) == 1:
        if not inside:
            _report_repaired_axis(location, axis, 0, repairs)
        return 0
    if inside and shape and shape[axis] == len(scale):
        return axis
    if inside:
        expected = f"1 or {shape[axis]}" if shape else "1"
        raise malformed(
            location,
            "quantization.scale",
            f"has {len(scale)} values, expected {expected} (quantized_dimension {axis} of shape {list(shape)})",
        )
    fitting = [i for i, d in enumerate(shape) if d == len(scale)]
    if len(fitting) != 1:
        raise malformed(
            location,
            "quantization.quantized_dimension",
            f"is {axis}, outside the shape {list(shape)}, and no single dimension fits the {len(scale)} scales",
        )
    _report_repaired_axis(location, axis, fitting[0], repairs)
    return fitting[0]


def _report_repaired_axis(location: str, axis: int, fixed: int, repairs: Repairs) -> None:
    repairs.add(
        f"axis {axis} to {fixed}",
        location,
        lambda n, first: (
            f"The quantized_dimension {axis} of {count_of(n, 'tensor')} (first: {first}) is outside the shape; "
            f"it is set to {fixed}."
        ),
    )
