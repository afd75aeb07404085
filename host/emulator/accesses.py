"""Count the loads and stores of one inference in QEMU, by layer and by tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory
from arenite.firmware.generator.generated_model import Generated
from arenite.host.emulator.block_counts import compiled_plugin, plugin_arguments
from arenite.host.emulator.layer_code import LayerCode
from arenite.host.emulator.machine import start
from arenite.host.link.transport import Transport
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board

#: Accesses are counted per line of this number of bytes. The tensors of a memory plan begin at multiples of it.
LINE_BYTES = 16


@dataclass(frozen=True)
class LineAccessCounts:
    """The number of loads from and stores to one line of memory, or several lines."""

    loads: int = 0
    stores: int = 0

    @property
    def total(self) -> int:
        return self.loads + self.stores

    def __add__(self, other: LineAccessCounts) -> LineAccessCounts:
        return LineAccessCounts(self.loads + other.loads, self.stores + other.stores)


#: Maps the address of a line to its loads and stores.
LineAccesses = dict[int, LineAccessCounts]


@dataclass(frozen=True)
class ArenaAddresses:
    """Addresses of the arena in the ELF file: its start in the first memory, and its start in the second memory (None
    if no part of the arena is there)."""

    fast: int
    slow: int | None


def arena_addresses(elf: Path) -> ArenaAddresses:
    """Return the addresses of the arena in a linked firmware. Raises ``ToolError`` for an ELF without an arena."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with elf.open("rb") as stream:
            table = ELFFile(stream).get_section_by_name(".symtab")
            named = table.iter_symbols() if isinstance(table, SymbolTableSection) else ()
            symbols = {s.name: s["st_value"] for s in named}
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {elf}: {error}.", "Build the project again.") from error
    if "model_memory" not in symbols:
        raise ToolError(f"{elf} does not contain an arena.", "Build a project that `arenite firmware` wrote.")
    guard_bytes = 16  # the guard words in front of the arena
    slow = symbols.get("model_slow_memory")
    return ArenaAddresses(symbols["model_memory"] + guard_bytes, None if slow is None else slow + guard_bytes)


def count_accesses(
    board: Board,
    elf: Path,
    code: LayerCode,
    memories: Sequence[tuple[int, int]],
    infer: Callable[[Transport], object],
) -> list[LineAccesses]:
    """Start ``elf`` on the emulated ``board`` with the counting plugin, and let ``infer`` run exactly one
    inference.

    ``memories``: (address, bytes) of the ranges to count. Returns the accesses of each layer that has code, in order.
    Raises ``ToolError`` if there is no C compiler for the plugin, if QEMU does not load it, or for a model with layers
    that run row by row.
    """
    if any(len(order) != 1 for order in code.orders):
        raise ToolError(
            "Accesses can be counted only for layers on whole tensors.", "Leave out --optimise ram."
        )
    library = compiled_plugin(cache_directory() / "plugins", "accesses")
    watched = ":".join(f"{address:x}:{size:x}" for address, size in memories)
    with temporary_folder("arenite-") as folder:
        out = Path(folder) / "accesses"
        arguments = plugin_arguments(library, out, [address for address, _ in code.entries], code.callers)
        extra = (arguments[0], f"{arguments[1]},memory={watched}")
        with start(board, elf, extra=extra, icount=False) as machine:
            infer(machine.transport)
        phases = _read(out)
    layers: list[LineAccesses] = [{} for _ in range(code.count)]
    for entry, lines in phases:
        (layer,) = code.orders[code.entries[entry][1]]
        if layers[layer]:
            raise ToolError("The emulator's plugin counted more than one inference.")
        layers[layer] = lines
    return layers


def _read(out: Path) -> list[tuple[int, LineAccesses]]:
    """Parse the plugin's output. Return (position in ``entries``, accesses) of each phase, the code that runs from an
    entry."""
    phases: list[tuple[int, LineAccesses]] = []
    is_complete = True
    try:
        for text in out.read_text("ascii").splitlines():
            kind, *values = text.split()
            if kind == "P" and is_complete:
                phases.append((int(values[0]) - 1, {}))
                is_complete = False
            elif kind == "A" and not is_complete:
                phases[-1][1][int(values[0], 16)] = LineAccessCounts(int(values[1]), int(values[2]))
            elif kind == "E" and not is_complete:
                is_complete = True
            else:
                raise ValueError(text)
    except (OSError, ValueError, IndexError) as error:
        raise ToolError(f"The emulator's plugin left no readable counts in {out}.") from error
    if not is_complete or not phases:
        raise ToolError("The emulator's plugin did not record a whole inference.")
    return phases


def sum_accesses(lines: LineAccesses, start: int, size: int) -> LineAccessCounts:
    """Return the sum of the accesses to ``size`` bytes from address ``start`` on. ``start`` is a multiple of
    ``LINE_BYTES``."""
    total = LineAccessCounts()
    for address, counts in lines.items():
        if start <= address < start + size:
            total += counts
    return total


def accesses_by_tensor(
    generated: Generated, addresses: ArenaAddresses, layers: Sequence[LineAccesses]
) -> list[dict[int, LineAccessCounts]]:
    """Return, for each layer that has code, the accesses to each of its tensors by tensor index. If an output is at the
    address of an input, loads count for the input and stores for the output."""
    plan, graph = generated.plan, generated.model.main
    result = []
    for layer, lines in zip(generated.calls, layers, strict=True):
        counts: dict[int, LineAccessCounts] = {}
        for reads in (True, False):
            tensors = layer.op.inputs if reads else layer.op.outputs
            for t in dict.fromkeys(tensors):
                if t < 0 or t not in plan.offsets or not graph.tensors[t].nbytes:
                    continue
                offset = plan.offsets[t]
                slow = addresses.slow is not None and offset >= plan.fast_bytes
                begin = (addresses.slow or 0) + offset - plan.fast_bytes if slow else addresses.fast + offset
                accesses = sum_accesses(lines, begin, graph.tensors[t].nbytes)
                counted = (
                    LineAccessCounts(accesses.loads, 0) if reads else LineAccessCounts(0, accesses.stores)
                )
                counts[t] = counts.get(t, LineAccessCounts()) + counted
        result.append(counts)
    return result
