"""The thermal model, fitted to noisy samples, agrees with the simulated device."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from arenite.host.governor.thermal_model import ThermalModel


def device(minutes: float, power, ambient: float = 30.0, seed: int = 1, noise: float = 0.2):  # type: ignore[no-untyped-def]
    """Yield (seconds, watts, °C) of a device with two thermal nodes, once per second. The chip is connected to the case
    with 1.5 K/W and a time constant of 10 s, the case to the air with 5 K/W and 500 s."""
    dice = random.Random(seed)
    junction = case = ambient
    for second in range(int(minutes * 60)):
        watts = power(second)
        for _ in range(4):
            flow_w = (junction - case) / 1.5
            junction += 0.25 * (watts - flow_w) / 6.7
            case += 0.25 * (flow_w - (case - ambient) / 5.0) / 100
        yield (
            float(second),
            watts * (1 + dice.gauss(0, 0.01)),
            round((junction + dice.gauss(0, noise)) * 2) / 2,
        )


def fit_model(minutes: float, power, **options: Any) -> tuple[ThermalModel, float]:  # type: ignore[no-untyped-def]
    """Return a model of the simulated device after ``minutes``, and the last temperature."""
    model, celsius = ThermalModel(), math.nan
    for t, watts, celsius in device(minutes, power, **options):
        model.add(t, watts, celsius)
    return model, celsius


def loads(t: float) -> float:
    """Return a power that changes fast and slowly. With a constant mean, air temperature and slow resistance could not
    be distinguished."""
    return (2.0, 6.0, 4.0)[int(t // 300) % 3] + (1.0 if (t // 60) % 2 else 0.0)


def test_the_settled_temperature_is_predicted() -> None:
    model, _ = fit_model(15, loads)
    for watts in (2.0, 5.0, 8.0):
        assert model.predict(watts, 3600)[0] == pytest.approx(30 + 6.5 * watts, abs=4.0)
    assert model.rms_k < 0.6


def test_the_minutes_to_a_bound_are_predicted() -> None:
    model, _ = fit_model(8, lambda t: 4.0 if (t // 60) % 2 else 7.0)
    forecast = model.forecast(8.0, 65.0)
    assert forecast.minutes is not None
    reached_s = next(t for t, _, c in device(60, lambda t: (4.0 if (t // 60) % 2 else 7.0) if t < 480 else 8.0, noise=0)
                if t > 480 and c >= 65.0)  # fmt: skip
    assert forecast.minutes == pytest.approx((reached_s - 480) / 60, rel=0.3)
    assert "65 °C in" in forecast.describe()


def test_the_forecast_says_that_a_bound_is_never_reached() -> None:
    model, _ = fit_model(10, lambda t: 3.0 if (t // 60) % 2 else 4.0)
    forecast = model.forecast(3.5, 80.0)
    assert forecast.minutes == math.inf and "is not reached" in forecast.describe()


def test_there_is_no_forecast_from_few_samples() -> None:
    model, _ = fit_model(0.3, lambda t: 5.0)
    assert model.forecast(5.0, 80.0).minutes is None
    assert model.forecast(5.0, 80.0).describe() == "not known yet"


def test_the_allowed_power_keeps_the_bound() -> None:
    model, _ = fit_model(15, loads)
    allowed = model.allowed_power(4.5, 70.0, (6.0, 60.0, 300.0, 900.0))
    # In the steady state, the allowed power is (70 - 30) / 6.5 W. For 15 minutes ahead it is close to that.
    assert 5.3 < allowed < 7.5


def test_a_change_of_the_air_temperature_is_followed() -> None:
    model = ThermalModel()
    for t, watts, celsius in device(15, lambda t: 5.0 if (t // 100) % 2 else 4.0):
        model.add(t, watts, celsius)
    celsius = math.nan
    for t, watts, celsius in device(25, lambda t: 5.0 if (t // 100) % 2 else 4.0):
        model.add(
            900 + t, watts, celsius + 8 * min(1.0, t / 600) + 14.0
        )  # 14 K warmer air, and another 8 K in ten minutes
    assert model.predict(4.5, 60)[0] == pytest.approx(celsius + 22, abs=3)


def test_invalid_samples_are_ignored() -> None:
    model, _ = fit_model(10, lambda t: 6.0 if (t // 120) % 2 else 3.0)
    prediction_before = model.predict(5.0, 600)[0]
    model.add(5.0, 100.0, -20.0)
    model.add(601.0, 5.0, None)
    assert model.predict(5.0, 600)[0] == pytest.approx(prediction_before, abs=0.5)
    assert ThermalModel().forecast(5.0, 80.0).minutes is None
