"""Estimate the energy of an inference without a meter: instructions per class × the board's energy coefficients.

The joules of an average cycle come from the board's profile (a data sheet's run current), as in ``arenite
fit``. The number of instructions comes from a run in the emulator, and the energy of one class relative to another
from ``profiles/energy/``. The estimate covers the chip alone, as its data sheet does: no regulator, no LED, no
debugger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arenite.errors import DoesNotFitError, ToolError
from arenite.host.bench.samples import Samples
from arenite.host.build.fit import choose
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.energy.estimate_counts import InstructionCounts, Progress, count_instructions, does_not_fit
from arenite.host.energy.estimate_units import ClassShare, EnergyBounds, PerCycle, joules, per_cycle, shares
from arenite.profiles.boards import Board
from arenite.profiles.instruction_energy import EnergyUnits, energy_units_of

SCHEMA = "arenite.energy/1"
#: The note about the accuracy. The figures are from docs/energy-estimates.md, which ``benchmarks/estimates/energy.py``
#: writes.
ACCURACY_NOTE = (
    "An estimate of the chip alone. Published measurements are between 0.7 and 2.1 times such"
    " figures where the data sheet's current is known, and 0.1 to 1.7 times where it is"
    " assumed (docs/energy-estimates.md). Measure with a meter for an exact figure."
)


def estimate_energy(
    prepared: Prepared,
    board: Board,
    options: BuildOptions = DEFAULT_BUILD,
    *,
    samples: Samples | None = None,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Return the estimated record ``arenite.energy/1`` of one inference of ``prepared`` on ``board``.

    ``energy_uj_per_inference`` has the median (p25 and p75 equal it, because nothing was repeated), ``low``
    and ``high`` from the coefficients' ranges, and the kind, which is "assumed" if the board's profile has no
    current. If instructions cannot be counted (there is no emulator, or the emulated board has too little memory), the
    rule of thumb of ``fit`` is used, and ``method`` and ``notes`` report it.

    Raises:
        UsageError: the core has no emulated board.
        DoesNotFitError: the model does not fit the board.
        ProfileError: there are no coefficients for the core.
    """
    # The mark is for a meter; its instructions are not part of an inference.
    options = replace(options, mark=None)
    cycle_energy, units = per_cycle(board), energy_units_of(board.core)
    verdict = choose(prepared, board, options).verdict
    if not verdict.fits:
        raise does_not_fit(prepared, verdict)
    try:
        counted = count_instructions(prepared, board, options, samples=samples, progress=progress)
    except (ToolError, DoesNotFitError) as error:  # no emulator, or its board is smaller than the real one
        note = f"The instructions could not be counted: {error.problem} {error.hint}".strip()
        body = _figures_by_rule_of_thumb(verdict, cycle_energy, note)
    else:
        body = _figures_by_class(counted, board, units, cycle_energy)
    power = board.power
    return {
        "schema": SCHEMA,
        "model": {"path": str(prepared.path), "sha256": prepared.sha256, "macs": prepared.source_macs},
        "board": {"name": board.name, "core": board.core, "clock_hz": board.clock_hz},
        "optimise": verdict.needs.optimise,
        **body,
        # The figure of `arenite fit`: the same joules per cycle × cycles by a rule of thumb.
        "fit_uj": {"value": verdict.energy_mj * 1e3, "kind": verdict.energy_kind},
        "per_cycle_pj": {
            "value": cycle_energy.joules * 1e12,
            "kind": cycle_energy.kind,
            "source": cycle_energy.source,
        },
        "supply_v": board.supply_v,
        "sleep_current_a": power.sleep_ua * 1e-6 if power and power.sleep_ua is not None else None,
        "sleep_source": power.sleep_source if power and power.sleep_ua is not None else None,
        "windows": 0,
        "lost_samples": 0,
    }


def _figure(median: float, low: float, high: float, kind: str, reason: str) -> dict[str, Any]:
    """Return a figure in microjoules. Its quartiles equal the median, because nothing was repeated."""
    values = {"median": median, "p25": median, "p75": median, "low": low, "high": high}
    return {**values, "kind": kind, "range": reason}


def _figures_by_rule_of_thumb(verdict: FitVerdict, cycle_energy: PerCycle, note: str) -> dict[str, Any]:
    board, uj = verdict.board, verdict.energy_mj * 1e3
    reason = "assumed: the rule of thumb for cycles is within a third of the real number"
    return {
        "energy_uj_per_inference": _figure(uj, uj * 2 / 3, uj * 4 / 3, cycle_energy.kind, reason),
        "method": "rule of thumb",
        "duration_ms": {"median": verdict.latency_ms, "kind": "estimated"},
        "average_power_w": cycle_energy.joules * board.clock_hz,
        "counted": None,
        "classes": None,
        "notes": [note, ACCURACY_NOTE],
    }


def _figures_by_class(
    counted: InstructionCounts, board: Board, units: EnergyUnits, cycle_energy: PerCycle
) -> dict[str, Any]:
    timing, total = counted.profile.timing, counted.profile.total
    rows = shares(counted.profile, units)
    bounds = joules(rows, units, cycle_energy, timing.plain_cpi)
    seconds = total.cycles / board.clock_hz
    notes = [ACCURACY_NOTE]
    if board.emulated:
        notes.insert(
            0,
            f"{board.name} is not a real chip: the figure is for a chip with such a core at"
            f" {cycle_energy.joules * 1e12:.0f} pJ per cycle.",
        )
    elif counted.core != board.core:
        notes.insert(
            0, f"Counted with the code of a {counted.core}, the nearest core with an emulated board."
        )
    return {
        "energy_uj_per_inference": _figure(
            bounds.value * 1e6,
            bounds.low * 1e6,
            bounds.high * 1e6,
            cycle_energy.kind,
            "each coefficient of an instruction class from its low to its high; the current per cycle"
            " unchanged",
        ),
        "method": "instruction classes",
        "duration_ms": {"median": seconds * 1e3, "kind": "estimated"},
        "average_power_w": bounds.value / seconds,
        "counted": {
            "board": counted.board,
            "core": counted.core,
            "instructions": total.instructions,
            "cycles": round(total.cycles),
            "cycles_source": timing.summary,
            "kind": "measured" if counted.core == board.core else "estimated",
        },
        "classes": [_class_json(row, bounds) for row in sorted(rows, key=lambda r: -r.moves * r.unit.value)],
        "notes": notes,
    }


def _class_json(row: ClassShare, bounds: EnergyBounds) -> dict[str, Any]:
    return {
        "class": row.name,
        "count": row.count,
        "cycles": round(row.cycles),
        "units": round(row.moves * row.unit.value),
        "energy_uj": row.moves * row.unit.value * bounds.unit * 1e6,
        "kind": row.unit.kind,
        "source": row.unit.source,
    }
