"""Tests of ``FrameSetAssembler``: which frames form a set, when a set is returned, and that each frame is released
once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.several.frame_set_assembler import FrameSet, FrameSetAssembler
from tests.example_count import example_count

FORMAT = Format("grey", 2, 2, (2,))
MS = 1_000_000  # nanoseconds


class FrameFactory:
    """Makes frames of virtual cameras and counts in ``releases`` how often each frame was released."""

    def __init__(self) -> None:
        self.releases: dict[tuple[int, int], int] = {}

    def frame(self, camera: int, time_ns: int) -> Frame:
        key = (camera, len(self.releases))
        self.releases[key] = 0

        def release() -> None:
            self.releases[key] += 1

        return Frame(FORMAT, (0,), None, key[1], time_ns, release, source=camera)

    def all_released_once(self) -> bool:
        return all(count == 1 for count in self.releases.values())


class Rig:
    """A ``FrameSetAssembler`` with virtual cameras. All times are in ms. Up to ``depth`` frames of a camera wait.

    ``take`` releases the set that it took. It returns the capture time of each frame, or None for a camera without a
    frame, and the flags that say which frames are new. It returns None if there is no set."""

    def __init__(self, cameras: int, jitter: int, timeout: int, depth: int = 2) -> None:
        self.factory = FrameFactory()
        self.assembler = FrameSetAssembler(cameras, jitter * MS, timeout * MS, depth)

    def add_frame(self, camera: int, captured: int, now: int | None = None) -> None:
        now_ms = captured if now is None else now
        self.assembler.add_frame(camera, self.factory.frame(camera, captured * MS), now_ms * MS)

    def take(self, now: int) -> tuple[list[int | None], tuple[bool, ...]] | None:
        frame_set = self.assembler.take(now * MS)
        if frame_set is None:
            return None
        frame_set.release()
        return [None if f is None else f.time_ns // MS for f in frame_set.frames], frame_set.fresh


def test_a_set_is_complete_with_its_last_frame() -> None:
    rig = Rig(3, jitter=5, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(1, 103)
    assert rig.take(104) is None
    rig.add_frame(2, 105)
    assert rig.take(105) == ([100, 103, 105], (True, True, True))
    assert rig.take(105) is None


def test_frames_that_are_too_far_apart_make_no_set() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(1, 106)
    assert rig.take(106) is None
    rig.add_frame(0, 108)
    assert rig.take(108) == ([108, 106], (True, True))
    assert rig.assembler.counters[0].dropped == 1


def test_after_the_timeout_the_previous_frame_is_repeated() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(1, 100)
    assert rig.take(100) == ([100, 100], (True, True))
    rig.add_frame(0, 133)
    assert rig.assembler.deadline_ns == 163 * MS
    assert rig.take(162) is None
    assert rig.take(163) == ([133, 100], (True, False))
    assert rig.assembler.counters[1].repeated == 1


def test_a_camera_without_frames_is_missing() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(1, 100)
    assert rig.take(130) == ([None, 100], (False, True))
    assert rig.assembler.counters[0].missing == 1


def test_a_late_frame_is_only_used_as_a_repeated_frame() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(1, 100)
    rig.take(100)
    rig.add_frame(0, 133)
    assert rig.take(163) == ([133, 100], (True, False))
    rig.add_frame(1, 132, now=165)
    assert rig.take(165) is None
    assert rig.assembler.counters[1].late == 1
    rig.add_frame(0, 166)
    assert rig.take(196) == ([166, 132], (True, False))


def test_a_slow_loop_gets_the_newest_set() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    for captured in (100, 133, 166, 200):
        rig.add_frame(0, captured)
        rig.add_frame(1, captured + 2)
    assert rig.take(300) == ([200, 202], (True, True))
    assert rig.take(300) is None
    assert [c.dropped for c in rig.assembler.counters] == [3, 3]


def test_a_frame_of_a_single_camera_is_a_set() -> None:
    rig = Rig(1, jitter=0, timeout=30)
    rig.add_frame(0, 7)
    assert rig.take(7) == ([7], (True,))


def test_a_camera_without_frames_is_waited_for_three_times() -> None:
    rig = Rig(2, jitter=5, timeout=20)
    rig.add_frame(1, 90)
    rig.add_frame(0, 90)
    rig.take(90)
    waited = []
    for number in range(8):
        captured = 100 + 33 * number
        rig.add_frame(0, captured)
        set_time = next(now for now in range(captured, captured + 40) if rig.take(now) is not None)
        waited.append(set_time - captured)
    assert waited == [20, 20, 20, 0, 0, 0, 0, 0]
    rig.add_frame(1, 400)
    rig.add_frame(0, 401)
    assert rig.take(401) == ([401, 400], (True, True))
    rig.add_frame(0, 434)
    assert rig.take(434) is None, "the camera is waited for again"


def test_a_camera_marked_as_absent_is_not_waited_for() -> None:
    rig = Rig(2, jitter=5, timeout=20)
    rig.assembler.mark_absent(1)
    rig.add_frame(0, 100)
    assert rig.take(100) == ([100, None], (True, False))


def test_the_timeout_holds_while_new_frames_push_out_old_ones() -> None:
    rig = Rig(2, jitter=5, timeout=100, depth=2)
    for captured in range(100, 200, 10):
        rig.add_frame(0, captured)
        assert rig.take(captured) is None
    assert rig.take(200) == ([190, None], (True, False))


def test_frames_with_repeated_times_are_dropped() -> None:
    rig = Rig(1, jitter=0, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(0, 100)
    rig.add_frame(0, 90)
    assert rig.take(100) == ([100], (True,))
    rig.add_frame(0, 100)
    assert rig.take(200) is None
    assert rig.assembler.counters[0].dropped == 3


def test_frames_are_held_by_the_assembler_and_the_set() -> None:
    rig = Rig(1, jitter=0, timeout=30)
    rig.add_frame(0, 100)
    frame_set = rig.assembler.take(100 * MS)
    assert frame_set is not None
    rig.assembler.close()
    assert not rig.factory.all_released_once()
    frame_set.release()
    assert rig.factory.all_released_once()


@dataclass(frozen=True)
class Arrival:
    """A frame of ``camera`` that was captured at ``captured`` and arrives at ``now``, both in ms."""

    camera: int
    captured: int
    now: int


@st.composite
def patterns(draw: st.DrawFn) -> tuple[int, int, int, int, list[Arrival], list[int]]:
    """Draw a random case: number of cameras, jitter, timeout, depth (the number of frames of a camera that may wait),
    the arrivals of frames (with random periods, phases, delays and gaps), and times at which a set is requested."""
    cameras = draw(st.integers(1, 6))
    jitter, timeout, depth = draw(st.integers(0, 20)), draw(st.integers(1, 60)), draw(st.integers(1, 3))
    arrivals: list[Arrival] = []
    for camera in range(cameras):
        period, phase = draw(st.sampled_from([10, 33, 50])), draw(st.integers(0, 33))
        begin = 1000
        for number in range(draw(st.integers(0, 12))):
            if draw(st.integers(0, 9)) == 0:
                continue
            captured = begin + phase + number * period + draw(st.integers(-4, 4))
            arrivals.append(Arrival(camera, captured, captured + draw(st.sampled_from([0, 0, 1, 5, 40]))))
    arrivals.sort(key=lambda arrival: arrival.now)
    return cameras, jitter, timeout, depth, arrivals, draw(st.lists(st.integers(1000, 1700), max_size=20))


@pytest.mark.slow
@given(patterns(), st.booleans())
@settings(max_examples=example_count(300), deadline=None)
def test_any_pattern_of_arrivals_gives_valid_sets(
    pattern: tuple[int, int, int, int, list[Arrival], list[int]], eager: bool
) -> None:
    """For any arrivals, the fresh frames of a set are at most the jitter apart, every frame is released once, and the
    times of the sets increase. With ``eager``, a set is also requested after each arrival."""
    cameras, jitter, timeout, depth, arrivals, polls = pattern
    rig = Rig(cameras, jitter, timeout, depth)
    sets: list[FrameSet] = []
    events: list[tuple[int, Arrival | None]] = [(a.now, a) for a in arrivals]
    events += [(now, None) for now in polls]
    for now, arrival in sorted(events, key=lambda timed_event: timed_event[0]):
        if arrival is not None:
            rig.add_frame(arrival.camera, arrival.captured, arrival.now)
        if arrival is not None and not eager:
            continue
        frame_set = rig.assembler.take(now * MS)
        if frame_set is not None:
            sets.append(frame_set)
        deadline_ns = rig.assembler.deadline_ns
        if frame_set is None and deadline_ns is not None:
            assert now * MS < deadline_ns, "after the timeout there is a set"
    event(f"sets: {min(len(sets), 5)}")
    for frame_set in sets:
        times = [
            f.time_ns
            for f, fresh in zip(frame_set.frames, frame_set.fresh, strict=True)
            if f is not None and fresh
        ]
        assert times, "a set has at least one frame of its own"
        assert (max(times) - min(times), min(times)) == (frame_set.span_ns, frame_set.time_ns)
        assert frame_set.span_ns <= jitter * MS
        for camera, frame in enumerate(frame_set.frames):
            assert frame is None or frame.source == camera
            if frame is not None and not frame_set.fresh[camera]:
                assert frame.time_ns < frame_set.time_ns, "only an older frame can be repeated"
    for earlier, later in pairwise(sets):
        assert later.number == earlier.number + 1
        assert later.time_ns > earlier.time_ns + earlier.span_ns
        for earlier_frame, later_frame, fresh in zip(earlier.frames, later.frames, later.fresh, strict=True):
            if earlier_frame is not None:
                assert later_frame is not None
                assert (
                    later_frame.time_ns > earlier_frame.time_ns
                    if fresh
                    else later_frame.time_ns >= earlier_frame.time_ns
                )
    for camera, counters in enumerate(rig.assembler.counters):
        used = sum(frame_set.fresh[camera] for frame_set in sets)
        assert counters.used == used
        assert counters.repeated + counters.missing == len(sets) - used
        assert counters.arrived == sum(arrival.camera == camera for arrival in arrivals)
    rig.assembler.close()
    assert all(c.arrived == c.used + c.dropped for c in rig.assembler.counters)
    for frame_set in sets:
        frame_set.release()
    assert rig.factory.all_released_once()


@given(st.integers(2, 6), st.data())
@settings(max_examples=example_count(60), deadline=None)
def test_synchronous_cameras_lose_no_frame(cameras: int, data: st.DataObject) -> None:
    """If the frames of all cameras are captured within the jitter and arrive within the timeout, every frame is in a
    complete set."""
    rig = Rig(cameras, jitter=8, timeout=33)
    for number in range(10):
        begin = 100 + 33 * number
        captured = [begin + data.draw(st.integers(0, 8)) for _ in range(cameras)]
        arrivals = sorted((c + data.draw(st.integers(0, 10)), k, c) for k, c in enumerate(captured))
        frame_set = None
        for now, camera, time in arrivals:
            assert frame_set is None
            rig.add_frame(camera, time, now)
            frame_set = rig.take(now)
        assert frame_set == (captured, (True,) * cameras)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_number_of_held_buffers_is_limited(depth: int) -> None:
    rig = Rig(2, jitter=1, timeout=10**6, depth=depth)
    rig.add_frame(0, 50)
    rig.add_frame(1, 50)
    frame_set = rig.assembler.take(50 * MS)
    for captured in range(100, 400, 10):
        rig.add_frame(0, captured)
    # ``depth`` frames wait. The set and the assembler hold one more frame, which would be repeated.
    unreleased = sum(count == 0 for (camera, _), count in rig.factory.releases.items() if camera == 0)
    assert unreleased == depth + 1
    assert frame_set is not None
