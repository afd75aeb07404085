"""Estimate the cycles of straight-line code from a core's timing table, which has an entry per class of instructions.

The tables in ``profiles/timing/`` hold the cost of each class, and rules for neighboring instructions: a taken
branch refills the pipeline, a load directly after a load is pipelined, instructions of different parts of the vector
unit overlap. The costs apply to memory without wait states. The result is an estimate, not a measurement.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError
from arenite.host.emulator.classifiers import classifier
from arenite.host.emulator.disassembly import Instruction
from arenite.host.emulator.instruction_class import TimingClass

DIRECTORY = Path(__file__).parents[2] / "profiles" / "timing"
KINDS = ("estimated", "assumed")
#: ``taken``: a block ends with a jump. ``pipelined``: a load or store directly follows a load. ``load_use``: an
#: instruction reads a register that the previous instruction loaded. ``address``: the previous instruction computed an
#: instruction's address. ``dual_issue``: an instruction is issued together with the previous instruction. ``overlap``:
#: a vector instruction uses another part of the vector unit than the previous vector instruction. ``jump_register``:
#: the previous instruction computed (but did not load) the register from which a jump takes its target.
#: ``misaligned_target``: a jump leads to a RISC-V instruction of four bytes whose address is not a multiple of four.
#: ``late_result``: an instruction uses the result of the previous instruction, which comes a cycle late.
#: ``multiply_flags``: a multiplication sets the condition flags. ``dual_branch``: a branch or ``it`` of two bytes is
#: issued together with the previous instruction of two bytes.
RULES = (
    *("taken", "pipelined", "load_use", "address", "dual_issue", "overlap"),
    *("jump_register", "misaligned_target", "late_result", "multiply_flags", "dual_branch"),
)
#: Uses of a register that do not wait for the result of the previous instruction: as the term that a multiplication
#: adds to its product, and as the value of a store.
NO_WAIT = ("accumulator", "store")

_LOADS = frozenset({"load", "load_literal", "load_double", "fpu_load"})
_PIPELINED = frozenset({"load", "load_literal", "store", "store_register"})
_MEMORY = ("load", "store", "fpu_load", "fpu_store")
_JUMPS = ("branch", "call", "compare_branch", "it")
#: The keys of a table that are sets of classes or units.
_SETS = ("never_second", "any_slot", "alone", "late_results", "no_wait")
#: The part of the vector unit that a class of vector instructions uses.
_VECTOR_UNITS = {
    "mve_load": "memory",
    "mve_store": "memory",
    "mve_multiply": "multiply",
    "mve_multiply_reduce": "multiply",
    "mve_alu": "alu",
    "mve_reduce": "alu",
}


@dataclass(frozen=True)
class CycleCost:
    """The cost of a class, or the cycles that a rule adds, with the source of the numbers.

    An instruction of a class costs ``cycles + per_item * items`` cycles. ``taken``: the cycles that a jump by such an
    instruction adds; None means those of the rule ``taken``. ``kind``: one of ``KINDS``.
    """

    cycles: float
    per_item: float
    taken: float | None
    kind: str
    source: str


@dataclass
class CycleTally:
    """How often an instruction class or a rule occurred, and the cycles of all its occurrences together."""

    count: int = 0
    cycles: float = 0.0

    def add(self, count: int, cycles: float) -> None:
        self.count += count
        self.cycles += cycles


@dataclass
class CycleCount:
    """Cycles by class of instruction (``count`` is the number of instructions) and by rule (``count`` is how often the
    rule applied)."""

    classes: dict[str, CycleTally] = field(default_factory=dict)
    rules: dict[str, CycleTally] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        return sum(t.count for t in self.classes.values())

    @property
    def cycles(self) -> float:
        return sum(t.cycles for part in (self.classes, self.rules) for t in part.values())

    def add(self, other: CycleCount, times: int = 1) -> None:
        """Add ``other`` to this count, ``times`` times."""
        for mine, theirs in ((self.classes, other.classes), (self.rules, other.rules)):
            for name, tally in theirs.items():
                mine.setdefault(name, CycleTally()).add(tally.count * times, tally.cycles * times)


@dataclass(frozen=True)
class TimingTable:
    """One core's timing table.

    ``plain_cpi``: estimated cycles per instruction of compiled scalar code. ``other_cpi``: the value assumed for
    another engine's kernels, which may use vectors. Units are those of ``TimingClass``.

    These sets refine the rules: ``never_second`` has classes that are not issued together with the previous
    instruction, except for those of a unit in ``any_slot``, and ``alone`` those that are not issued together with the
    next one either. ``late_results``: units whose results come a cycle late. ``no_wait``: some of ``NO_WAIT``.
    ``word_load_use``: the only units that wait for a word that the previous instruction loaded, besides addresses; None
    if all instructions wait. ``load_with_store``: whether a load and a store are issued together.
    """

    core: str
    summary: str
    plain_cpi: float
    other_cpi: float
    classes: Mapping[str, CycleCost]
    rules: Mapping[str, CycleCost]
    never_second: frozenset[str] = frozenset()
    any_slot: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    late_results: frozenset[str] = frozenset()
    no_wait: frozenset[str] = frozenset()
    word_load_use: frozenset[str] | None = None
    load_with_store: bool = False

    def block(self, instructions: Sequence[Instruction]) -> CycleCount:
        """Return the cycles of one run through ``instructions`` without a jump at the end.

        Raises ``ProfileError`` for a class that the table does not contain.
        """
        kind_of = classifier(self.core)
        kinds = [kind_of(i) for i in instructions]
        result = CycleCount()
        issued = False  # the previous instruction was the second of a pair
        for k, kind in enumerate(kinds):
            cost = self._cost(kind)
            result.classes.setdefault(kind.name, CycleTally()).add(1, cost)
            before = kinds[k - 1] if k else None
            issued = (
                before is not None
                and not issued
                and "dual_issue" in self.rules
                and self._is_dual_issued(before, kind)
            )
            if issued:
                result.rules.setdefault("dual_issue", CycleTally()).add(1, -cost)
            elif before is not None:
                self._add_neighbor_rules(result, before, kind, cost)
            if "multiply_flags" in self.rules and kind.flags and kind.name == "multiply":
                self._apply(result, "multiply_flags")
            if k and self._is_dual_branch(instructions[k - 1], instructions[k]):
                self._apply(result, "dual_branch")
        return result

    def taken(self, block: Sequence[Instruction]) -> float:
        """Return the cycles that a jump adds to the cost of ``block``, whose last instruction jumps."""
        kind_of = classifier(self.core)
        own = self.classes[kind_of(block[-1]).name].taken
        cycles = self.rules["taken"].cycles if own is None else own
        if len(block) > 1 and self._is_dual_branch(*block[-2:]) and kind_of(block[-2]).flags:
            # A branch that depends on flags of the instruction before it is issued together with it only if not taken.
            cycles -= self.rules["dual_branch"].cycles
        return cycles

    def _is_dual_branch(self, before: Instruction, branch: Instruction) -> bool:
        """Return whether ``branch``, a branch or ``it``, is issued together with the instruction before it."""
        if "dual_branch" not in self.rules or (before.size, branch.size) != (2, 2):
            return False
        kind_of = classifier(self.core)
        return kind_of(branch).name in ("branch", "it") and not kind_of(before).name.startswith(_JUMPS)

    def _apply(self, result: CycleCount, rule: str) -> None:
        result.rules.setdefault(rule, CycleTally()).add(1, self.rules[rule].cycles)

    def _cost(self, kind: TimingClass) -> float:
        if kind.name not in self.classes:
            raise ProfileError(f"The timing table of {self.core} has no class '{kind.name}'.")
        entry = self.classes[kind.name]
        return entry.cycles + entry.per_item * kind.items

    def _add_neighbor_rules(
        self, result: CycleCount, before: TimingClass, kind: TimingClass, cost: float
    ) -> None:
        """Add the rules that apply to ``kind`` directly after ``before``, except for dual issue, to ``result``.
        ``cost`` is the cost of ``kind`` alone."""

        loaded = before.name in _LOADS
        if "pipelined" in self.rules and loaded and before.name != "load_double" and cost > 1:
            if kind.name in _PIPELINED and not before.writes & kind.address:
                self._apply(result, "pipelined")
        elif "load_use" in self.rules and loaded and self._waits_for_load(before, kind):
            self._apply(result, "load_use")
        elif before.unit in self.late_results and before.writes & self._waiting(kind):
            self._apply(result, "late_result")
        if "address" in self.rules and not loaded and before.writes & kind.address:
            self._apply(result, "address")
        if "jump_register" in self.rules and not loaded and before.writes & kind.target:
            self._apply(result, "jump_register")
        if "overlap" in self.rules:
            units = _VECTOR_UNITS.get(before.name), _VECTOR_UNITS.get(kind.name)
            if None not in units and units[0] != units[1]:
                self._apply(result, "overlap")

    def _waiting(self, kind: TimingClass) -> frozenset[str]:
        """Return the registers that ``kind`` reads and whose values must be ready when it is issued."""
        reads = kind.reads
        if "accumulator" in self.no_wait:
            reads -= kind.accumulates
        if "store" in self.no_wait and kind.name.startswith("store"):
            reads &= kind.address
        return reads

    def _waits_for_load(self, before: TimingClass, kind: TimingClass) -> bool:
        """Return whether ``kind`` waits for a register that ``before`` loads."""
        if self.word_load_use is None or before.unit == "narrow_load" or kind.unit in self.word_load_use:
            return bool(before.writes & self._waiting(kind))
        return bool(before.writes & kind.address)

    def _is_dual_issued(self, before: TimingClass, kind: TimingClass) -> bool:
        """Return whether ``kind`` is issued in the same cycle as ``before``."""
        if kind.name in self.never_second and kind.unit not in self.any_slot:
            return False
        if before.name.startswith(_JUMPS) or before.name in self.alone:
            return False
        multiplies = [k.unit in ("multiply", "multiply_16") for k in (before, kind)]
        if all(multiplies) or before.writes & (self._waiting(kind) | kind.writes):
            return False
        if before.name.startswith(_MEMORY) and kind.name.startswith(_MEMORY):
            pair = {k.name.split("_")[0] for k in (before, kind)}
            return self.load_with_store and pair == {"load", "store"}
        return not (any(multiplies) and any(k.name.startswith("store") for k in (before, kind)))


@cache
def load_timing(core: str) -> TimingTable:
    """Return the timing table of ``core``. Raises ``ProfileError`` if it is missing or malformed."""
    path = DIRECTORY / f"{core}.toml"
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ProfileError(f"There is no timing table for the core '{core}'.") from error
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{path.name} is not valid TOML: {error}.") from error
    return _parse_table(data, path.name)


def _parse_table(data: Mapping[str, Any], file_name: str) -> TimingTable:
    try:
        sources = data["sources"]
        timing = TimingTable(
            data["core"],
            data["summary"],
            float(data["plain_cpi"]),
            float(data.get("other_cpi", data["plain_cpi"])),
            {name: _parse_cost(row, sources) for name, row in data["classes"].items()},
            {name: _parse_cost(row, sources) for name, row in data["rules"].items()},
            **{name: frozenset(data.get(name, ())) for name in _SETS},
            word_load_use=frozenset(data["word_load_use"]) if "word_load_use" in data else None,
            load_with_store=bool(data.get("load_with_store", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProfileError(f"{file_name}: {error} is missing or malformed.") from error
    unknown = [name for name in timing.rules if name not in RULES]
    if unknown or "taken" not in timing.rules:
        raise ProfileError(f"{file_name}: the rules must be some of {', '.join(RULES)}, and include 'taken'.")
    return timing


def _parse_cost(row: Mapping[str, Any], sources: Mapping[str, str]) -> CycleCost:
    if row["kind"] not in KINDS or set(row) - {"cycles", "per_item", "taken", "kind", "source"}:
        raise ValueError(repr(row))
    taken = float(row["taken"]) if "taken" in row else None
    return CycleCost(
        float(row["cycles"]), float(row.get("per_item", 0)), taken, row["kind"], sources[row["source"]]
    )
