"""The requirements of an operator that can compute one output row at a time. The operator's lowering states them."""

from __future__ import annotations

from dataclasses import dataclass

#: The largest number of streamed inputs of one operator, and of the stages and sources of one segment together: limits
#: of ``ar_stage``.
MAX_INPUTS = 2
MAX_STAGES = 255


@dataclass(frozen=True)
class RowInput:
    """The rows of one input that an output row needs: output row y reads the rows y * stride - pad_top + k * dilation
    for k in [0, taps). Rows outside the image are not read."""

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
    """The requirements of an operator with one output for running by rows. A row is an NHWC row of width times channels
    elements, with batch 1.

    An operator that ``accumulates``, such as a mean over the image, is called once per input row and writes its only
    output row in the last call. It has one input with one tap.
    """

    function: str  # the C function of the row, ar_..._row
    inputs: tuple[RowInput, ...]  # every input that is computed at run time; the others are constants
    accumulates: bool = False
    state: int = 0  # bytes of accumulators: zero before the first row, and kept until the last row
    scratch: int = 0  # bytes of kernel scratch while one row is computed
    #: Whether each row can be computed as an image of one row, with the same parameters (elementwise, 1x1 kernels).
    row_alone: bool = False
    #: The estimated instructions per inference that running by rows adds to those of the kernel for complete tensors.
    extra: int = 0
    #: The C files of the row function, if they differ from those of the kernel for complete tensors.
    sources: tuple[str, ...] = ()
    #: The headers that declare the row function, if the header of the kernel for complete tensors does not.
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateLayout:
    """The working memory of a segment: the progress of each stage and source, the accumulators of each stage, and the
    addresses of the rows that one stage reads. Progress and accumulators are cleared at the start."""

    accumulators: tuple[int, ...]  # the offset of the accumulators of each stage
    cleared: int  # the number of bytes that are cleared
    addresses: int  # the offset of the addresses
    size: int


#: The bytes of an ``ar_progress``: two numbers of 16 bits. The first ``ar_progress`` counts the steps of the schedule.
_PROGRESS_BYTES = 4
#: The bytes of an address. 8 are enough on every machine, so that a plan is the same for all.
_ADDRESS_BYTES = 8


def state_layout(stages: tuple[RowRequirements, ...], sources: int) -> StateLayout:
    """Return the layout of the working memory of a segment of ``stages`` that reads ``sources`` other tensors."""
    at = _PROGRESS_BYTES * (1 + len(stages) + sources)
    accumulators = []
    for needs in stages:
        accumulators.append(at)
        at += -(-needs.state // 4) * 4
    addresses = -(-at // _ADDRESS_BYTES) * _ADDRESS_BYTES
    taps = max(sum(i.taps for i in needs.inputs) for needs in stages)
    return StateLayout(tuple(accumulators), at, addresses, addresses + taps * _ADDRESS_BYTES)
