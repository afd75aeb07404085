"""Lower layers with int4 weights to int8 kernels: the weights are unpacked to int8 in scratch memory before the layer
runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    Expr,
    KernelCall,
    LowerContext,
    StructArray,
    require_accepted,
)
from arenite.firmware.generator.lower.core.redirected_weights import (
    RedirectedContext,
    lower_redirected,
    weights_of,
)
from arenite.firmware.generator.lower.core.row_functions import one_row
from arenite.firmware.generator.lower.core.variant import Variant, runnable_variants, variant
from arenite.firmware.generator.target import MVE, SCALAR, TIERS, Target
from arenite.firmware.generator.weight_packing import NibbleRows, pack_nibbles

#: Unpacked weights begin at a multiple of this number of bytes in scratch memory, after the kernel's own scratch.
_ALIGNMENT = 16
#: Maximal RAM in bytes for unpacked weights in builds for small RAM or flash.
_MAX_UNPACKED = {"ram": 1024, "flash": 0}
#: Maximal RAM in bytes for unpacked weights in balanced builds, if each weight is used in only one product.
_MAX_UNPACKED_USED_ONCE = 4096
#: Maximal bytes of flash for each weight: layouts that repeat weights take too much.
_MAX_BYTES_PER_WEIGHT = 1.25
#: Bytes of flash that a layout may need in addition, for the padding of a small layer.
_PADDING = 64
#: The C function for one row of a layer with unpacked weights.
ROW_FUNCTION = "ar_unpacked_row"
#: Approximate instructions of ``ar_unpack4``: for a call, per byte, and per byte with MVE.
_CALL, _PER_BYTE, _PER_BYTE_MVE = 40, 1.3, 0.4
#: Number of layers that are cached, because several methods need the result.
_CACHED_LAYERS = 512


@dataclass(frozen=True)
class _UnpackedKernel:
    """The kernel that runs (None: the operator's default kernel), and its weights as half bytes."""

    kernel: Variant | None
    halves: NibbleRows


_cache: OrderedDict[tuple[int, int, Target], tuple[Subgraph, _UnpackedKernel | None]] = OrderedDict()


class _Unpacked(Variant):
    """The base class of layers whose int4 weights are unpacked before they run."""

    tiers = TIERS
    priority = 1000
    packed = True
    kernels = ("unpack4.c", "unpacked_row.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return graph.tensors[op.inputs[1]].stored == "int4" and unpacked_kernel(graph, op, target) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        chosen = _unpacked_kernel(graph, op, target)
        return _offset(graph, op, target, chosen.kernel) + chosen.halves.unpacked

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        kernel = _unpacked_kernel(graph, op, target).kernel
        if kernel is None:
            return LOWERINGS[op.name].in_place(graph, op)
        return kernel.in_place(graph, op, target)

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        """Return the kernel's requirements. The weights are unpacked for each row, because other layers use the memory
        in between."""
        chosen = _unpacked_kernel(graph, op, target)
        if chosen.kernel is None:
            row_needs = LOWERINGS[op.name].rows(graph, op)
        else:
            row_needs = chosen.kernel.rows(graph, op, target)
        if row_needs is None or row_needs.accumulates:
            return None
        row_graph = one_row(graph, op) if row_needs.row_alone else graph
        scratch = _offset(row_graph, op, target, chosen.kernel) + chosen.halves.unpacked
        rows = graph.tensors[op.outputs[0]].shape[1]
        per_byte = _PER_BYTE_MVE if target.tier == MVE else _PER_BYTE
        extra = row_needs.extra + round(rows * (_CALL + per_byte * chosen.halves.unpacked))
        return replace(row_needs, scratch=scratch, extra=extra)

    def lower(self, ctx: LowerContext) -> KernelCall:
        chosen = _unpacked_kernel(ctx.full_graph, ctx.op, ctx.target)
        halves, packed = chosen.halves, chosen.halves.words
        unpacked = ctx.scratch_ptr(_offset(ctx.graph, ctx.op, ctx.target, chosen.kernel))
        call = lower_redirected(RedirectedContext(ctx, lambda _: unpacked), chosen.kernel)
        fields = {
            "from": ctx.weights(packed, "halves"),
            "to": unpacked,
            "add": (halves.base & 0x7F) * 0x01010101,
            "flip": (halves.base & 0x80) * 0x01010101,
            "rows": halves.rows,
            "head": halves.head,
            "count": halves.count,
        }
        return replace(
            call, before=KernelCall("ar_unpack4", "unpack4.h", ("unpack4.c",), "ar_unpack4_params", fields)
        )


@variant
class Conv2DUnpacked(_Unpacked):
    op_name = "CONV_2D"


@variant
class DepthwiseConv2DUnpacked(_Unpacked):
    op_name = "DEPTHWISE_CONV_2D"


@variant
class FullyConnectedUnpacked(_Unpacked):
    op_name = "FULLY_CONNECTED"


def unpacked_kernel(graph: Subgraph, op: Op, target: Target) -> _UnpackedKernel | None:
    """Return the fastest kernel whose weights can be stored as half bytes; None if all of them need too much RAM."""
    key = (id(graph), op.index, target)
    entry = _cache.get(key)
    if entry is not None and entry[0] is graph:
        return entry[1]
    candidate = next(_unpacked_kernels(graph, op, target), None)
    _cache[key] = (graph, candidate)
    while len(_cache) > _CACHED_LAYERS:
        _cache.popitem(last=False)
    return candidate


def _unpacked_kernel(graph: Subgraph, op: Op, target: Target) -> _UnpackedKernel:
    return require_accepted(unpacked_kernel(graph, op, target))


def _unpacked_kernels(graph: Subgraph, op: Op, target: Target) -> Iterator[_UnpackedKernel]:
    """Yield the kernels whose weights can be stored as half bytes and need no more RAM than allowed, the fastest
    first."""
    inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    # There is no limit for int16 activations: no other kernel can run a layer with int4 weights and these activations.
    max_unpacked = _MAX_UNPACKED.get(target.optimise) if inp.dtype == "int8" else None
    if _uses_weights_once(graph, op) and target.tier == SCALAR and target.optimise == "balanced":
        max_unpacked = _MAX_UNPACKED_USED_ONCE
    if target.tier == MVE and target.optimise == "ram":
        max_unpacked = None  # the kernel that unpacks one channel at a time does not use Helium
    kernels: list[Variant | None] = []
    if target.optimise != "flash":
        kernels += runnable_variants(graph, op, target)
    for kernel in [*kernels, None]:
        values = weights_of(graph, op, target, kernel)
        halves = pack_nibbles(values[0]) if len(values) == 1 else None
        if halves is None or halves.words.nbytes > _MAX_BYTES_PER_WEIGHT * w.elements + _PADDING:
            continue
        if max_unpacked is None or halves.unpacked <= max_unpacked:
            yield _UnpackedKernel(kernel, halves)


def _uses_weights_once(graph: Subgraph, op: Op) -> bool:
    """Return whether each weight is used in only one product, so that unpacking all weights at once gains little."""
    return (
        op.name == "FULLY_CONNECTED"
        and graph.tensors[op.outputs[0]].elements == graph.tensors[op.inputs[1]].shape[0]
    )


def _offset(graph: Subgraph, op: Op, target: Target, kernel: Variant | None) -> int:
    """Return the offset of the unpacked weights in scratch memory, in bytes."""
    own = LOWERINGS[op.name].scratch(graph, op) if kernel is None else kernel.scratch(graph, op, target)
    return -(-own // _ALIGNMENT) * _ALIGNMENT


def unpacked_row(before: KernelCall, row: KernelCall) -> KernelCall:
    """Return the call of a row function that first unpacks the weights, as ``before`` does, and then calls the row
    function of ``row``."""
    fields = {
        "unpack": before.fields,
        "run": Expr(row.kernel),
        "params": StructArray(row.params_type, [row.fields]),
    }
    sources = (*row.sources, *before.sources, "unpacked_row.c")
    headers = (row.header, *row.headers, before.header)
    return KernelCall(
        ROW_FUNCTION, "unpacked_row.h", sources, "ar_unpacked_row_params", fields, headers=headers
    )
