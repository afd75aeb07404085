"""Tests of ``FrameSets``, which reads several cameras in threads and returns sets of frames of the same time."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.several.frame_set_assembler import FrameSet
from arenite.host.camera.several.frame_sets import FrameSets
from arenite.host.camera.sources.base import EndOfSource, SourceLost
from arenite.host.camera.sources.paced import PacedSource
from arenite.host.camera.sources.synthetic import SyntheticPattern

FPS = 30
PERIOD_S = 1 / FPS


class Camera(PacedSource):
    """A synthetic camera that tests can make stall, fail or end. ``lent`` counts the frames that were read, and
    ``held`` has the numbers of the frames that are not released."""

    def __init__(self, start_ns: int | None = None) -> None:
        """``start_ns`` is the time at which the first picture is due, or None for the time of the first read."""
        super().__init__(SyntheticPattern("grey", 64, 48, FPS), live=True)
        self._start_ns = start_ns
        self.lent = 0
        self.held: set[int] = set()
        self.opened = 0
        self.stall = threading.Event()
        self.lose = threading.Event()
        self.fail: Exception | None = None
        self.end_after = 10**9

    def open(self) -> Format:
        self.opened += 1
        format = super().open()
        self._pace._start = self._start_ns
        return format

    def read(self, timeout_s: float) -> Frame | None:
        if self.lose.is_set():
            self.lose.clear()
            raise SourceLost("The camera went away.")
        if self.fail is not None:
            raise self.fail
        if self.stall.is_set():
            time.sleep(0.01)
            return None
        if self.lent >= self.end_after:
            raise EndOfSource
        frame = super().read(timeout_s)
        if frame is None:
            return None
        number = self.lent
        self.lent += 1
        self.held.add(number)
        return Frame(
            frame.format,
            frame.planes,
            frame,
            frame.sequence,
            frame.time_ns,
            lambda: self.held.remove(number),
            missed=frame.missed,
        )


def take(sets: FrameSets, count: int) -> list[FrameSet]:
    """Take ``count`` sets, release each set at once and return them. Their times and flags stay valid."""
    frame_sets: list[FrameSet] = []
    while len(frame_sets) < count:
        frame_set = sets.next(60.0)
        assert frame_set is not None
        frame_set.release()
        frame_sets.append(frame_set)
    return frame_sets


@pytest.mark.slow
def test_six_cameras_deliver_sets_although_two_stall() -> None:
    """Six cameras deliver 30 frames per second. Two of these cameras stall, one after the other, and recover."""
    # The cameras start 2 ms apart. Without fixed start times, threads on a busy machine would start too far apart.
    start_ns = time.monotonic_ns()
    cameras = [Camera(start_ns + 2_000_000 * index) for index in range(6)]
    sets = FrameSets(cameras, jitter_s=PERIOD_S / 2, timeout_s=PERIOD_S)
    sets.open()
    all_sets = take(sets, 15)
    for index in (2, 5):
        cameras[index].stall.set()
        stalled = take(sets, 12)
        # A frame may still arrive after the stall. Later sets repeat the last frame of this camera.
        assert not stalled[-1].fresh[index]
        assert stalled[-1].frames[index] is not None
        cameras[index].stall.clear()
        all_sets += stalled
        recovered = take(sets, 25)
        assert any(frame_set.fresh[index] for frame_set in recovered)
        all_sets += recovered
    sets.close()
    for earlier, later in pairwise(all_sets):
        assert later.time_ns > earlier.time_ns + earlier.span_ns
    for frame_set in all_sets:
        assert frame_set.span_ns <= PERIOD_S / 2 * 1e9
    assert any(frame_set.complete for frame_set in all_sets)
    for index, (camera, counters) in enumerate(zip(cameras, sets.to_json(), strict=True)):
        assert not camera.held, "every buffer was released"
        assert counters["arrived"] == camera.lent
        assert counters["used"] == sum(frame_set.fresh[index] for frame_set in all_sets)
        if index in (2, 5):
            assert counters["stood_in"] >= 10


def test_a_slow_loop_gets_the_newest_set() -> None:
    cameras = [Camera() for _ in range(3)]
    sets = FrameSets(cameras, jitter_s=PERIOD_S / 2, timeout_s=PERIOD_S)
    sets.open()
    times = []
    for _ in range(4):
        frame_set = sets.next(60.0)
        assert frame_set is not None
        time.sleep(0.2)
        assert all(len(camera.held) <= 4 for camera in cameras)
        times.append(frame_set.time_ns)
        frame_set.release()
    sets.close()
    assert all(later - earlier >= 100_000_000 for earlier, later in pairwise(times))
    assert all(not camera.held for camera in cameras)


@pytest.mark.slow
def test_a_lost_camera_is_opened_again() -> None:
    cameras = [Camera() for _ in range(2)]
    sets = FrameSets(cameras, jitter_s=PERIOD_S / 2, timeout_s=PERIOD_S)
    sets.open()
    take(sets, 5)
    cameras[1].lose.set()
    during = take(sets, 60)
    sets.close()
    assert cameras[1].opened == 2
    assert cameras[1].counters.reconnects == sets.to_json()[1]["reconnects"] == 1
    assert any(not frame_set.fresh[1] for frame_set in during)
    assert any(frame_set.fresh[1] for frame_set in during[-20:])


def test_the_sets_end_with_the_last_recording() -> None:
    cameras = [Camera() for _ in range(2)]
    for camera, frames in zip(cameras, (5, 12), strict=True):
        camera.end_after = frames
    sets = FrameSets(cameras, jitter_s=PERIOD_S / 2, timeout_s=PERIOD_S)
    sets.open()
    count = 0
    with pytest.raises(EndOfSource):
        while True:
            frame_set = sets.next(60.0)
            assert frame_set is not None
            frame_set.release()
            count += 1
    sets.close()
    assert 0 < count <= 17  # the cameras deliver 5 and 12 frames
    assert cameras[1].lent == 12
    assert not cameras[0].held | cameras[1].held


def test_an_error_that_is_not_a_lost_camera_is_raised() -> None:
    cameras = [Camera() for _ in range(2)]
    cameras[0].fail = DeviceError("The camera speaks another language.")
    sets = FrameSets(cameras, jitter_s=0.01, timeout_s=PERIOD_S)
    sets.open()
    with pytest.raises(DeviceError, match="another language"):
        for _ in range(1000):
            frame_set = sets.next(60.0)
            assert frame_set is not None
            frame_set.release()
    sets.close()


def test_without_frames_next_returns_none() -> None:
    camera = Camera()
    camera.stall.set()
    sets = FrameSets([camera], jitter_s=0.0, timeout_s=PERIOD_S)
    sets.open()
    assert sets.next(0.05) is None
    sets.close()


def test_a_source_that_does_not_open_closes_the_others() -> None:
    class Broken(Camera):
        def open(self) -> Format:
            raise UsageError("There is no such camera.")

    working = Camera()
    sets = FrameSets([working, Broken()], jitter_s=0.0, timeout_s=PERIOD_S)
    with pytest.raises(UsageError, match="no such camera"):
        sets.open()
    assert working._format is None


@pytest.mark.parametrize(("cameras", "jitter", "timeout"), [(0, 0.0, 1.0), (1, -1.0, 1.0), (1, 0.0, 0.0)])
def test_invalid_arguments_raise_an_error(cameras: int, jitter: float, timeout: float) -> None:
    with pytest.raises(UsageError):
        FrameSets([Camera() for _ in range(cameras)], jitter, timeout)
