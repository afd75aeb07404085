"""Compute the battery life of a board that infers at intervals, from measured (or estimated) energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.errors import UsageError
from arenite.host.duty.battery import Regulator
from arenite.host.duty.events import PeriodicEvents
from arenite.host.duty.model import PowerStates, predict
from arenite.profiles.batteries import load_battery
from arenite.profiles.boards import Board


def battery_life(
    energy: Mapping[str, Any],
    board: Board,
    battery: str,
    every_s: float,
    *,
    sleep_a: float | None = None,
    regulator: Regulator | None = None,
    celsius: float = 20.0,
) -> dict[str, Any]:
    """Return the life of ``battery`` if the board sleeps and infers every ``every_s`` seconds. ``energy`` is a record
    ``arenite.energy/1``.

    The sleep current is ``sleep_a``, else the current measured between inferences, else the current in the board's
    profile. The supply voltage is that of the measurement, without a regulator unless ``regulator`` is set.

    Raises:
        UsageError: the sleep current is unknown, or the inferences take longer than the interval.
        ProfileError: the battery is unknown.
    """
    profile = load_battery(battery)
    supply = float(energy["supply_v"])
    figure, duration = energy["energy_uj_per_inference"], energy.get("duration_ms")
    if not duration or not duration["median"] > 0:
        raise UsageError(
            "The battery life cannot be computed, because the duration of an inference is not known.",
            "Leave out --battery.",
        )
    seconds = float(duration["median"]) / 1e3
    active = float(figure["median"]) * 1e-6 / seconds
    amperes, source = _sleep_current(energy, board, sleep_a)
    # The level that was measured as sleep may be an idle loop that draws as much as the inference.
    states = PowerStates(
        sleep_w=min(amperes * supply, active),
        active_w=active,
        peak_w=max(float(energy.get("peak_power_w") or 0.0), active),
    )
    prediction = predict(
        PeriodicEvents(every_s),
        seconds,
        0,
        states,
        profile,
        regulator=regulator or Regulator("none", supply),
        celsius=celsius,
    )
    life = prediction.life
    assert life is not None
    figures: dict[str, Any] = dict(prediction.as_json()["battery"])
    warnings = list(prediction.warnings)
    if regulator is None and supply > profile.voltage.y[0] * 1.05:
        warnings.insert(
            0,
            f"The energy was measured at {supply:.3g} V, but {profile.title} gives"
            f" {profile.voltage.y[0]:.3g} V when full: measure at that voltage (--supply), or add a"
            " regulator.",
        )
    return {
        "kind": "estimated" if figure["kind"] == "measured" else figure["kind"],
        "from": f"{figure['kind']} energy",
        "title": profile.title,
        "every_s": every_s,
        **figures,
        "average_power_w": prediction.power_w,
        "power_parts_w": prediction.parts_w,
        "sleep_current_a": {"value": amperes, "source": source},
        "supply_v": supply,
        "celsius": celsius,
        "warnings": warnings,
    }


def _sleep_current(energy: Mapping[str, Any], board: Board, sleep_a: float | None) -> tuple[float, str]:
    if sleep_a is not None:
        return sleep_a, "as given"
    measured = energy.get("sleep_current_a")
    if measured is not None:
        source = energy.get("sleep_source")
        kind = f"assumed: {source}" if source else "measured: the lowest state between inferences"
        return max(float(measured), 0.0), kind
    if board.power is not None and board.power.sleep_ua is not None:
        return board.power.sleep_ua * 1e-6, f"assumed: {board.power.sleep_source}"
    raise UsageError(
        f"The sleep current of {board.name} was not measured, and its profile does not state it.",
        "Give it with --sleep-current, in microamperes.",
    )
