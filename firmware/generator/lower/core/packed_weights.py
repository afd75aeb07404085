"""Lower int8 CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED to kernels whose weights are packed in flash and unpacked
one channel at a time. The packed form of a weight is called a code (see ``weight_packing.py``).

Layers with int4 weights run this way if no faster kernel can run them. Other layers do so in a build for small flash,
if the complete model, including its code, then takes fewer bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    Expr,
    KernelCall,
    LowerContext,
    require_accepted,
)
from arenite.firmware.generator.lower.core.redirected_weights import (
    RedirectedContext,
    lower_redirected,
    weights_of,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.target import TIERS, Target
from arenite.firmware.generator.weight_packing import PackedCodes, smallest_codes

#: Approximate bytes of flash of each kernel (on a Cortex-M, built for size), minus those of the kernel that it
#: replaces.
_CODE = {"CONV_2D": 1000, "DEPTHWISE_CONV_2D": 1000, "FULLY_CONNECTED": 300}
#: Bytes of flash of the function that reads codes, and of the parameters that each packed layer needs. Layers are
#: packed only if they save more than all of this.
_READER, _LAYER = 152, 24
#: A layer must save at least this fraction (1 / n) of its weights, because unpacking costs instructions.
_MIN_SAVING_DIVISOR = 4
#: Number of graphs whose decision is cached.
_CACHED_GRAPHS = 32

_cache: OrderedDict[tuple[int, Target], tuple[Subgraph, frozenset[int]]] = OrderedDict()


class _Packed(Variant):
    """The base class of layers with packed weights. ``axis`` is the axis of the output channels in the weights."""

    tiers = TIERS
    priority = 900
    packed = True
    axis: ClassVar[int] = 0

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None:
            return False
        return bool(w.stored) or (target.optimise == "flash" and op.index in worth_packing(graph, target))

    def codes(self, graph: Subgraph, op: Op, target: Target) -> tuple[PackedCodes | None, int]:
        """Return (codes, saved bytes): the weights as codes, channel after channel, and the bytes of flash that they
        save; 0 if they save too little. The codes are None if the weights cannot be packed."""
        (values,) = weights_of(graph, op, target, None)
        codes = smallest_codes(np.moveaxis(values, self.axis, 0))
        if codes is None:
            return None, 0
        unpacked = -(-values.nbytes // 4) * 4
        saved = unpacked - codes.nbytes - _LAYER
        return codes, saved if saved * _MIN_SAVING_DIVISOR >= unpacked else 0

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        w = graph.tensors[op.inputs[1]]
        return w.elements // w.shape[self.axis]

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        # A kernel for one row unpacks all weights for each row and needs more code, so a build for small flash has
        # none.
        return super().rows(graph, op, target) if target.optimise != "flash" else None

    def call(self, ctx: LowerContext) -> tuple[KernelCall, dict[str, object]]:
        """Return the call of the operator's default kernel without weights, and the fields of ``ar_packed``."""
        codes = require_accepted(self.codes(ctx.graph, ctx.op, ctx.target)[0])
        inner = lower_redirected(RedirectedContext(ctx, lambda _: NULL), None)

        def stored(values: np.ndarray | None, hint: str) -> Expr:
            return NULL if values is None or not values.size else ctx.weights(values, hint)

        packed = {
            "codes": stored(codes.codes, "codes"),
            "present": stored(codes.present, "present"),
            "values": stored(codes.values, "values"),
            "log2_codes_per_byte": codes.log2_codes_per_byte,
        }
        return inner, packed


@variant
class Conv2DPacked(_Packed):
    op_name = "CONV_2D"
    kernels = ("conv_2d_s8_packed.c", "packed.c")
    row_function = "ar_conv_2d_s8_packed_row"

    def lower(self, ctx: LowerContext) -> KernelCall:
        inner, packed = self.call(ctx)
        fields = {
            "conv": {**inner.fields, "k_c": self.group_channels(ctx.graph, ctx.op)},
            "packed": packed,
            "filter": ctx.scratch_ptr(),
        }
        return KernelCall(
            "ar_conv_2d_s8_packed", "conv_2d_packed.h", self.kernels, "ar_conv_2d_packed_params", fields
        )

    def group_channels(self, graph: Subgraph, op: Op) -> int:
        """Return the number of input channels of a group of the convolution."""
        return graph.tensors[op.inputs[1]].shape[3]


@variant
class DepthwiseConv2DPacked(Conv2DPacked):
    """DEPTHWISE_CONV_2D as a convolution with one group per input channel."""

    op_name = "DEPTHWISE_CONV_2D"
    axis = 3

    def group_channels(self, graph: Subgraph, op: Op) -> int:
        return 1


@variant
class FullyConnectedPacked(_Packed):
    op_name = "FULLY_CONNECTED"
    kernels = (
        "fully_connected_s8_packed.c",
        "fully_connected_s8_real_packed.c",
        "packed.c",
        "real_scale.c",
    )

    def lower(self, ctx: LowerContext) -> KernelCall:
        inner, packed = self.call(ctx)
        kernel = f"{inner.kernel}_packed"
        return KernelCall(
            kernel,
            "fully_connected_packed.h",
            (
                f"{kernel.removeprefix('ar_')}.c",
                "packed.c",
                *(s for s in inner.sources if s == "real_scale.c"),
            ),
            "ar_fully_connected_packed_params",
            {"layer": inner.fields, "packed": packed, "row": ctx.scratch_ptr()},
        )


_KINDS: tuple[_Packed, ...] = (Conv2DPacked(), DepthwiseConv2DPacked(), FullyConnectedPacked())


def worth_packing(graph: Subgraph, target: Target) -> frozenset[int]:
    """Return the indexes of the operators with int8 weights for which packed weights, together with the code that
    unpacks them, take less flash."""
    key = (id(graph), target)
    entry = _cache.get(key)
    if entry is not None and entry[0] is graph:
        return entry[1]
    positions = _worth_packing(graph, target)
    _cache[key] = (graph, positions)
    while len(_cache) > _CACHED_GRAPHS:
        _cache.popitem(last=False)
    return positions


def _worth_packing(graph: Subgraph, target: Target) -> frozenset[int]:
    """Compute ``worth_packing``. All layers that share a kernel are packed, or none of them."""
    kinds = {kind.op_name: kind for kind in _KINDS}
    saved: dict[int, int] = {}
    codes_in_use: set[int] = set()
    for op in graph.ops:
        kind = kinds.get(op.name)
        if kind is None:
            continue
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None:
            continue
        if w.stored:
            codes_in_use.add(_CODE[op.name])  # int4 weights need this kernel anyway
        else:
            saved[op.index] = kind.codes(graph, op, target)[1]
    packed: set[int] = set()
    for code in sorted(set(_CODE.values())):
        group = {k for k, nbytes in saved.items() if nbytes > 0 and _CODE[graph.ops[k].name] == code}
        cost = 0 if code in codes_in_use else code + (0 if packed or codes_in_use else _READER)
        if sum(saved[k] for k in group) > cost:
            packed |= group
    return frozenset(packed)
