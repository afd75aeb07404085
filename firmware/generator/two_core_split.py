"""Layers on two cores: the layers that can be split into halves and save time by it, and the memory that they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner.plan import ALIGNMENT
from arenite.converters.planner.requirements import OpRequirements
from arenite.firmware.generator.target import Target

#: Kernels that compute rows [a, b) of an image when their parameters describe an image of these rows: all that they
#: know of it are the fields below. (Each is compared with the whole layer in tests/firmware/generator.)
SPATIAL = frozenset(
    {
        "ar_average_pool_2d_s8",
        "ar_average_pool_2d_s8_dsp",
        "ar_conv_2d_s8",
        "ar_conv_2d_s8_columns_dsp",
        "ar_conv_2d_s8_dsp",
        "ar_conv_2d_s8_scalar",
        "ar_conv_2d_s8_winograd_dsp",
        "ar_depthwise_3x3_s8_dsp",
        "ar_depthwise_conv_2d_s8",
        "ar_depthwise_conv_2d_s8_dsp",
        "ar_depthwise_conv_2d_s8_scalar",
        "ar_max_pool_2d_s8",
    }
)

#: Instructions per product and per output element, at the least, by the kernels' instruction set: what a layer must be
#: worth before it is cut. Assumed; the report has measured ones.
_PER_MAC = {"scalar": 3.0, "dsp": 0.8, "mve": 0.3}
_PER_OUTPUT = 4.0
#: A split has to save at least this multiple of the cost of fork and join.
_MIN_GAIN = 2.0
#: Neighbours in a row, and units, that kernels compute together: halves are whole multiples.
PIXELS, _UNITS = 4, 8


@dataclass(frozen=True)
class LayerSplit:
    """The way in which an operator is split. ``kind``: ``rows`` and ``alone``, of the output image; ``units`` of a
    matrix product.

    ``at``: the first row or unit of the second half; ``end``: how many there are. ``share``: the larger half's part of
    the work.
    """

    kind: str
    at: int
    end: int

    @property
    def share(self) -> float:
        return max(self.at, self.end - self.at) / self.end

    def parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (0, self.at), (self.at, self.end)


def split_point(count: int, unit: int = 1) -> int:
    """The first of the second half, which is not larger by more than ``unit``; a multiple of ``unit``."""
    return max(round(count / (2 * unit)), 1) * unit


def split_of(graph: Subgraph, op: Op, needs: OpRequirements, kernel: str = "") -> LayerSplit | None:
    """Return how ``op`` with these needs can be split; None where it cannot. ``split_for`` decides whether it is.

    ``kernel``: the C function that computes the whole of it, where the needs do not tell.
    """
    if len(op.outputs) != 1 or op.input(0) < 0:
        return None
    out = graph.tensors[op.outputs[0]]
    if op.name == "FULLY_CONNECTED":
        return _split_units(graph, op, out)
    rows = needs.rows
    if rows is not None and rows.accumulates:
        return None
    if not kernel and rows is not None:
        kernel = rows.function.removesuffix("_row")
    inp = graph.tensors[op.inputs[0]]
    if len(out.shape) != 4 or out.shape[0] != 1:
        return None
    height = out.shape[1]
    if kernel in SPATIAL:
        if height >= 2:
            return LayerSplit("rows", split_point(height), height)
        if inp.shape[1] == 1 and out.shape[2] > PIXELS:
            return LayerSplit("rows", 1, 2)  # the kernel's fields say where
        return None
    if rows is not None and rows.row_alone and height >= 2 and not op.name.endswith("CONV_2D"):
        return LayerSplit("alone", split_point(height), height)
    return None


def spatial_kernel(sources: Iterable[str]) -> str:
    """Return the kernel of ``SPATIAL`` that is among the C files of a variant's kernel; "" for none."""
    return next((name for name in (f"ar_{s.removesuffix('.c')}" for s in sources) if name in SPATIAL), "")


def _split_units(graph: Subgraph, op: Op, out: Tensor) -> LayerSplit | None:
    weights = graph.tensors[op.inputs[1]]
    if weights.data is None or len(weights.shape) != 2 or weights.dtype != "int8":
        return None
    units = weights.shape[0]
    if out.elements != units or units < 2 * _UNITS:
        return None
    bias = op.input(2)
    if bias >= 0 and graph.tensors[bias].data is None:
        return None
    return LayerSplit("units", split_point(units, _UNITS), units)


def is_worth_splitting(cut: LayerSplit, graph: Subgraph, op: Op, macs: int, target: Target) -> bool:
    """Whether the cut saves clearly more than fork and join cost."""
    outputs = graph.tensors[op.outputs[0]].elements
    work = _PER_MAC[target.tier] * macs + _PER_OUTPUT * outputs
    return work * (1 - cut.share) >= _MIN_GAIN * target.barrier


def split_needs(graph: Subgraph, op: Op, needs: OpRequirements, cut: LayerSplit | None) -> OpRequirements:
    """The needs of ``op`` when it is cut: two scratches, and only those ways of sharing an address that allow it."""
    if cut is None:
        return needs
    return replace(needs, scratch=2 * align_up(needs.scratch), in_place=_is_safe(graph, op, needs, cut))


def choose_split(
    graph: Subgraph, op: Op, needs: OpRequirements, macs: int, target: Target, kernel: str = ""
) -> LayerSplit | None:
    """Return the split of ``op`` on ``target`` where it saves enough instructions; ``needs`` are those of the whole
    operator.

    Where RAM counts, a layer that could share an address otherwise is not split.
    """
    if target.cores != 2:
        return None
    cut = split_of(graph, op, needs, kernel)
    if cut is None or not is_worth_splitting(cut, graph, op, macs, target):
        return None
    if target.optimise == "ram" and _is_safe(graph, op, needs, cut) != needs.in_place:
        return None
    return cut


def _is_safe(graph: Subgraph, op: Op, needs: OpRequirements, cut: LayerSplit) -> tuple[tuple[int, int], ...]:
    """Ways of sharing an address under which each half overwrites only what it alone reads: a row of the output lies
    where its only input row lay."""
    if cut.kind == "units" or needs.rows is None:
        return ()
    out = graph.tensors[op.outputs[0]]
    alone = {r.position for r in needs.rows.inputs if (r.taps, r.stride, r.pad_top) == (1, 1, 0)}
    return tuple(
        (i, o)
        for i, o in needs.in_place
        if i in alone
        and graph.tensors[op.inputs[i]].shape[:3] == out.shape[:3]
        and graph.tensors[op.inputs[i]].nbytes == out.nbytes
    )


def align_up(size: int) -> int:
    """Scratch of the first half as the second's address has it."""
    return -(-size // ALIGNMENT) * ALIGNMENT
