"""Compute how long a battery lasts. The model includes the capacity at the drain's rate and temperature,
self-discharge, and the voltage drop under the peak current.

The depth of discharge goes from 0 to 1 in steps. In each step the drain is constant, so the remaining charge q follows
dq/dt = -I / C(I, T) - r·q (current I, capacity C, temperature T, self-discharge r), which has a closed solution. The
life ends when the rated capacity is used. It ends earlier if the voltage under the peak current falls below the minimum
of the battery or the regulator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.host.duty.events import check_positive
from arenite.profiles.batteries import Battery

DAY_S, YEAR_S = 86400.0, 365.25 * 86400
#: The number of steps of the depth of discharge.
_STEPS = 500
REGULATORS = ("none", "linear", "switching")


@dataclass(frozen=True)
class Regulator:
    """The regulator between battery and device.

    Kinds ``none`` and ``linear``: the battery's current is the device's current, power / ``output_v``. ``switching``:
    the current is power / ``efficiency`` divided by the battery's voltage. ``quiescent_a`` flows in addition. If the
    regulator's input falls below ``minimum_v``, the device or the regulator stops; None: only the battery's own cut-off
    voltage counts.
    """

    kind: str = "none"
    output_v: float = 3.0
    efficiency: float = 0.9
    quiescent_a: float = 0.0
    minimum_v: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in REGULATORS:
            raise UsageError(
                f"There is no regulator '{self.kind}'.", f"The regulators are {', '.join(REGULATORS)}."
            )
        check_positive("regulator's output in V", self.output_v)
        check_positive("regulator's quiescent current in A", self.quiescent_a, zero=True)
        if self.minimum_v is not None:
            check_positive("minimum input voltage", self.minimum_v)
        if not 0 < check_positive("regulator's efficiency", self.efficiency) <= 1:
            raise UsageError(
                f"The regulator's efficiency must be above 0 and at most 1, not {self.efficiency:g}."
            )

    def current_a(self, watts: float, open_v: float, ohm: float) -> float:
        """Return the current in A from a source with the open-circuit voltage ``open_v`` and the internal resistance
        ``ohm``, for a device that takes ``watts``; inf if the source cannot supply this power."""
        if self.kind != "switching":
            return watts / self.output_v + self.quiescent_a
        # Solve I·(V - I·R) = P / η for I (V open_v, R ohm, P watts, η efficiency). A regulator settles at the smaller
        # root.
        root = open_v**2 - 4 * ohm * watts / self.efficiency
        if root < 0:
            return math.inf
        return 2 * watts / self.efficiency / (open_v + math.sqrt(root)) + self.quiescent_a


@dataclass(frozen=True)
class BatteryLife:
    """The life of a battery, the reason for its end, and warnings. For a rechargeable battery it is the life of one
    charge."""

    life_s: float
    average_ma: float
    peak_ma: float
    usable: float  # share of the charge that was used when the life ended, self-discharge included
    self_discharged: float  # share of the full charge that was lost by self-discharge
    lowest_v: float  # voltage under the peak current when the life ended
    ends_by: str  # "capacity", "voltage" or "never starts"
    warnings: tuple[str, ...]
    #: Figures of the profile that are assumed, or recalled from memory of a data sheet, with the profile's remark.
    assumed: tuple[str, ...]

    @property
    def days(self) -> float:
        return self.life_s / DAY_S


def min_voltage(battery: Battery, regulator: Regulator) -> float:
    """Return the lowest voltage of the battery in V with which the device runs."""
    return max(battery.cutoff_v, regulator.minimum_v or 0.0)


def check_temperature(battery: Battery, celsius: float) -> None:
    """Raise ``UsageError`` if ``celsius`` is outside the temperatures that the battery's profile covers."""
    if not battery.coldest_c <= celsius <= battery.hottest_c:
        raise UsageError(
            f"The profile of '{battery.name}' covers {battery.coldest_c:g} to {battery.hottest_c:g}"
            f" °C, not {celsius:g} °C.",
            "Choose a battery for this temperature, for instance lisocl2_aa.",
        )


