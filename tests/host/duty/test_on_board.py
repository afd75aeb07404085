"""Predictions against an emulated board: real inferences, a real queue, the board's own counter."""

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
WITHIN = 0.05
EVENTS = 1500


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DutyBoard]:
    path = save(classifier(), tmp_path_factory.mktemp("duty") / "model.tflite")
    with DutyBoard(prepare(path), load_board("qemu_mps2_an386")) as found:
        yield found


@pytest.fixture(scope="module")
def service_s(device: DutyBoard) -> float:
    return device.service_s()


def lindley(arrivals: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Waits of an endless queue: a recursion of one line, to check the board by."""
    waits = np.zeros(len(arrivals))
    for k in range(1, len(arrivals)):
        waits[k] = max(0.0, waits[k - 1] + services[k - 1] - (arrivals[k] - arrivals[k - 1]))
    return waits


def recorded(rng: np.random.Generator, gap: float) -> RecordedEvents:
    """Bursts, as a door's sensor gives them."""
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
def test_the_prediction_is_what_the_board_does(
    device: DutyBoard,
    service_s: float,
    kind: str,
    offered: float,
    queue: int | None,
    wake: float,
    linger: float,
) -> None:
    """The same arrivals, with the times that the board itself took for an inference and for waking."""
    rng = np.random.default_rng(3)
    gap = service_s / offered
    kinds: dict[str, Events] = {
        "poisson": PoissonEvents(1 / gap),
        "periodic": PeriodicEvents(gap),
        "trace": recorded(rng, gap),
    }
    events = kinds[kind]
    arrivals = events.arrivals(EVENTS, rng)
    seen = device.run(arrivals, 1, queue, Sleep(wake * service_s, linger * service_s))
    service = ServiceTimes.of(float(seen.services_s.mean()))
    # Every inference of the same network takes the same instructions, but for the events that came meanwhile.
    assert seen.services_s.std() < 0.01 * service.mean_s
    # Bookkeeping of a waking is under a hundredth of an inference.
    assert 0 <= seen.wake_s - wake * service_s < 0.01 * service_s
    same = RecordedEvents.recorded(arrivals, max(seen.seconds, float(arrivals[-1])))
    q = queueing(same, service, queue, Sleep(seen.wake_s, linger * service_s))
    assert q.utilisation == pytest.approx(seen.utilisation, rel=WITHIN)
    assert q.wait_mean_s == pytest.approx(seen.wait_mean_s, rel=WITHIN, abs=0.02 * service_s)
    assert q.dropped == pytest.approx(seen.dropped, rel=WITHIN, abs=0.0005)
    assert q.sleeping == pytest.approx(seen.shares["sleeping"], rel=WITHIN, abs=0.01)
    assert q.lingering == pytest.approx(seen.shares["lingering"], rel=WITHIN, abs=0.01)
    assert sum(seen.shares.values()) == pytest.approx(1)


@pytest.mark.slow
def test_the_formula_holds_for_a_board_with_two_kinds_of_events(device: DutyBoard, service_s: float) -> None:
    """M/G/1: an event takes one or three inferences. Within the 95 % interval of the board's own mean wait."""
    rng = np.random.default_rng(5)
    asked = rng.choice([1, 3], 2500)
    rate = 0.6 / (2 * service_s)
    arrivals = PoissonEvents(rate).arrivals(2500, rng)
    seen = device.run(arrivals, asked, None, Sleep())
    exact = lindley(np.round(arrivals, 9), seen.services_s)
    # Event by event: the latency of noticing an event is all that the board adds.
    assert np.abs(seen.waits_s - exact).max() < 0.02 * service_s
    means = [part.mean() for part in np.array_split(seen.waits_s[200:], 20)]
    half = 2.093 * np.std(means, ddof=1) / np.sqrt(20)
    q = queueing(PoissonEvents(rate), ServiceTimes.of([float(s) for s in seen.services_s]), None, Sleep())
    assert abs(q.wait_mean_s - np.mean(means)) < half + 0.02 * service_s
    assert q.utilisation == pytest.approx(seen.utilisation, rel=WITHIN)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qemu_microbit", "qemu_netduinoplus2", "qemu_riscv32"])
def test_other_boards_do_it_too(tmp_path: Path, name: str) -> None:
    """Every family of ports, whatever its counter counts; a small RAM has room for fewer events."""
    prepared = prepare(save(classifier(), tmp_path / "model.tflite"))
    with DutyBoard(prepared, load_board(name)) as device:
        assert device.max_events >= (300 if name == "qemu_microbit" else 4000)
        service_s = device.service_s()
        arrivals = PoissonEvents(0.9 / service_s).arrivals(150, np.random.default_rng(2))
        seen = device.run(arrivals, 1, 2, Sleep(0.2 * service_s))
    service = ServiceTimes.of(float(seen.services_s.mean()))
    assert service.mean_s == pytest.approx(service_s, rel=0.02)
    same = RecordedEvents.recorded(arrivals, max(seen.seconds, float(arrivals[-1])))
    q = queueing(same, service, 2, Sleep(seen.wake_s))
    assert q.utilisation == pytest.approx(seen.utilisation, rel=WITHIN)
    assert q.wait_mean_s == pytest.approx(seen.wait_mean_s, rel=WITHIN)
    assert q.dropped == pytest.approx(seen.dropped, abs=1 / 150)


def test_a_run_is_the_same_every_time(device: DutyBoard, service_s: float) -> None:
    """Virtual time does not know how busy this computer is."""
    arrivals = PoissonEvents(0.8 / service_s).arrivals(300, np.random.default_rng(1))
    first, second = (device.run(arrivals, 1, 1, Sleep(service_s)) for _ in range(2))
    assert first.dropped == second.dropped
    assert np.abs(first.waits_s - second.waits_s).max() < 0.002 * service_s


def test_drops_are_those_of_a_queue_counted_by_hand(device: DutyBoard, service_s: float) -> None:
    """Five at once, one place: the first is served, the second waits, three are dropped; a later one finds it free."""
    at = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 10.0]) * service_s
    seen: ObservedDuty = device.run(at, 1, 1, Sleep())
    assert seen.dropped == pytest.approx(0.5)
    assert seen.waits_s == pytest.approx([0, service_s, 0], abs=0.02 * service_s)
    assert seen.wakes == 2


def test_what_the_counter_cannot_hold_is_refused(device: DutyBoard) -> None:
    with pytest.raises(UsageError, match="at most 172 s apart"):
        device.run([1.0, 1000.0], 1, None, Sleep())
    with pytest.raises(UsageError, match="in order"):
        device.run([2.0, 1.0], 1, None, Sleep())
    with pytest.raises(UsageError, match="events; the board can store 1 to"):
        device.run([], 1, None, Sleep())
    with pytest.raises(UsageError, match="real board"):
        seconds_per_tick(load_board("nucleo_l4r5zi"))
