"""Predictions agree with an emulated board that runs inferences, has a queue, and measures times with its own timer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.build.prepare import prepare
from arenite.host.duty.events import Events, PeriodicEvents, PoissonEvents, RecordedEvents
from arenite.host.duty.model import queueing
from arenite.host.duty.on_board import DutyBoard, ObservedDuty, seconds_per_tick
from arenite.host.duty.queue_figures import Sleep
from arenite.host.duty.service import ServiceTimes
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

pytestmark = pytest.mark.qemu
TOLERANCE = 0.05
EVENTS = 1500


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DutyBoard]:
    """An emulated board with a small classifier, for all tests."""
    path = save(classifier(), tmp_path_factory.mktemp("duty") / "model.tflite")
    with DutyBoard(prepare(path), load_board("qemu_mps2_an386")) as duty_board:
        yield duty_board


@pytest.fixture(scope="module")
def service_s(device: DutyBoard) -> float:
    """The time of an inference on the board."""
    return device.service_s()


def lindley(arrivals: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Return the waits in an unlimited queue (Lindley's recursion)."""
    waits = np.zeros(len(arrivals))
    for k in range(1, len(arrivals)):
        waits[k] = max(0.0, waits[k - 1] + services[k - 1] - (arrivals[k] - arrivals[k - 1]))
    return waits


def recorded(rng: np.random.Generator, gap: float) -> RecordedEvents:
    """Return 700 events that come in bursts, like those of a door sensor, with the mean gap ``gap`` in seconds."""
    return RecordedEvents.recorded(np.cumsum(rng.gamma(0.5, gap / 0.5, 700)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "offered", "queue", "wake", "linger"),
    [
        ("poisson", 0.7, None, 0.0, 0.0),
        ("poisson", 1.1, 2, 0.0, 0.0),
        ("poisson", 0.4, 0, 0.5, 0.0),
        ("periodic", 0.8, None, 0.1, 0.0),
        ("trace", 0.5, 3, 0.3, 1.0),
    ],
)
def test_the_prediction_agrees_with_the_board(
    device: DutyBoard,
    service_s: float,
    kind: str,
    offered: float,
    queue: int | None,
    wake: float,
    linger: float,
) -> None:
    """The prediction uses the same arrivals, and the board's own times for an inference and for waking up."""
    rng = np.random.default_rng(3)
    gap = service_s / offered
    kinds: dict[str, Events] = {
        "poisson": PoissonEvents(1 / gap),
        "periodic": PeriodicEvents(gap),
        "trace": recorded(rng, gap),
    }
    events = kinds[kind]
    arrivals = events.arrivals(EVENTS, rng)
    observed = device.run(arrivals, 1, queue, Sleep(wake * service_s, linger * service_s))
    service = ServiceTimes.of(float(observed.services_s.mean()))
    # All inferences take the same number of instructions, except for events that arrive during an inference.
    assert observed.services_s.std() < 0.01 * service.mean_s
    # The overhead of waking up is under a hundredth of an inference.
    assert 0 <= observed.wake_s - wake * service_s < 0.01 * service_s
    recorded_events = RecordedEvents.recorded(arrivals, max(observed.seconds, float(arrivals[-1])))
    q = queueing(recorded_events, service, queue, Sleep(observed.wake_s, linger * service_s))
    assert q.utilization == pytest.approx(observed.utilization, rel=TOLERANCE)
    assert q.wait_mean_s == pytest.approx(observed.wait_mean_s, rel=TOLERANCE, abs=0.02 * service_s)
    assert q.dropped == pytest.approx(observed.dropped, rel=TOLERANCE, abs=0.0005)
    assert q.sleeping == pytest.approx(observed.shares["sleeping"], rel=TOLERANCE, abs=0.01)
    assert q.lingering == pytest.approx(observed.shares["lingering"], rel=TOLERANCE, abs=0.01)
    assert sum(observed.shares.values()) == pytest.approx(1)


