"""Tests of ``ReconnectingSource`` with a simulated clock: a camera is lost and opened again."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.sources import reconnect
from arenite.host.camera.sources.base import EndOfSource, SourceCounters, SourceLost
from arenite.host.camera.sources.reconnect import ReconnectingSource

SMALL, LARGE = (Format("grey", n, n, (n,), 30.0) for n in (2, 4))


class Clock:
    """A clock that advances only in ``sleep``."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Script:
    """A source whose ``open`` and ``read`` follow two lists. In ``opens``, a format is returned and an exception is
    raised. In ``reads``, a number is a frame, None is a timeout, and an exception is raised."""

    name, live = "script", True

    def __init__(self, clock: Clock, opens: list[object], reads: list[object]) -> None:
        self.counters = SourceCounters()
        self.opens, self.reads, self.clock = opens, reads, clock
        self.times: list[float] = []
        self.rates: list[float] = []
        self.closed = 0

    def open(self) -> Format:
        self.times.append(self.clock.now)
        outcome = self.opens.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, Format)
        self.format = outcome
        return outcome

    def read(self, timeout_s: float) -> Frame | None:
        outcome = self.reads.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            self.clock.sleep(timeout_s)
            return None
        self.counters.captured += 1
        memory = np.zeros(16, np.uint8)
        assert isinstance(outcome, int)
        return Frame(self.format, (memory.ctypes.data,), memory, outcome, 0)

    def set_rate(self, fps: float) -> float:
        self.rates.append(fps)
        return fps

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The simulated clock of the reconnecting source."""
    simulated_clock = Clock()
    monkeypatch.setattr(reconnect, "time", simulated_clock)
    return simulated_clock


def lost_camera() -> SourceLost:
    """Return the error of a camera that was unplugged."""
    return SourceLost("The camera is gone.", "Plug it in.")


def until(
    source: ReconnectingSource, condition: Callable[[], bool], limit: int = 10_000
) -> list[Frame | None]:
    """Read from the source until ``condition()`` is true. Return the frames, and None for each timeout."""
    frames: list[Frame | None] = []
    for _ in range(limit):
        if condition():
            return frames
        frames.append(source.read(0.1))
    raise AssertionError("the condition was never met")


def test_wait_times_double_up_to_a_limit(clock: Clock) -> None:
    script = Script(clock, [SMALL, *[lost_camera() for _ in range(12)], SMALL], [0, lost_camera(), 1])
    messages: list[str] = []
    source = ReconnectingSource(script, on_message=messages.append, first_s=0.25, max_s=8.0, seed=1)
    source.open()
    until(source, lambda: script.counters.reconnects == 1)
    waits = np.diff(script.times[1:])
    doubled = np.minimum(0.25 * 2.0 ** np.arange(1, 13), 8.0)
    assert (np.abs(waits / doubled - 1) <= 0.25 + 1e-9).all()
    assert len(set(np.round(waits / doubled, 6))) > 6  # the cameras of a bus do not retry at the same time
    assert [line.split(".")[0] for line in messages] == ["The camera is gone", "script is back"]
    assert (source.counters.captured, source.counters.reconnects) == (2, 1)


def test_each_loss_begins_with_a_short_wait(clock: Clock) -> None:
    script = Script(
        clock, [SMALL, lost_camera(), lost_camera(), SMALL, SMALL], [0, lost_camera(), 1, lost_camera(), 2]
    )
    source = ReconnectingSource(script, first_s=0.25, seed=0)
    source.open()
    until(source, lambda: script.counters.reconnects == 2)
    assert script.times[-1] - script.times[-2] < 0.6


def test_read_respects_its_timeout(clock: Clock) -> None:
    script = Script(clock, [SMALL, *[lost_camera() for _ in range(50)]], [lost_camera()])
    source = ReconnectingSource(script, seed=0)
    source.open()
    assert source.read(0.1) is None
    for _ in range(200):
        start = clock.now
        assert source.read(0.1) is None
        assert clock.now - start <= 0.1 + 1e-9


def test_after_reconnecting_format_and_rate_are_updated(clock: Clock) -> None:
    script = Script(clock, [SMALL, LARGE], [0, lost_camera(), 1])
    messages: list[str] = []
    source = ReconnectingSource(script, on_message=messages.append, seed=0)
    source.open()
    assert source.set_rate(12.0) == 12.0
    frames = [frame for frame in until(source, lambda: not script.reads) if frame]
    assert [frame.format for frame in frames] == [SMALL, LARGE]
    assert script.rates == [12.0, 12.0]
    assert messages[-1] == "script is back with grey 4x4."


def test_a_rate_set_while_disconnected_is_applied_later(clock: Clock) -> None:
    script = Script(clock, [SMALL, SMALL], [lost_camera(), 0])
    source = ReconnectingSource(script, seed=0)
    source.open()
    source.read(0)
    assert source.set_rate(7.0) == 7.0 and script.rates == []
    until(source, lambda: not script.reads)
    assert script.rates == [7.0]


def test_a_silent_camera_is_reopened(clock: Clock) -> None:
    script = Script(clock, [SMALL, SMALL], [0, *[None] * 60, 1])
    source = ReconnectingSource(script, silent_s=5.0, seed=0)
    source.open()
    until(source, lambda: script.counters.reconnects == 1)
    assert script.times[1] - script.times[0] == pytest.approx(5.0, abs=0.6)
    # The new connection has the same time limit.
    assert source.read(0.1) is None or not script.reads


def test_an_error_at_the_first_open_is_raised(clock: Clock) -> None:
    for error in (lost_camera(), UsageError("No such camera.", "Look.")):
        with pytest.raises(type(error)):
            ReconnectingSource(Script(clock, [error], [])).open()


def test_while_disconnected_every_error_is_retried(clock: Clock) -> None:
    """A device can exist before its permissions are set."""
    script = Script(clock, [SMALL, UsageError("You may not.", ""), SMALL], [lost_camera(), 0])
    source = ReconnectingSource(script, seed=0)
    source.open()
    until(source, lambda: script.counters.reconnects == 1)


def test_the_end_of_a_source_is_raised(clock: Clock) -> None:
    source = ReconnectingSource(Script(clock, [SMALL], [EndOfSource("x")]))
    source.open()
    with pytest.raises(EndOfSource):
        source.read(0)
    assert time.monotonic() != clock.now  # the clock was replaced only for the source
