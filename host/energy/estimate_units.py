"""Convert instruction counts to units of energy, and a board's current to joules per unit.

One unit is the energy of a register-to-register instruction of one cycle. Each class of instructions has a coefficient
in units, which counts once per instruction, or once for each register or element that the instruction moves. All other
cycles are stalls, in which the pipeline waits; they have their own coefficient.

The joules of one unit follow from the board's current: they are the joules per cycle divided by the units per cycle of
the mix of instructions with which the current was measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from arenite.host.build.fit_verdict import ASSUMED_W_PER_HZ
from arenite.host.emulator.profile import Profile
from arenite.profiles.boards import Board
from arenite.profiles.instruction_energy import PLAIN, STALL, EnergyCoefficient, EnergyUnits

Bound = Literal["value", "low", "high"]


@dataclass(frozen=True)
class ClassShare:
    """The energy of one instruction class: ``moves`` times its coefficient ``unit``. The class named "stall" stands for
    the cycles in which the pipeline waits. ``group`` is the name of the classes that share this coefficient."""

    name: str
    group: str
    count: int  # instructions
    moves: float  # instructions, or the items that they move one by one
    cycles: float
    unit: EnergyCoefficient


def shares(profile: Profile, units: EnergyUnits) -> tuple[ClassShare, ...]:
    """Return one entry per instruction class of an inference, and a last entry for the stalls. Raises ``ProfileError``
    for a class without a coefficient."""
    total, timing = profile.total, profile.timing
    rows, stall_cycles = [], 0.0
    for name, tally in total.classes.items():
        cost = timing.classes[name]
        items = (tally.cycles - cost.cycles * tally.count) / cost.per_item if cost.per_item else 0.0
        moves = max(items, float(tally.count))
        # A class that costs less than one cycle (two instructions in one cycle) has no stall.
        stall_cycles += max(tally.cycles - moves, 0.0)
        rows.append(
            ClassShare(name, units.group.get(name, ""), tally.count, moves, tally.cycles, units.unit_of(name))
        )
    # The rules of the timing table change the cycles of neighboring instructions; a taken branch, for example, adds
    # some. These cycles are stalls. The rule for dual issue is left out: the cycles that it saves were not stalls.
    stall_cycles += sum(tally.cycles for rule, tally in total.rules.items() if rule != "dual_issue")
    stall_cycles = max(stall_cycles, 0.0)
    rows.append(ClassShare(STALL, STALL, 0, stall_cycles, stall_cycles, units.units[STALL]))
    return tuple(rows)


def units_per_cycle(units: EnergyUnits, cycles_per_instruction: float, group: str, bound: Bound) -> float:
    """Return the units per cycle of the instruction mix with which the board's current was measured. The coefficient
    of ``group`` is replaced by its ``bound``."""

    def coefficient(name: str) -> float:
        return float(getattr(units.units[name], bound if name == group else "value"))

    per_instruction = sum(share * coefficient(name) for name, share in units.mix.items())
    per_instruction += max(cycles_per_instruction - 1, 0.0) * coefficient(STALL)
    return per_instruction / cycles_per_instruction


def total_units(rows: Iterable[ClassShare], group: str, bound: Bound) -> float:
    """Return the energy of an inference in units. The coefficient of ``group`` is replaced by its ``bound``."""
    return sum(r.moves * float(getattr(r.unit, bound if r.group == group else "value")) for r in rows)


@dataclass(frozen=True)
class PerCycle:
    """The joules of an average cycle while the board computes, and the source of the figure."""

    joules: float
    kind: str
    source: str


def per_cycle(board: Board) -> PerCycle:
    """Return the joules per cycle from the board's profile. If it has no current, return the value that ``arenite fit``
    assumes."""
    if board.power is None:
        picojoules = ASSUMED_W_PER_HZ * 1e12
        return PerCycle(
            ASSUMED_W_PER_HZ,
            "assumed",
            f"assumed: 100 uA/MHz at 3.3 V ({picojoules:g} pJ per cycle), a mid-range value for today's"
            " microcontrollers",
        )
    watts = board.power.active_ma / 1e3 * board.power.supply_v
    return PerCycle(watts / board.clock_hz, "estimated", board.power.source)


@dataclass(frozen=True)
class EnergyBounds:
    """The energy of one inference in joules. For the bounds ``low`` and ``high``, one coefficient at a time is replaced
    by its low and high value, and the deviations are added in quadrature."""

    value: float
    low: float
    high: float
    unit: float  # joules of one unit


def joules(
    rows: tuple[ClassShare, ...], units: EnergyUnits, cycle_energy: PerCycle, cpi: float
) -> EnergyBounds:
    """Return the energy of the counted inference. ``cpi`` is the mean number of cycles per instruction of compiled
    kernels without SIMD on the core (``TimingTable.plain_cpi``)."""

    def joules_with(group: str, bound: Bound) -> float:
        # The coefficient changes numerator and denominator, because the board's current was measured with a mix of
        # instructions that includes this group.
        return (
            cycle_energy.joules * total_units(rows, group, bound) / units_per_cycle(units, cpi, group, bound)
        )

    value = joules_with(PLAIN, "value")
    down = up = 0.0
    for group in units.units:
        ends = [joules_with(group, "low") - value, joules_with(group, "high") - value]
        down += min(*ends, 0.0) ** 2
        up += max(*ends, 0.0) ** 2
    unit = cycle_energy.joules / units_per_cycle(units, cpi, PLAIN, "value")
    return EnergyBounds(value, value - down**0.5, value + up**0.5, unit)
