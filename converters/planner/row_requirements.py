"""The requirements of an operator that can compute one output row at a time. They come from the operator's lowering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

#: Limits of the C structure ``ar_stage``: the maximum number of streamed inputs of one operator, and the maximum
#: number of stages and sources of one segment together.
MAX_INPUTS = 2
MAX_STAGES = 255
#: The smallest alignment in bytes of a row that has an address of its own, see ``Segment.rows``. Kernels need no more
#: for rows whose length is a multiple of it.
ROW_ALIGNMENT = 4
#: The addresses that a row can have: the firmware has each as a 16-bit multiple of ``row_unit``.
MAX_PLACES = 65536


def row_unit(offsets: Iterable[int]) -> int:
    """Return the largest power of two that divides all offsets of rows; ``ROW_ALIGNMENT`` if all offsets are 0."""
    divisor = gcd(*offsets)
    return divisor & -divisor or ROW_ALIGNMENT


@dataclass(frozen=True)
class RowInput:
    """The rows of one input that an output row needs: output row y reads the input rows y * stride - pad_top + k *
    dilation for k from 0 to taps - 1. Rows outside the image are not read."""

    position: int  # the position of the input in Op.inputs
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
    """The requirements of an operator with one output for running row by row. A row is a row of an NHWC image with
    batch 1: width times channels elements.

    An operator that ``accumulates``, such as a mean over the image, is called once per input row and writes its only
    output row in the last call. It has one input with one tap.
    """

    function: str  # the C function that computes a row, ar_..._row
    inputs: tuple[RowInput, ...]  # every input that is computed at run time; all other inputs are constants
    accumulates: bool = False
    state: int = 0  # bytes of accumulators: zero before the first row, and kept until the last row
    scratch: int = 0  # bytes of kernel scratch while one row is computed
    #: Whether each row can be computed as an image of one row with the same parameters (elementwise and 1x1 kernels).
    row_alone: bool = False
    #: Positions of inputs in Op.inputs. The output row may be at the address of a row of such an input if no later step
    #: reads that row, and it is no shorter than the output row.
    in_place: tuple[int, ...] = ()
    #: The estimated number of instructions per inference that running by rows takes in addition to the kernel for
    #: complete tensors.
    extra: int = 0
    #: The C files of the row function, if they differ from the C files of the kernel for complete tensors.
    sources: tuple[str, ...] = ()
    #: The headers that declare the row function, if the header of the kernel for complete tensors does not.
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateLayout:
    """The working memory of a segment: the number of rows of each stage and source, the accumulators of each stage, and
    the addresses of the rows that one stage reads. Numbers and accumulators are set to zero at the start. Offsets and
    sizes are in bytes from the start of the working memory."""

    accumulators: tuple[int, ...]  # the offset of the accumulators of each stage
    cleared: int  # the number of bytes that are set to zero, from offset 0
    addresses: int  # the offset of the addresses of rows
    size: int  # the size of the working memory


#: The size of the number of rows of a stage or source. Before these numbers is the number of steps of the schedule.
_COUNT_BYTES = 2
#: The bytes reserved for an address. 8 are enough on every machine, so that a plan is the same for all machines.
_ADDRESS_BYTES = 8


def state_layout(stages: tuple[RowRequirements, ...], sources: int) -> StateLayout:
    """Return the layout of the working memory of a segment with these stages. ``sources`` is the number of tensors that
    the segment reads and does not compute."""
    at = -(-_COUNT_BYTES * (1 + len(stages) + sources) // 4) * 4
    accumulators = []
    for needs in stages:
        accumulators.append(at)
        at += -(-needs.state // 4) * 4
    addresses = -(-at // _ADDRESS_BYTES) * _ADDRESS_BYTES
    taps = max(sum(i.taps for i in needs.inputs) for needs in stages)
    return StateLayout(tuple(accumulators), at, addresses, addresses + taps * _ADDRESS_BYTES)