def battery_life(
    battery: Battery,
    average_w: float,
    peak_w: float,
    regulator: Regulator = Regulator(),
    celsius: float = 20.0,
) -> BatteryLife:
    """Return the life of a full battery under a load of ``average_w`` with peaks of ``peak_w``, at one temperature.

    Raises ``UsageError`` for powers that are not above 0, a peak below the average, or a temperature
    outside the profile.
    """
    check_positive("average power in W", average_w)
    if check_positive("peak power in W", peak_w) < average_w * (1 - 1e-9):
        raise UsageError(f"The peak power of {peak_w:g} W is below the average of {average_w:g} W.")
    check_temperature(battery, celsius)
    lowest_allowed_v, loss_per_s = min_voltage(battery, regulator), battery.loss_per_s(celsius)

    def under_peak(depth: float) -> tuple[float, float]:
        """Return the battery's voltage and current under the peak power, at this depth of discharge."""
        open_v, ohm = battery.voltage.at(depth), battery.ohm(depth, celsius)
        amps = regulator.current_a(peak_w, open_v, ohm)
        return (open_v - amps * ohm if math.isfinite(amps) else -math.inf), amps

    life = charge = lost = depth = 0.0
    volts, peak = under_peak(0.0)
    ends = "capacity" if volts >= lowest_allowed_v else "never starts"
    worst_average = 0.0
    while ends == "capacity" and depth < 1:
        step = 1 / _STEPS
        after = min(depth + step, 1.0)
        if under_peak(after)[0] < lowest_allowed_v:
            ends, low, high = "voltage", depth, after
            for _ in range(40):  # bisection
                middle = (low + high) / 2
                low, high = (middle, high) if under_peak(middle)[0] >= lowest_allowed_v else (low, middle)
            after = low
        middle = (depth + after) / 2
        amps = regulator.current_a(average_w, battery.voltage.at(middle), battery.ohm(middle, celsius))
        drain_per_s = amps / battery.capacity_as(amps, celsius)
        worst_average = max(worst_average, amps)
        if after > depth:
            seconds = _discharge_s(1 - depth, 1 - after, drain_per_s, loss_per_s)
            life += seconds
            charge += amps * seconds
            lost += max(after - depth - drain_per_s * seconds, 0.0)
        depth = after
        volts, now_peak = under_peak(depth)
        peak = max(peak, now_peak)
    return BatteryLife(
        life_s=life,
        average_ma=1000 * charge / life if life else 0.0,
        peak_ma=1000 * peak,
        usable=depth,
        self_discharged=lost,
        lowest_v=volts,
        ends_by=ends,
        warnings=tuple(
            _warnings(battery, regulator, life, worst_average, peak, depth, ends, lowest_allowed_v, celsius)
        ),
        assumed=tuple(f"{k}: {v}" for k, v in battery.sources.items() if "assumed" in v or "recalled" in v),
    )


def _discharge_s(before: float, after: float, drain_per_s: float, loss_per_s: float) -> float:
    """Return the seconds in which the charge q, as a share of the full charge, falls from ``before`` to ``after`` under
    dq/dt = -drain_per_s - loss_per_s·q."""
    if loss_per_s * before < 1e-9 * drain_per_s:
        return (before - after) / drain_per_s
    return math.log1p(loss_per_s * (before - after) / (drain_per_s + loss_per_s * after)) / loss_per_s


def _warnings(
    battery: Battery,
    regulator: Regulator,
    life: float,
    average: float,
    peak: float,
    depth: float,
    ends: str,
    lowest_allowed_v: float,
    celsius: float,
) -> list[str]:
    messages = []
    peak_ma, average_ma = 1000 * peak, 1000 * average
    if peak_ma > battery.pulse_ma:
        messages.append(
            f"The peak current of {peak_ma:.3g} mA is more than the {battery.pulse_ma:g} mA that"
            f" {battery.title} can give in pulses. Add a capacitor, lower the clock, or choose a larger"
            " battery."
        )
    if average_ma > battery.continuous_ma:
        messages.append(
            f"The average current of {average_ma:.3g} mA is more than the battery's continuous rating"
            f" of {battery.continuous_ma:g} mA."
        )
    if ends == "never starts":
        messages.append(
            f"Even when the battery is full, its voltage under the peak current is below {lowest_allowed_v:g} V:"
            " the device resets at once."
        )
    elif ends == "voltage" and depth < 0.9:
        messages.append(
            f"The voltage under the peak current falls below {lowest_allowed_v:g} V when"
            f" {100 * (1 - depth):.0f} % of the charge is left."
        )
    if life > battery.shelf_years * YEAR_S:
        messages.append(
            f"{life / YEAR_S:.3g} years are more than the shelf life of such a battery. Do not rely on more than"
            f" {battery.shelf_years:g} years."
        )
    if battery.rate is not None and average_ma > 10 ** battery.rate.x[-1]:
        messages.append(
            f"The battery's capacity above {10 ** battery.rate.x[-1]:g} mA is not known. The capacity at that"
            " current was used."
        )
    if regulator.kind == "linear" and regulator.output_v > lowest_allowed_v:
        messages.append(
            f"The linear regulator gives {regulator.output_v:g} V only while the battery's voltage is higher. Set"
            " minimum_v to the lowest voltage at which the device runs."
        )
    if battery.rechargeable and celsius > 45:
        messages.append(f"At {celsius:g} °C a lithium-ion cell ages fast. The model does not include aging.")
    return messages
