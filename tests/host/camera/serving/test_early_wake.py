"""Tests of the early wake-up: shortly before a frame is due, the thread wakes up, runs the model once on old data, and
polls the camera. No test depends on how fast the machine is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.serving.early_wake import EarlyWake
from arenite.host.camera.serving.early_wake_pause import BLAME_S, HOLD_S, EarlyWakePause
from arenite.host.camera.sources.base import EndOfSource, SourceCounters
from arenite.host.camera.sources.paced import PacedSource
from arenite.host.camera.sources.synthetic import SyntheticPattern
from arenite.host.camera.supervisor import CpuLoad
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Limits
from arenite.host.governor.levers import fps_lever

FORMAT = Format("rgb", 16, 16, (48,), 20.0)
#: The time after which a test gives up waiting.
LIMIT_S = 60.0


class RecordedReads:
    """A source that passes on the frames of a live source, and records the time-outs of the reads."""

    live = True
    name = "recorded"

    def __init__(self, fps: float = 20.0) -> None:
        self.inner = PacedSource(SyntheticPattern("rgb", 32, 32, fps))
        self.counters = self.inner.counters
        self.timeouts: list[float] = []
        self.inner.open()

    def open(self) -> Format:
        return FORMAT

    def read(self, timeout_s: float) -> Frame | None:
        self.timeouts.append(timeout_s)
        return self.inner.read(timeout_s)

    def set_rate(self, fps: float) -> float:
        return self.inner.set_rate(fps)

    def close(self) -> None:
        self.inner.close()


class ScriptedSource:
    """A source that returns the frames of a list after a short wait, then nothing."""

    live = True
    name = "scripted"

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = list(frames)
        self.counters = SourceCounters()
        self.timeouts: list[float] = []

    def open(self) -> Format:
        return FORMAT

    def read(self, timeout_s: float) -> Frame | None:
        self.timeouts.append(timeout_s)
        if not self.frames:
            time.sleep(timeout_s)
            return None
        time.sleep(0.001)
        return self.frames.pop(0)

    def set_rate(self, fps: float) -> float:
        return fps

    def close(self) -> None:
        pass


def frame_at(time_ns: int, missed: int = 0, source: int = 0, stand_in: bool = False) -> Frame:
    """Return a frame with a time stamp. ``missed`` frames before it were lost."""
    return Frame(FORMAT, (0,), None, 0, time_ns, source=source, missed=missed, stand_in=stand_in)


def read_until_polled(reader: EarlyWake) -> list[Frame]:
    """Read frames until two of them arrived while the thread polled. A busy machine can delay this."""
    frames: list[Frame] = []
    end = time.monotonic() + LIMIT_S
    while reader.awake < 2:
        assert time.monotonic() < end, "no frame arrived while the thread polled"
        frame = reader.read(1.0)
        assert frame is not None
        assert time.monotonic_ns() >= frame.time_ns, "a frame cannot arrive before it is due"
        frames.append(frame)
    return frames


@pytest.mark.parametrize("nap_s", [0.0, 0.0001])
def test_frames_arrive_after_they_are_due_and_none_is_lost(nap_s: float) -> None:
    source = RecordedReads()
    reader = EarlyWake(source, 0.03, nap_s=nap_s)
    frames = read_until_polled(reader)
    assert 0.0 in source.timeouts, "the thread polled"
    numbers = [frame.sequence for frame in frames]
    assert numbers == sorted(set(numbers)) and numbers[0] == 0
    assert reader.frames == len(frames)
    assert sum(frame.missed + 1 for frame in frames) == numbers[-1] + 1 == source.counters.captured


def test_the_arrival_is_found_if_the_source_decodes_frames() -> None:
    class DecodingSource(RecordedReads):
        def read(self, timeout_s: float) -> Frame | None:
            frame = super().read(timeout_s)
            if frame is not None:
                time.sleep(0.008)  # reads end 8 ms after the arrival, but polling begins only 2 ms before it
            return frame

    read_until_polled(EarlyWake(DecodingSource(), 0.002))


def test_the_model_runs_before_a_frame() -> None:
    source = RecordedReads()
    runs: list[int] = []
    reader = EarlyWake(source, 0.02, lambda: runs.append(time.monotonic_ns()))
    frames = read_until_polled(reader)
    assert len(runs) == reader.warmed > 0
    assert all(any(run < frame.time_ns for frame in frames) for run in runs), "the runs are between frames"
    assert reader.warmed <= len(frames), "at most one run for each frame"


def test_a_model_that_takes_too_long_does_not_run_before_frames() -> None:
    source = RecordedReads(fps=100)
    reader = EarlyWake(source, 0.0, lambda: time.sleep(0.02))
    end = time.monotonic() + LIMIT_S
    while not reader.warmed and time.monotonic() < end:
        reader.read(1.0)
    for _ in range(10):
        reader.read(1.0)
    assert reader.warmed == 1


def test_a_paused_thread_neither_polls_nor_runs_the_model() -> None:
    source = RecordedReads()
    reader = EarlyWake(source, 0.03, lambda: pytest.fail("the model ran"))
    reader.paused = True
    for _ in range(6):
        assert reader.read(1.0) is not None
    assert 0.0 not in source.timeouts
    assert reader.cpu_ns == reader.awake == reader.warmed == 0
    assert reader.to_json() | {"frames": 6, "cpu_ms_per_frame": 0.0, "paused": True} == reader.to_json()


def test_processor_time_of_polling_is_counted_and_part_of_the_load(tmp_path: Path) -> None:
    began = time.monotonic()
    load = CpuLoad(tmp_path)  # without /proc/stat, this is the load of this process
    thread_began = time.thread_time_ns()
    reader = EarlyWake(RecordedReads(), 0.04)
    end = time.monotonic() + LIMIT_S
    while reader.cpu_ns < 200_000_000 and time.monotonic() < end:
        reader.read(1.0)
    assert 200_000_000 <= reader.cpu_ns <= time.thread_time_ns() - thread_began
    assert reader.to_json()["cpu_ms_per_frame"] == pytest.approx(
        reader.cpu_ns / 1e6 / reader.frames, abs=1e-3
    )
    cores, seconds = load.read(), time.monotonic() - began
    # The load has a resolution of 10 ms.
    assert cores * seconds >= reader.cpu_ns / 1e9 - 0.05


def test_the_next_frame_is_predicted_from_the_time_stamps() -> None:
    begin = time.monotonic_ns()
    second = 1_000_000_000
    frames = [
        frame_at(begin),
        frame_at(begin + second // 10),
        frame_at(begin + 3 * second // 10, missed=1),
        frame_at(begin + 3 * second // 10, source=1),
        frame_at(begin + 3 * second // 10, stand_in=True),
        frame_at(begin + 4 * second // 10),
    ]
    source = ScriptedSource(frames)
    reader = EarlyWake(source, 0.001)
    assert reader.forecast.due_ns == 0
    for frame in frames:
        assert reader.read(0.0) is frame
    # All frames were read before their time stamps, except the first one, which was at least 1 ms late.
    lag = reader.forecast.due_ns - (begin + second // 2)
    assert 0 <= lag < time.monotonic_ns() - begin


def test_a_new_rate_is_noticed_at_the_next_frame() -> None:
    begin = time.monotonic_ns()
    times = [0, 10, 20, 30, 130]  # in milliseconds: first 100, then 10 frames per second
    source = ScriptedSource([frame_at(begin + ms * 1_000_000) for ms in times])
    reader = EarlyWake(source, 0.0)
    for _ in times:
        reader.read(0.0)
    assert reader.forecast.due_ns >= begin + 230_000_000


def test_polling_ends_if_the_frame_does_not_arrive() -> None:
    begin = time.monotonic_ns()
    frames = [frame_at(begin - 60_000_000), frame_at(begin - 30_000_000), frame_at(begin)]
    source = ScriptedSource(frames)
    reader = EarlyWake(source, 0.005)
    for _ in frames:
        reader.read(1.0)
    source.timeouts.clear()
    assert reader.read(0.2) is None
    assert reader.awake == 0
    assert source.timeouts[-1] > 0, "the thread sleeps again after polling"
    assert time.monotonic_ns() - begin >= 200_000_000


def test_the_end_of_a_source_is_raised() -> None:
    class Ended(ScriptedSource):
        def read(self, timeout_s: float) -> Frame | None:
            raise EndOfSource

    with pytest.raises(EndOfSource):
        EarlyWake(Ended([]), 0.01).read(1.0)


# The pause: near a limit of power or temperature, the thread does not wake up early.


class Clock:
    """A clock that the tests set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def _pause(has_limits: bool = False) -> tuple[EarlyWake, EarlyWakePause, Clock]:
    """Return a reader, its pause and the clock of the pause. ``has_limits`` says whether the run has a budget."""
    reader, clock = EarlyWake(ScriptedSource([]), 0.001), Clock()
    return reader, EarlyWakePause(reader, has_limits, clock), clock


