"""Estimate the cycles per inference for a bench result: from an emulator profile if there is one, else by a rule of
thumb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.firmware.boards.cores import core_named, cpi_of
from arenite.host.bench.compare import REPORTED_DIFFERENCE
from arenite.host.emulator.profile import Profile
from arenite.host.emulator.timing import CycleCost, CycleTally

#: For each rule of a core's timing table (see ``host/emulator/timing.py``), its description in tables. A rule adds or
#: saves cycles for two neighboring instructions.
RULE_TITLES = {
    "taken": "taken branch",
    "pipelined": "load or store behind a load",
    "load_use": "use of a value that was just loaded",
    "address": "address that was just computed",
    "dual_issue": "issued with the instruction before",
    "overlap": "overlapping vector instructions",
    "jump_register": "jump to an address that was just computed",
    "misaligned_target": "jump to a 32-bit instruction that is not word-aligned",
    "late_result": "use of a result that comes a cycle late",
    "multiply_flags": "multiplication that sets flags",
    "dual_branch": "branch issued with the instruction before",
}


def by_rule_of_thumb(core: str, instructions: int) -> dict[str, Any]:
    """Return the object "cycles" of a bench result, estimated from the number of instructions per inference alone."""
    cpi = cpi_of(core)
    return {
        "p50": round(instructions * cpi),
        "kind": "estimated",
        "source": f"rule of thumb: {cpi:g} cycles per instruction, {core_named(core).cpi_source}",
    }


def by_profile(profile: Profile) -> dict[str, Any]:
    """Return the object "cycles" of a bench result, with the cycles of the profiled inference."""
    return {
        "p50": round(profile.cycles),
        "kind": "estimated",
        "source": f"instructions by class, counted in the emulator; {profile.timing.summary}",
    }


def histogram(profile: Profile) -> list[dict[str, Any]]:
    """Return one row per class of instructions, sorted by cycles, then one row per rule for neighboring instructions
    with the cycles that it adds or saves."""
    total, timing = profile.total, profile.timing

    def rows(
        tallies: Mapping[str, CycleTally], costs: Mapping[str, CycleCost], kind: str
    ) -> list[dict[str, Any]]:
        return [
            {
                kind: name,
                "count": tally.count,
                "cycles": round(tally.cycles),
                "kind": costs[name].kind,
                "source": costs[name].source,
            }
            for name, tally in sorted(tallies.items(), key=lambda item: -abs(item[1].cycles))
        ]

    return rows(total.classes, timing.classes, "class") + rows(total.rules, timing.rules, "rule")


def remark(profile: Profile) -> str | None:
    """Return a sentence if an average instruction of this firmware takes clearly more or fewer cycles than an average
    instruction of plain compiled code, else None."""
    total, timing = profile.total, profile.timing
    cpi = total.cycles / max(total.instructions, 1)
    if abs(cpi / timing.plain_cpi - 1) <= REPORTED_DIFFERENCE:
        return None
    speed = "faster" if cpi > timing.plain_cpi else "slower"
    return (
        f"An instruction takes an estimated {cpi:.2f} cycles here, against {timing.plain_cpi:.2f} in plain compiled "
        f"code on a {timing.core}: by its instructions alone, this firmware looks {speed} than it is."
    )
