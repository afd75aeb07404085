"""The facts about an operator that can compute one output row at a time; the operator's lowering states them."""

from __future__ import annotations

from dataclasses import dataclass

#: Inputs of one operator that may be streamed, and stages of one segment with what they read: see ``ar_stage``.
MAX_INPUTS = 2
MAX_STAGES = 255


@dataclass(frozen=True)
class RowInput:
    """The rows of one input that an output row needs: output row y reads the rows y * stride - pad_top + k * dilation
    for k in [0, taps), those outside the image left out."""

    position: int  # indexes Op.inputs
    taps: int = 1
    stride: int = 1
    dilation: int = 1
    pad_top: int = 0

    def rows(self, y: int, height: int) -> list[int]:
        """Return the rows that output row ``y`` reads, in ascending order, of an input of ``height`` rows."""
        first = y * self.stride - self.pad_top
        return [r for r in range(first, first + self.taps * self.dilation, self.dilation) if 0 <= r < height]


@dataclass(frozen=True)
class RowRequirements:
    """How an operator with one output runs by rows. Rows are NHWC rows: width times channels bytes, batch 1.

    An operator that ``accumulates`` is called once per input row and writes its only output row in the last call
    (a mean over the image); it has one input, with one tap.
    """

    function: str  # the C function of the row, ar_..._row
    inputs: tuple[RowInput, ...]  # every input that is computed at run time; the others are constants
    accumulates: bool = False
    state: int = 0  # bytes that are zero before the first row and kept to the last one (accumulators)
    scratch: int = 0  # bytes of kernel scratch while one row is computed
    #: Each row is an operator of its own (elementwise, or a kernel of one pixel): its parameters are those of an image
    #: of one row.
    row_alone: bool = False
    #: Estimated instructions that running by rows adds to one inference, beside those of the whole-tensor kernel.
    extra: int = 0
    #: C files that the row function is in, where they differ from those of the whole-tensor kernel.
    sources: tuple[str, ...] = ()
    #: Headers that declare the row function, where the header of the whole-tensor kernel does not.
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateLayout:
    """Bytes of a segment's working memory, in this order: progress of each stage and source (cleared at the start, as
    are the accumulators), the accumulators of each stage, and the addresses of the rows that one stage reads."""

    accumulators: tuple[int, ...]  # offset of each stage's, in the order of the stages
    cleared: int  # bytes that are cleared
    addresses: int  # offset
    size: int


#: ``ar_progress``: two numbers of 16 bits; one more of it in front counts the steps of the schedule.
_PROGRESS = 4
#: Room for an address on any machine, so that a plan is the same on all of them.
_ADDRESS = 8


def state_layout(stages: tuple[RowRequirements, ...], sources: int) -> StateLayout:
    """Return the working memory of a segment of ``stages`` that reads ``sources`` tensors from outside."""
    at = _PROGRESS * (1 + len(stages) + sources)
    accumulators = []
    for needs in stages:
        accumulators.append(at)
        at += -(-needs.state // 4) * 4
    addresses = -(-at // _ADDRESS) * _ADDRESS
    taps = max(sum(i.taps for i in needs.inputs) for needs in stages)
    return StateLayout(tuple(accumulators), at, addresses, addresses + taps * _ADDRESS)