@pytest.mark.slow
def test_the_formula_holds_for_a_board_with_two_kinds_of_events(device: DutyBoard, service_s: float) -> None:
    """An event takes one or three inferences, so the queue is M/G/1. The prediction is in the 95 % interval of the
    measured mean."""
    rng = np.random.default_rng(5)
    inferences = rng.choice([1, 3], 2500)
    rate = 0.6 / (2 * service_s)
    arrivals = PoissonEvents(rate).arrivals(2500, rng)
    observed = device.run(arrivals, inferences, None, Sleep())
    exact_waits = lindley(np.round(arrivals, 9), observed.services_s)
    # For each event, the board adds only the latency of detecting it.
    assert np.abs(observed.waits_s - exact_waits).max() < 0.02 * service_s
    means = [part.mean() for part in np.array_split(observed.waits_s[200:], 20)]
    # Student's t for 95 % and 19 degrees of freedom is 2.093.
    half_interval = 2.093 * np.std(means, ddof=1) / np.sqrt(20)
    q = queueing(PoissonEvents(rate), ServiceTimes.of([float(s) for s in observed.services_s]), None, Sleep())
    assert abs(q.wait_mean_s - np.mean(means)) < half_interval + 0.02 * service_s
    assert q.utilization == pytest.approx(observed.utilization, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qemu_microbit", "qemu_netduinoplus2", "qemu_riscv32"])
def test_the_prediction_agrees_with_other_boards(tmp_path: Path, name: str) -> None:
    """The prediction agrees on boards of other families with other timers. A board with little RAM stores fewer
    events."""
    prepared = prepare(save(classifier(), tmp_path / "model.tflite"))
    with DutyBoard(prepared, load_board(name)) as device:
        assert device.max_events >= (300 if name == "qemu_microbit" else 4000)
        service_s = device.service_s()
        arrivals = PoissonEvents(0.9 / service_s).arrivals(150, np.random.default_rng(2))
        observed = device.run(arrivals, 1, 2, Sleep(0.2 * service_s))
    service = ServiceTimes.of(float(observed.services_s.mean()))
    assert service.mean_s == pytest.approx(service_s, rel=0.02)
    recorded_events = RecordedEvents.recorded(arrivals, max(observed.seconds, float(arrivals[-1])))
    q = queueing(recorded_events, service, 2, Sleep(observed.wake_s))
    assert q.utilization == pytest.approx(observed.utilization, rel=TOLERANCE)
    assert q.wait_mean_s == pytest.approx(observed.wait_mean_s, rel=TOLERANCE)
    assert q.dropped == pytest.approx(observed.dropped, abs=1 / 150)


@pytest.mark.slow
def test_runs_are_reproducible(device: DutyBoard, service_s: float) -> None:
    """Virtual time does not depend on the load of this computer."""
    arrivals = PoissonEvents(0.8 / service_s).arrivals(300, np.random.default_rng(1))
    first, second = (device.run(arrivals, 1, 1, Sleep(service_s)) for _ in range(2))
    assert first.dropped == second.dropped
    assert np.abs(first.waits_s - second.waits_s).max() < 0.002 * service_s


def test_a_burst_fills_the_queue_and_the_other_events_are_dropped(
    device: DutyBoard, service_s: float
) -> None:
    """The queue has one place. One of five simultaneous events is served, one waits, and three are dropped. A later
    event is served at once."""
    arrivals = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 10.0]) * service_s
    observed: ObservedDuty = device.run(arrivals, 1, 1, Sleep())
    assert observed.dropped == pytest.approx(0.5)
    assert observed.waits_s == pytest.approx([0, service_s, 0], abs=0.02 * service_s)
    assert observed.wakes == 2


def test_impossible_arrivals_raise_an_error(device: DutyBoard) -> None:
    with pytest.raises(UsageError, match="at most 172 s apart"):
        device.run([1.0, 1000.0], 1, None, Sleep())
    with pytest.raises(UsageError, match="in order"):
        device.run([2.0, 1.0], 1, None, Sleep())
    with pytest.raises(UsageError, match="events; the board can store 1 to"):
        device.run([], 1, None, Sleep())
    with pytest.raises(UsageError, match="real board"):
        seconds_per_tick(load_board("nucleo_l4r5zi"))
