"""Estimated cycles of one inference, layer by layer: blocks counted in QEMU, weighted by the core's timing
table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory
from arenite.host.emulator.block_counts import (
    Block,
    BlockRuns,
    PhaseRun,
    compiled_plugin,
    plugin_arguments,
    read_counts,
)
from arenite.host.emulator.disassembly import Instruction, disassemble
from arenite.host.emulator.layer_code import LayerCode
from arenite.host.emulator.machine import start
from arenite.host.emulator.timing import CycleCount, CycleTally, TimingTable, load_timing
from arenite.host.link.transport import Transport
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Profile:
    """``layers``: one count per layer that has code; on two cores, of the first core's work, without waiting.

    ``second``: the second core's work, by layer. ``join``, ``serve``: one pass through the whole function in
    which the first core waits for the second, and the second for the first: the most that they spend beside
    waiting.
    """

    timing: TimingTable
    layers: tuple[CycleCount, ...]
    second: Mapping[int, CycleCount] = field(default_factory=dict)
    join: CycleCount = field(default_factory=CycleCount)
    serve: CycleCount = field(default_factory=CycleCount)

    @property
    def total(self) -> CycleCount:
        """The sum over all cores, without waiting."""
        total = CycleCount()
        for layer in (*self.layers, *self.second.values()):
            total.add(layer)
        return total

    def critical(self, figure: Callable[[CycleCount], float]) -> list[float]:
        """How long each layer lasts in ``figure`` (its cycles, or instructions): with a half on each core, as
        long as the longer half, plus the barrier."""
        return [
            figure(first)
            if (second := self.second.get(k)) is None
            else max(figure(first), figure(self.serve) + figure(second)) + figure(self.join)
            for k, first in enumerate(self.layers)
        ]

    @property
    def cycles(self) -> float:
        """Cycles of one inference, start to end."""
        return sum(self.critical(lambda count: count.cycles))


def profile(board: Board, elf: Path, code: LayerCode, infer: Callable[[Transport], object]) -> Profile:
    """Start ``elf`` on the emulated ``board`` with the counting plugin, and let ``infer`` run exactly one
    inference.

    Raises:
        ToolError: no C compiler for the plugin, no disassembler, or QEMU does not load the plugin.
        ProfileError: no timing table for the core.
    """
    timing = load_timing(board.core)
    library = compiled_plugin(cache_directory() / "plugins")
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        out = Path(folder) / "blocks"
        addresses = [address for address, _ in code.entries]
        waits = () if code.joins is None else (code.joins,)
        extra = plugin_arguments(library, out, addresses, code.callers, code.split, waits)
        extra += ("-accel", "tcg,thread=single") if code.halves else ()
        with start(board, elf, extra=extra, icount=False) as machine:
            infer(machine.transport)
        counts = by_layer(read_counts(out), code)
    passes = [
        {Block(at, at + size): BlockRuns(1, 0)} for at, size in (s for s in (code.joins, code.serves) if s)
    ]
    instructions = disassemble(elf, board.core, (block for layer in (*counts, *passes) for block in layer))
    cycles_by_layer = [_cycles(layer, instructions, timing) for layer in counts]
    second = dict(zip(code.halves, cycles_by_layer[code.count :], strict=True))
    return Profile(
        timing,
        tuple(cycles_by_layer[: code.count]),
        second,
        *(_cycles(one, instructions, timing) for one in passes),
    )


def by_layer(runs: Iterable[PhaseRun], code: LayerCode) -> list[dict[Block, BlockRuns]]:
    """The counts of each layer.

    Every run that ends at a split is the next of its order; the code after the last split of a phase belongs
    to the layer before it. Raises ``ToolError`` when the runs do not match the order.
    """
    layers: list[dict[Block, BlockRuns]] = [{} for _ in range(code.count + len(code.halves))]
    at = [0] * len(code.orders)
    for run in runs:
        group = code.entries[run.entry][1]
        order = code.orders[group]
        if at[group] == len(order) and (run.split or len(order) == 1):
            raise ToolError("The emulator's plugin counted more than one inference.")
        whole = run.split or len(order) == 1
        layer = order[at[group] if whole else max(at[group] - 1, 0)]
        at[group] += whole
        for block, count in run.counts.items():
            old = layers[layer].get(block, BlockRuns(0, 0))
            layers[layer][block] = BlockRuns(old.count + count.count, old.taken + count.taken)
    if at != [len(order) for order in code.orders]:
        raise ToolError("The emulator's plugin did not record a run of every layer.")
    return layers


def _cycles(
    phase: Mapping[Block, BlockRuns], code: Mapping[Block, tuple[Instruction, ...]], timing: TimingTable
) -> CycleCount:
    result = CycleCount()
    for block, runs in phase.items():
        result.add(timing.block(code[block]), runs.count)
        if runs.taken:
            cycles = timing.taken(code[block][-1])
            result.rules.setdefault("taken", CycleTally()).add(runs.taken, runs.taken * cycles)
    return result
