"""``predict``: the energies of all states add up, the JSON is valid, and errors name the value."""

from __future__ import annotations

import json

import pytest

from arenite.errors import ProfileError, UsageError
from arenite.host.duty.battery import Regulator
from arenite.host.duty.events import PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.model import SCHEMA, PowerStates, predict

POWER = PowerStates(sleep_w=10e-6, active_w=30e-3, wake_s=0.01, wake_j=1e-4, enter_j=2e-5)


def test_the_energy_of_a_periodic_cycle_is_the_sum_of_its_states() -> None:
    prediction = predict(PeriodicEvents(10.0), 0.1, None, POWER, "cr2032")
    # In 10 s the device sleeps for 9.89 s, computes for 0.1 s, and needs 0.12 mJ to wake up and to fall asleep.
    watts = (10e-6 * 9.89 + 30e-3 * 0.1 + 1.2e-4) / 10
    assert prediction.power_w == pytest.approx(watts, rel=1e-6)
    assert prediction.power_w == pytest.approx(sum(prediction.parts_w.values()))
    assert prediction.energy_per_event_j == pytest.approx(10 * watts, rel=1e-6)
    assert prediction.life is not None and 15 < prediction.life.days < 100


def test_lingering_saves_energy_if_waking_is_expensive() -> None:
    without_linger = PowerStates(1e-5, 0.03, wake_s=0.02, wake_j=5e-3)
    with_linger = PowerStates(1e-5, 0.03, wake_s=0.02, wake_j=5e-3, linger_s=0.5, linger_w=1e-3)
    assert (
        predict(PoissonEvents(5.0), 0.01, None, with_linger).power_w
        < predict(PoissonEvents(5.0), 0.01, None, without_linger).power_w
    )


def test_json_is_complete_and_valid() -> None:
    for events in (PoissonEvents(2.0), PeriodicEvents(0.5), RecordedEvents.recorded([0.1, 0.2, 0.9, 4.0])):
        prediction = predict(
            events, [0.1, 0.12, 0.2], 2, POWER, "lipo_500", regulator=Regulator("switching", 1.8)
        )
        data = json.loads(json.dumps(prediction.as_json(), allow_nan=False))
        assert data["schema"] == SCHEMA and data["kind"] == "estimated"
        assert set(data["wait_s"]) == {"mean", "p50", "p90", "p95", "p99"}
        assert sum(data["shares"].values()) == pytest.approx(1, abs=1e-3)
        assert data["battery"]["name"] == "lipo_500" and data["battery"]["life_days"] > 0
    never_starting = predict(
        PoissonEvents(1.0), 0.1, None, PowerStates(1e-6, 2.0), "cr2032", regulator=Regulator("switching", 3.3)
    )
    data = json.loads(json.dumps(never_starting.as_json(), allow_nan=False))
    assert data["battery"]["life_s"] == 0 and data["battery"]["peak_ma"] is None and data["warnings"]


def test_dropped_events_add_a_warning() -> None:
    prediction = predict(PoissonEvents(20.0), 0.1, 1, POWER)
    assert prediction.life is None and any("dropped" in w for w in prediction.warnings)


def test_errors_name_the_value() -> None:
    with pytest.raises(UsageError, match="exchanged"):
        PowerStates(sleep_w=1.0, active_w=0.1)
    with pytest.raises(UsageError, match="peak power of"):
        PowerStates(sleep_w=0.0, active_w=0.1, peak_w=0.05)
    with pytest.raises(UsageError, match="time to wake"):
        PowerStates(sleep_w=0.0, active_w=0.1, wake_s=-1)
    with pytest.raises(UsageError, match="service times are not seconds"):
        predict(PoissonEvents(1.0), "0.1", None, POWER)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"-1"):
        predict(PoissonEvents(1.0), 0.1, -1, POWER)
    with pytest.raises(UsageError, match="percentile"):
        predict(PoissonEvents(1.0), 0.1, None, POWER, percentiles=(101,))
    with pytest.raises(UsageError, match="PeriodicEvents, PoissonEvents or RecordedEvents"):
        predict(3.0, 0.1, None, POWER)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot keep up"):
        predict(PoissonEvents(20.0), 0.1, None, POWER)
    with pytest.raises(ProfileError, match="cr2032"):
        predict(PoissonEvents(1.0), 0.1, None, POWER, "cr2023")
