"""Compare the prediction of a duty cycle with a simulation, or with a run on an emulated board."""

from __future__ import annotations

from typing import Any

from arenite.host.duty.battery import DAY_S, BatteryLife, Regulator
from arenite.host.duty.battery_simulation import simulate_life
from arenite.host.duty.model import PowerStates
from arenite.host.duty.on_board import ObservedDuty
from arenite.host.duty.queue_figures import Queueing
from arenite.host.duty.service import ServiceTimes
from arenite.host.duty.simulate import SimulatedQueue
from arenite.profiles.batteries import Battery


def difference(predicted: float, actual: float, floor: float = 0.0) -> float | None:
    """Return the relative difference (predicted − actual) / |actual|. If |actual| is less than ``floor``, divide by
    ``floor``. If the divisor is 0, return None."""
    base = max(abs(actual), floor)
    return (predicted - actual) / base if base else None


def simulation_row(
    q: Queueing, actual: SimulatedQueue, power: PowerStates, power_w: float, service: ServiceTimes
) -> dict[str, Any]:
    """Return utilization, mean wait, drops and power of a simulation, as JSON. Each figure has the half width of its
    95 % confidence interval and the relative difference of the prediction ``q`` from it.

    The difference of the mean wait is relative to at least 2 % of a service time, that of drops to at least 1 % of the
    events.
    """
    watts = sum(
        power.parts_w(
            actual.sleeping.mean, actual.utilization.mean, actual.lingering.mean, actual.wakes_per_s.mean
        ).values()
    )
    pairs = {
        "utilisation": (q.utilization, actual.utilization.mean, actual.utilization.half, 0.0),
        "wait_mean_s": (
            q.wait_mean_s,
            actual.wait_mean_s.mean,
            actual.wait_mean_s.half,
            0.02 * service.mean_s,
        ),
        "dropped": (q.dropped, actual.dropped.mean, actual.dropped.half, 0.01),
        "power_w": (power_w, watts, None, 0.0),
    }
    return {
        "kind": "simulated",
        "events": actual.events,
        **{
            name: {"value": value, "half_width_95": half, "difference": difference(predicted, value, floor)}
            for name, (predicted, value, half, floor) in pairs.items()
        },
        "wait_s": {f"p{p:g}": estimate.mean for p, estimate in actual.wait_percentiles_s.items()},
    }


def life_row(
    predicted: BatteryLife,
    simulated: dict[str, Any],
    rate_hz: float,
    battery: Battery,
    power: PowerStates,
    regulator: Regulator,
    celsius: float,
) -> dict[str, Any]:
    """Return the days until the battery is empty in a stepwise simulation with the power of the row ``simulated``, and
    the relative difference of the prediction from them."""
    watts = float(simulated["power_w"]["value"])
    seconds = simulate_life(
        battery,
        power.sleep_w,
        max(watts - power.sleep_w, 0.0) / rate_hz,
        rate_hz,
        max(power.highest_w, watts),
        regulator,
        celsius,
        step_s=min(DAY_S, max(predicted.life_s / 1000, 1.0)),
    )
    days = seconds / DAY_S
    return {"value": days, "half_width_95": None, "difference": difference(predicted.days, days)}


def board_row(q: Queueing, actual: ObservedDuty, service: ServiceTimes) -> dict[str, Any]:
    """Return utilization, mean wait, drops and share of sleep on an emulated board, as JSON. Each figure has the
    relative difference of the prediction ``q`` from it."""
    pairs = {
        "utilisation": (q.utilization, actual.utilization, 0.0),
        "wait_mean_s": (q.wait_mean_s, actual.wait_mean_s, 0.02 * service.mean_s),
        "dropped": (q.dropped, actual.dropped, 0.01),
        "sleeping": (q.sleeping, actual.shares["sleeping"], 0.0),
    }
    return {
        "kind": "measured",
        "clock": "virtual time of the emulated board",
        "events": round(len(actual.waits_s) / (1 - actual.dropped)),
        "seconds": actual.seconds,
        "service_ms": service.mean_s * 1e3,
        **{
            name: {"value": value, "difference": difference(predicted, value, floor)}
            for name, (predicted, value, floor) in pairs.items()
        },
    }