#: States of a governor that runs at full quality, and of one that lowered the frame rate.
FULL = {"governor": {"levels": [{"lever": "fps", "level": 0}], "note": ""}}
LOWERED = {"governor": {"levels": [{"lever": "fps", "level": 3}], "note": ""}}


def test_without_a_budget_there_is_no_pause() -> None:
    reader, pause, _ = _pause()
    assert not reader.paused
    pause.update({"temperature": {"value": 80.0, "trip": None}, "governor": None})
    assert not reader.paused


def test_with_a_budget_the_pause_ends_after_a_time_at_full_quality() -> None:
    reader, pause, clock = _pause(has_limits=True)
    pause.update({})
    assert reader.paused
    clock.seconds += HOLD_S - 1
    pause.update(FULL)
    assert reader.paused
    clock.seconds += 1
    pause.update(FULL)
    assert not reader.paused


@pytest.mark.parametrize(
    "state",
    [
        LOWERED,
        {"governor": {"levels": [], "note": "no setting keeps the limits"}},
        {"temperature": {"value": 92.5, "trip": 95.0}},
    ],
)
def test_a_limit_begins_the_pause_at_once(state: dict) -> None:
    reader, pause, clock = _pause()
    pause.update(state)
    assert reader.paused
    clock.seconds += 10 * HOLD_S
    pause.update(state)
    assert reader.paused
    pause.update(FULL)
    assert reader.paused, "the pause lasts until the quality was full for some time"


def test_the_pause_doubles_if_the_early_wake_up_may_be_the_cause() -> None:
    reader, pause, clock = _pause(has_limits=True)

    def seconds_until_resumed() -> float:
        began = clock.seconds
        while reader.paused:
            pause.update(FULL)
            clock.seconds += 0.5
        return clock.seconds - began

    first = seconds_until_resumed()
    pause.update(LOWERED)
    assert seconds_until_resumed() == pytest.approx(2 * first, abs=1)
    clock.seconds += BLAME_S
    pause.update(LOWERED)
    assert seconds_until_resumed() == pytest.approx(2 * first, abs=1), "a later limit has another cause"


def test_a_governor_that_begins_at_a_low_rate_begins_a_pause() -> None:
    reader, pause, _ = _pause()
    lever = fps_lever(30.0, lambda rate: None, 1.0)
    governor = Governor(Limits(power_w=2.0), [lever], idle_w=1.0, max_w=10.0)
    assert governor.begin() and lever.level > 0
    pause.update({"governor": governor.state()})
    assert reader.paused
