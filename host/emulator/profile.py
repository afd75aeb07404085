"""Estimated cycles of one inference, layer by layer: blocks counted in QEMU, weighed with the core's timing table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.host.emulator.block_counts import Block, Runs, compiled_plugin, plugin_arguments, read_counts
from arenite.host.emulator.disassembly import Instruction, disassemble
from arenite.host.emulator.machine import start
from arenite.host.emulator.timing import CycleCount, Tally, Timing, timing_of
from arenite.host.link.transport import Transport
from arenite.models.zoo import cache_directory
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Profile:
    """``layers``: one count per layer function, from its entry until it returned."""

    timing: Timing
    layers: tuple[CycleCount, ...]

    @property
    def total(self) -> CycleCount:
        total = CycleCount()
        for layer in self.layers:
            total.add(layer)
        return total


def profile(
    board: Board,
    elf: Path,
    entries: Sequence[int],
    caller: tuple[int, int],
    infer: Callable[[Transport], object],
) -> Profile:
    """Start ``elf`` on the emulated ``board`` with the counting plugin, and let ``infer`` run one inference.

    Args:
        entries: addresses of the layer functions, in order.
        caller: address and bytes of the function that calls them.
        infer: talks to the device over the open line.

    Raises:
        ToolError: no C compiler for the plugin, no disassembler, or QEMU does not take the plugin.
        ProfileError: no timing table for the core.
    """
    timing = timing_of(board.core)
    library = compiled_plugin(cache_directory() / "plugins")
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        out = Path(folder) / "blocks"
        extra = plugin_arguments(library, out, entries, caller)
        with start(board, elf, extra=extra, icount=False) as machine:
            infer(machine.transport)
        counts = read_counts(out, len(entries))
    code = disassemble(elf, board.core, (block for phase in counts for block in phase))
    return Profile(timing, tuple(_cycles(phase, code, timing) for phase in counts))


def _cycles(
    phase: Mapping[Block, Runs], code: Mapping[Block, tuple[Instruction, ...]], timing: Timing
) -> CycleCount:
    result = CycleCount()
    for block, runs in phase.items():
        result.add(timing.block(code[block]), runs.count)
        if runs.taken:
            cycles = timing.taken(code[block][-1])
            result.rules.setdefault("taken", Tally()).add(runs.taken, runs.taken * cycles)
    return result
