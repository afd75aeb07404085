"""Simulate the discharge of a battery in fixed steps of time, to check ``battery.py``. The two share no formulas.

The simulation counts the charge in coulombs. In each step a random number of events occurs, and each event takes its
energy. The base load and the self-discharge are added. Every step also checks the voltage under the peak current.
"""

from __future__ import annotations

import math

import numpy as np

from arenite.host.duty.battery import DAY_S, Regulator
from arenite.profiles.batteries import Battery


def simulate_life(
    battery: Battery,
    base_w: float,
    event_j: float,
    rate_hz: float,
    peak_w: float,
    regulator: Regulator,
    celsius: float = 20.0,
    step_s: float = DAY_S,
    seed: int = 0,
) -> float:
    """Return the seconds until the battery can no longer supply a device that takes ``base_w`` all the time, and
    ``event_j`` more per event.

    Events are Poisson with ``rate_hz``. ``step_s`` must be small compared to the life.
    """
    rng = np.random.default_rng(seed)
    min_v = max(battery.cutoff_v, regulator.minimum_v or 0.0)
    full = battery.capacity_mah * 3.6
    cold_capacity = np.interp(celsius, battery.temperature_capacity.x, battery.temperature_capacity.y)
    cold_ohm = np.interp(celsius, battery.temperature_resistance.x, battery.temperature_resistance.y)
    # The share of the charge that is left after a step of self-discharge, which doubles every 10 K above 20 °C.
    retained = (1 - battery.self_discharge_per_year) ** (
        step_s / (365.25 * DAY_S) * 2 ** ((celsius - 20) / 10)
    )
    left, time = full, 0.0
    volts: tuple[np.ndarray, np.ndarray] = (np.array(battery.voltage.x), np.array(battery.voltage.y))
    ohms: tuple[np.ndarray, np.ndarray] = (np.array(battery.resistance.x), np.array(battery.resistance.y))
    counts: list[int] = []
    while left > 0:
        depth = 1 - left / full
        open_v = float(np.interp(depth, *volts))
        ohm = float(np.interp(depth, *ohms) * cold_ohm)
        if _terminal_v(open_v, ohm, peak_w, regulator) < min_v:
            return time
        if not counts:
            counts = rng.poisson(rate_hz * step_s, 512).tolist()
        watts = base_w + event_j * counts.pop() / step_s
        volts_now = _terminal_v(open_v, ohm, watts, regulator)
        if regulator.kind == "switching":
            amps = (
                watts / regulator.efficiency / (volts_now + regulator.quiescent_a * ohm)
                + regulator.quiescent_a
            )
        else:
            amps = watts / regulator.output_v + regulator.quiescent_a
        ma = amps * 1000
        if battery.peukert is not None:
            share = min(1.0, (battery.rated_ma / ma) ** (battery.peukert - 1)) if ma > 0 else 1.0
        else:
            assert battery.rate is not None
            share = float(np.interp(math.log10(max(ma, 1e-9)), battery.rate.x, battery.rate.y))
        # A coulomb drawn at a high rate or a low temperature uses more of the rated charge than one drawn slowly.
        drawn = amps * step_s / (share * cold_capacity)
        after = left * retained - drawn
        if after <= 0:
            return float(time + step_s * left / (left - after))
        left, time = after, time + step_s
    return time


def _terminal_v(open_v: float, ohm: float, watts: float, regulator: Regulator) -> float:
    """Return the battery's voltage under a load of ``watts``. For a switching regulator it is found by iteration,
    because the current depends on the voltage."""
    if regulator.kind != "switching":
        return open_v - ohm * (watts / regulator.output_v + regulator.quiescent_a)
    volts = open_v
    for _ in range(200):
        if volts <= 0:
            return -math.inf
        settled = open_v - ohm * watts / regulator.efficiency / volts
        if abs(settled - volts) < 1e-9:
            break
        volts = settled
    else:
        return -math.inf
    return volts - ohm * regulator.quiescent_a
