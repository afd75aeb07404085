"""Estimate the cycles of one inference for each layer. The estimate is the sum over the basic blocks that ran: the
block's count from QEMU, times its cycles from the core's timing table."""

from __future__ import annotations

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
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Profile:
    """Estimated cycles of one inference.

    Attributes:
        timing: the core's timing table.
        layers: cycles of each layer that has code. On two cores: cycles of the first core, without waiting.
        second: cycles of the second core, by layer.
        join: cycles of one pass through the function in which the first core waits for the second core. They are an
            upper bound of the cycles that the function takes besides waiting.
        serve: cycles of one pass through the function in which the second core waits for the first core.
    """

    timing: TimingTable
    layers: tuple[CycleCount, ...]
    second: Mapping[int, CycleCount] = field(default_factory=dict)
    join: CycleCount = field(default_factory=CycleCount)
    serve: CycleCount = field(default_factory=CycleCount)

    @property
    def total(self) -> CycleCount:
        """Return the sum over all layers and cores, without waiting."""
        total = CycleCount()
        for layer in (*self.layers, *self.second.values()):
            total.add(layer)
        return total

    def layer_durations(self, figure: Callable[[CycleCount], float]) -> list[float]:
        """Return the duration of each layer. ``figure`` returns the cycles or the instructions of a count. A layer with
        a half on each core takes as long as the longer half, plus one pass through the function in which the first core
        waits. The half of the second core includes one pass through its own waiting function."""
        return [
            figure(first)
            if (second := self.second.get(k)) is None
            else max(figure(first), figure(self.serve) + figure(second)) + figure(self.join)
            for k, first in enumerate(self.layers)
        ]

    @property
    def cycles(self) -> float:
        """Return the cycles of one inference from start to end."""
        return sum(self.layer_durations(lambda count: count.cycles))


def profile(board: Board, elf: Path, code: LayerCode, infer: Callable[[Transport], object]) -> Profile:
    """Start ``elf`` on the emulated ``board`` with the counting plugin, let ``infer`` run exactly one inference, and
    return its estimated cycles.

    Raises:
        ToolError: there is no C compiler for the plugin or no disassembler, or QEMU does not load the plugin.
        ProfileError: the timing table of the board or its core is missing.
    """
    timing = load_timing(board.timing or board.core)
    library = compiled_plugin(cache_directory() / "plugins")
    with temporary_folder("arenite-") as folder:
        out = Path(folder) / "blocks"
        addresses = [address for address, _ in code.entries]
        waits = () if code.joins is None else (code.joins,)
        extra = plugin_arguments(library, out, addresses, code.callers, code.split, waits)
        extra += ("-accel", "tcg,thread=single") if code.halves else ()
        with start(board, elf, extra=extra, icount=False) as machine:
            infer(machine.transport)
        counts = counts_by_layer(read_counts(out), code)
    # Each waiting function is counted once, as a single pass.
    wait_passes = [
        {Block(at, at + size): BlockRuns(1, 0)} for at, size in (s for s in (code.joins, code.serves) if s)
    ]
    instructions = disassemble(
        elf, board.core, (block for layer in (*counts, *wait_passes) for block in layer)
    )
    cycles_by_layer = [_cycles(layer, instructions, timing) for layer in counts]
    second = dict(zip(code.halves, cycles_by_layer[code.count :], strict=True))
    return Profile(
        timing,
        tuple(cycles_by_layer[: code.count]),
        second,
        *(_cycles(single_pass, instructions, timing) for single_pass in wait_passes),
    )


def counts_by_layer(runs: Iterable[PhaseRun], code: LayerCode) -> list[dict[Block, BlockRuns]]:
    """Return the counts of each layer. The halves of layers that the second core computes follow after all layers.

    A run that ends at a split belongs to the next layer in the order of ``code``. The code after the last split of a
    phase belongs to the same layer as the code before it. Raises ``ToolError`` if the runs do not match the order.
    """
    layers: list[dict[Block, BlockRuns]] = [{} for _ in range(code.count + len(code.halves))]
    positions = [0] * len(code.orders)
    for run in runs:
        function = code.entries[run.entry][1]
        order = code.orders[function]
        position = positions[function]
        is_complete = run.split or len(order) == 1
        if position == len(order) and is_complete:
            raise ToolError("The emulator's plugin counted more than one inference.")
        layer = order[position if is_complete else max(position - 1, 0)]
        positions[function] += is_complete
        for block, count in run.counts.items():
            layers[layer][block] = layers[layer].get(block, BlockRuns(0, 0)) + count
    if positions != [len(order) for order in code.orders]:
        raise ToolError("The emulator's plugin did not record a run of every layer.")
    return layers


def _cycles(
    phase: Mapping[Block, BlockRuns], code: Mapping[Block, tuple[Instruction, ...]], timing: TimingTable
) -> CycleCount:
    """Return the estimated cycles of the blocks in ``phase``. ``code`` has the instructions of each block."""
    result = CycleCount()
    for block, runs in phase.items():
        result.add(timing.block(code[block]), runs.count)
        if runs.taken:
            cycles = timing.taken(code[block])
            result.rules.setdefault("taken", CycleTally()).add(runs.taken, runs.taken * cycles)
        if runs.misaligned and (rule := timing.rules.get("misaligned_target")) is not None:
            tally = result.rules.setdefault("misaligned_target", CycleTally())
            tally.add(runs.misaligned, runs.misaligned * rule.cycles)
    return result
