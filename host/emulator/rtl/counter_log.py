"""Read the log of a simulation: the cycle of each read of the counter of instructions, from which follow the cycles of
each layer.

The firmware reads the counter once when an inference is requested, once before the first layer, and once after each
layer; in a segment that computes row by row, once after each row too. So the cycles between two reads belong to the
same layer as the instructions that the firmware itself counts between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.host.emulator.layer_code import LayerCode

#: The counter has 32 bits.
_WRAP = 1 << 32
#: The reads of an inference before that at the end of its first layer.
_READS_BEFORE = 2


@dataclass(frozen=True)
class CounterRead:
    """One line of the log. ``is_read`` is false for a line about the state of the simulation."""

    cycle: int
    instructions: int
    is_read: bool


@dataclass(frozen=True)
class LayerCycles:
    """The cycles and the instructions of each layer that has code, in one inference."""

    cycles: tuple[int, ...]
    instructions: tuple[int, ...]


def read_log(log: Path) -> Iterator[CounterRead]:
    """Yield the complete lines of ``log``. Raises ``ToolError`` if the file cannot be read, or is damaged."""
    try:
        text = log.read_text("ascii")
        for line in text[: text.rfind("\n") + 1].splitlines():
            kind, cycle, instructions = line.split()
            yield CounterRead(int(cycle), int(instructions), kind == "R")
    except (OSError, ValueError) as error:
        raise ToolError(f"The simulator left no readable log in {log}.") from error


def layer_order(code: LayerCode) -> tuple[int, ...]:
    """Return the layer of each read of an inference after its first two. The firmware adds the end of a segment to its
    first layer."""
    order: list[int] = []
    for function in code.orders:
        order += function if len(function) == 1 else (*function, function[0])
    return tuple(order)


def layer_cycles(log: Path, order: Sequence[int], layers: int) -> list[LayerCycles]:
    """Return the cycles of each inference in ``log``. ``order`` is that of ``layer_order``.

    Raises ``ToolError`` if the log does not have complete inferences.
    """
    reads = [line for line in read_log(log) if line.is_read]
    length = _READS_BEFORE + len(order)
    if not reads or len(reads) % length:
        raise ToolError(
            f"The log of the simulation has {len(reads)} reads of the counter, expected a multiple of {length}."
        )
    inferences = []
    for start in range(0, len(reads), length):
        cycles, instructions = [0] * layers, [0] * layers
        timed = reads[start + _READS_BEFORE - 1 : start + length]
        for layer, before, after in zip(order, timed, timed[1:], strict=False):
            cycles[layer] += after.cycle - before.cycle
            instructions[layer] += (after.instructions - before.instructions) % _WRAP
        inferences.append(LayerCycles(tuple(cycles), tuple(instructions)))
    return inferences


def executed_instructions(log: Path, order: Sequence[int]) -> int:
    """Return the instructions that the layers of all inferences in ``log`` have executed until now."""
    total, reads = 0, 0
    before: int | None = None
    for line in read_log(log):
        position = reads % (_READS_BEFORE + len(order))
        if before is not None and position >= _READS_BEFORE:
            total += (line.instructions - before) % _WRAP
        before = line.instructions
        reads += line.is_read
    return total
