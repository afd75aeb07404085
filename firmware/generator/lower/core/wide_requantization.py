"""The fields of ``ar_wide``, the requantization of the kernels for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.firmware.generator.lower.core.lowering import NULL, LowerContext
from arenite.firmware.generator.requant.wide_affine import WideLayer, wrap_int32

#: The number of output channels that the kernels compute together.
GROUP = 8


#: The formulas: ``ar_wide_form``.
_FLOAT, _FLOAT_TWO_SIDED, _ONE_SIDED, _TWO_SIDED = range(4)


def group_forms(layer: WideLayer) -> np.ndarray:
    """Return the formula of each group of channels, uint8. A group uses float32 only if it is exact for all of its
    channels."""

    def in_all(exact: np.ndarray) -> np.ndarray:
        padded = np.pad(exact, (0, -len(exact) % GROUP), constant_values=True)
        return np.asarray(padded.reshape(-1, GROUP).all(axis=1))

    integers = _ONE_SIDED if layer.requant.negative is None else _TWO_SIDED
    forms = np.where(in_all(layer.two_sided_floats.exact), _FLOAT_TWO_SIDED, integers)
    return np.where(in_all(layer.floats.exact), _FLOAT, forms).astype(np.uint8)


def requant_fields(ctx: LowerContext, layer: WideLayer) -> dict[str, Any]:
    """Return all fields of ``ar_wide``."""
    channels = len(layer.bias)

    def padded(values: np.ndarray, dtype: type) -> np.ndarray:
        return np.pad(values, (0, -channels % GROUP)).astype(dtype)

    forms = group_forms(layer)
    form = np.repeat(forms, GROUP)[:channels]
    r, one, two = layer.requant, layer.floats, layer.two_sided_floats
    fields: dict[str, Any] = dict.fromkeys(("scale", "add", "flip", "multiplier", "offset", "negative"), NULL)
    if np.any(forms <= _FLOAT_TWO_SIDED):
        scale, add = np.where(form == _FLOAT, (one.scale, one.add), (two.scale, two.add)).view(np.uint32)
        fields["scale"] = ctx.table(padded(scale, np.uint32), "scale")
        fields["add"] = ctx.table(padded(add, np.uint32), "add")
        if np.any(forms == _FLOAT_TWO_SIDED):
            flip = np.where(form == _FLOAT_TWO_SIDED, two.add_negative.view(np.uint32) ^ add, 0)
            fields["flip"] = ctx.table(padded(flip, np.uint32), "flip")
    if np.any(forms >= _ONE_SIDED):
        fields["multiplier"] = ctx.table(padded(r.multiplier, np.int32), "multiplier")
        fields["offset"] = ctx.table(padded(r.offset, np.int64), "offset")
        if r.negative is not None:
            fields["negative"] = ctx.table(padded(r.negative, np.int64), "negative")
    bias = np.where(form == _FLOAT, wrap_int32(layer.bias - one.center), layer.bias)
    return {
        "bias": ctx.weights(padded(bias, np.int32), "bias"),
        "forms": ctx.table(forms, "forms"),
        **fields,
        "shift": r.shift,
        "act_min": layer.act_range[0],
        "act_max": layer.act_range[1],
    }
