"""Split layers for two cores: decide which layers can be split into halves and save time, and the memory they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner.plan import ALIGNMENT
from arenite.converters.planner.requirements import OpRequirements
from arenite.firmware.generator.target import Target

#: Kernels that compute rows [a, b) of an image if their parameters describe an image of these rows. They use no other
#: information about the image than the fields below. (tests/firmware/generator compares each with the complete layer.)
SPATIAL = frozenset(
    {
        "ar_average_pool_2d_s8",
        "ar_average_pool_2d_s8_dsp",
        "ar_conv_2d_s8",
        "ar_conv_2d_s8_columns_dsp",
        "ar_conv_2d_s8_dsp",
        "ar_conv_2d_s8_scalar",
        "ar_conv_2d_s8_short_dsp",
        "ar_conv_2d_s8_winograd_dsp",
        "ar_conv_2d_s8_winograd_square_dsp",
        "ar_depthwise_3x3_s8_dsp",
        "ar_depthwise_conv_2d_s8",
        "ar_depthwise_conv_2d_s8_dsp",
        "ar_depthwise_conv_2d_s8_scalar",
        "ar_max_pool_2d_s8",
    }
)

#: The smallest number of instructions per product, by instruction set, and per output element. They decide whether a
#: layer has enough work to be split. The numbers are assumptions, which only this decision uses.
_PER_MAC = {"scalar": 3.0, "dsp": 0.8, "mve": 0.3, "simd128": 0.4}
_PER_OUTPUT = 4.0
#: A split has to save at least this multiple of the cost of fork and join.
_MIN_GAIN = 2.0
#: The number of neighboring pixels, and the number of units, that kernels compute together. Halves are multiples of
#: these numbers.
PIXELS, _UNITS = 4, 8


@dataclass(frozen=True)
class LayerSplit:
    """The way in which an operator is split.

    Attributes:
        kind: ``rows`` if an image kernel computes a part of the output rows, ``alone`` if each output row depends only
            on its own input row, or ``units`` of a matrix product.
        at: the first row or unit of the second half.
        end: the number of rows or units.
        share: the larger half's share of the work.
    """

    kind: str
    at: int
    end: int

    @property
    def share(self) -> float:
        return max(self.at, self.end - self.at) / self.end

    def parts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the rows or units [first, end) of both halves."""
        return (0, self.at), (self.at, self.end)


def split_point(count: int, unit: int = 1) -> int:
    """Return the first item of the second half, a multiple of ``unit``. The halves differ by at most ``unit``."""
    return max(round(count / (2 * unit)), 1) * unit


def split_of(graph: Subgraph, op: Op, needs: OpRequirements, kernel: str = "") -> LayerSplit | None:
    """Return the possible split of ``op`` with these requirements, or None. ``split_for`` decides whether it is split.

    ``kernel``: the C function that computes the complete layer, if ``needs`` does not contain it.
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
            return LayerSplit("rows", 1, 2)  # the real position follows from the kernel's fields
        return None
    if rows is not None and rows.row_alone and height >= 2 and not op.name.endswith("CONV_2D"):
        return LayerSplit("alone", split_point(height), height)
    return None


def spatial_kernel(sources: Iterable[str]) -> str:
    """Return the kernel of ``SPATIAL`` that is among the C files of a variant's kernel, or ""."""
    return next((name for name in (f"ar_{s.removesuffix('.c')}" for s in sources) if name in SPATIAL), "")


def _split_units(graph: Subgraph, op: Op, out: Tensor) -> LayerSplit | None:
    """Return the split of a FULLY_CONNECTED of one row into halves of its units, or None if it cannot be split."""
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
    """Return whether the split saves clearly more than fork and join cost."""
    outputs = graph.tensors[op.outputs[0]].elements
    work = _PER_MAC[target.tier] * macs + _PER_OUTPUT * outputs
    return work * (1 - cut.share) >= _MIN_GAIN * target.barrier


def split_needs(graph: Subgraph, op: Op, needs: OpRequirements, cut: LayerSplit | None) -> OpRequirements:
    """Return the requirements of ``op`` when it is split: scratch for both halves, and only the safe ways to share an
    address."""
    if cut is None:
        return needs
    return replace(needs, scratch=2 * align_up(needs.scratch), in_place=_safe_in_place(graph, op, needs, cut))


def choose_split(
    graph: Subgraph, op: Op, needs: OpRequirements, macs: int, target: Target, kernel: str = ""
) -> LayerSplit | None:
    """Return the split of ``op`` on ``target`` if it saves enough instructions, otherwise None. ``needs`` are the
    requirements of the unsplit operator.

    In a build for small RAM, a layer that could no longer share an address is not split.
    """
    if target.cores != 2:
        return None
    cut = split_of(graph, op, needs, kernel)
    if cut is None or not is_worth_splitting(cut, graph, op, macs, target):
        return None
    if target.optimise == "ram" and _safe_in_place(graph, op, needs, cut) != needs.in_place:
        return None
    return cut


def _safe_in_place(
    graph: Subgraph, op: Op, needs: OpRequirements, cut: LayerSplit
) -> tuple[tuple[int, int], ...]:
    """Return the ways to share an address with which each half overwrites only bytes that it alone reads: a row of the
    output is at the address of its only input row."""
    if cut.kind == "units" or needs.rows is None:
        return ()
    out = graph.tensors[op.outputs[0]]
    single_row_inputs = {r.position for r in needs.rows.inputs if (r.taps, r.stride, r.pad_top) == (1, 1, 0)}
    return tuple(
        (i, o)
        for i, o in needs.in_place
        if i in single_row_inputs
        and graph.tensors[op.inputs[i]].shape[:3] == out.shape[:3]
        and graph.tensors[op.inputs[i]].nbytes == out.nbytes
    )


def align_up(size: int) -> int:
    """Return ``size`` rounded up, so that the scratch after it is aligned."""
    return -(-size // ALIGNMENT) * ALIGNMENT
