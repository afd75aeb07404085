from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.several.frame_set_assembler import FrameSet, FrameSetAssembler

FORMAT = Format("grey", 2, 2, (2,))
MS = 1_000_000


class Made:
    """Frames of virtual cameras, and how often each was released."""

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
    def __init__(self, cameras: int, jitter: int, timeout: int, depth: int = 2) -> None:
        self.made = Made()
        self.assembler = FrameSetAssembler(cameras, jitter * MS, timeout * MS, depth)

    def add_frame(self, camera: int, captured: int, now: int | None = None) -> None:
        at = captured if now is None else now
        self.assembler.add_frame(camera, self.made.frame(camera, captured * MS), at * MS)

    def take(self, now: int) -> tuple[list[int | None], tuple[bool, ...]] | None:
        found = self.assembler.take(now * MS)
        if found is None:
            return None
        found.release()
        return [None if f is None else f.time_ns // MS for f in found.frames], found.fresh


def test_a_set_is_there_with_its_last_frame() -> None:
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


def test_at_the_timeout_the_previous_frame_stands_in() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(0, 100)
    rig.add_frame(1, 100)
    assert rig.take(100) == ([100, 100], (True, True))
    rig.add_frame(0, 133)
    assert rig.assembler.deadline_ns == 163 * MS
    assert rig.take(162) is None
    assert rig.take(163) == ([133, 100], (True, False))
    assert rig.assembler.counters[1].repeated == 1


def test_a_camera_that_never_began_is_missing() -> None:
    rig = Rig(2, jitter=5, timeout=30)
    rig.add_frame(1, 100)
    assert rig.take(130) == ([None, 100], (False, True))
    assert rig.assembler.counters[0].missing == 1


def test_a_late_frame_stands_in_later_but_is_in_no_set() -> None:
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


def test_one_camera_is_a_set_at_once() -> None:
    rig = Rig(1, jitter=0, timeout=30)
    rig.add_frame(0, 7)
    assert rig.take(7) == ([7], (True,))


def test_a_dead_camera_is_not_waited_for_after_a_while() -> None:
    rig = Rig(2, jitter=5, timeout=20)
    rig.add_frame(1, 90)
    rig.add_frame(0, 90)
    rig.take(90)
    waited = []
    for number in range(8):
        captured = 100 + 33 * number
        rig.add_frame(0, captured)
        found_at = next(now for now in range(captured, captured + 40) if rig.take(now) is not None)
        waited.append(found_at - captured)
    assert waited == [20, 20, 20, 0, 0, 0, 0, 0]
    rig.add_frame(1, 400)
    rig.add_frame(0, 401)
    assert rig.take(401) == ([401, 400], (True, True))
    rig.add_frame(0, 434)
    assert rig.take(434) is None, "it is awaited again"


def test_a_camera_known_to_be_away_is_not_waited_for() -> None:
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


def test_a_driver_that_repeats_frames() -> None:
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
    held = rig.assembler.take(100 * MS)
    assert held is not None
    rig.assembler.close()
    assert not rig.made.all_released_once()
    held.release()
    assert rig.made.all_released_once()


@dataclass(frozen=True)
class Arrival:
    camera: int
    captured: int
    now: int


@st.composite
def patterns(draw: st.DrawFn) -> tuple[int, int, int, int, list[Arrival], list[int]]:
    """Cameras with periods, phases, jitter, delays and gaps; moments at which the loop asks beside every arrival."""
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
@settings(max_examples=300, deadline=None)
def test_any_pattern(pattern: tuple[int, int, int, int, list[Arrival], list[int]], eager: bool) -> None:
    """No set spans more than the budget, no frame is lost or released twice, and time runs forward."""
    cameras, jitter, timeout, depth, arrivals, polls = pattern
    rig = Rig(cameras, jitter, timeout, depth)
    sets: list[FrameSet] = []
    events: list[tuple[int, Arrival | None]] = [(a.now, a) for a in arrivals]
    events += [(now, None) for now in polls]
    for now, arrival in sorted(events, key=lambda each: each[0]):
        if arrival is not None:
            rig.add_frame(arrival.camera, arrival.captured, arrival.now)
        if arrival is not None and not eager:
            continue
        made = rig.assembler.take(now * MS)
        if made is not None:
            sets.append(made)
        left = rig.assembler.deadline_ns
        if made is None and left is not None:
            assert now * MS < left, "past the timeout there is a set"
    event(f"sets: {min(len(sets), 5)}")
    for made in sets:
        times = [
            f.time_ns for f, fresh in zip(made.frames, made.fresh, strict=True) if f is not None and fresh
        ]
        assert times, "a set has at least one frame of its own"
        assert (max(times) - min(times), min(times)) == (made.span_ns, made.time_ns)
        assert made.span_ns <= jitter * MS
        for camera, frame in enumerate(made.frames):
            assert frame is None or frame.source == camera
            if frame is not None and not made.fresh[camera]:
                assert frame.time_ns < made.time_ns, "only an older frame stands in"
    for earlier, later in pairwise(sets):
        assert later.number == earlier.number + 1
        assert later.time_ns > earlier.time_ns + earlier.span_ns
        for before, after, fresh in zip(earlier.frames, later.frames, later.fresh, strict=True):
            if before is not None:
                assert after is not None
                assert after.time_ns > before.time_ns if fresh else after.time_ns >= before.time_ns
    for camera, counted in enumerate(rig.assembler.counters):
        used = sum(made.fresh[camera] for made in sets)
        assert counted.used == used
        assert counted.repeated + counted.missing == len(sets) - used
        assert counted.arrived == sum(arrival.camera == camera for arrival in arrivals)
    rig.assembler.close()
    assert all(c.arrived == c.used + c.dropped for c in rig.assembler.counters)
    for made in sets:
        made.release()
    assert rig.made.all_released_once()


@given(st.integers(2, 6), st.data())
@settings(max_examples=60, deadline=None)
def test_cameras_in_step_lose_nothing(cameras: int, data: st.DataObject) -> None:
    """Within the budget, and delivered within the timeout, every frame is in a complete set."""
    rig = Rig(cameras, jitter=8, timeout=33)
    for number in range(10):
        begin = 100 + 33 * number
        captured = [begin + data.draw(st.integers(0, 8)) for _ in range(cameras)]
        arrivals = sorted((c + data.draw(st.integers(0, 10)), k, c) for k, c in enumerate(captured))
        found = None
        for now, camera, time in arrivals:
            assert found is None
            rig.add_frame(camera, time, now)
            found = rig.take(now)
        assert found == (captured, (True,) * cameras)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_buffers_that_are_held_are_bounded(depth: int) -> None:
    rig = Rig(2, jitter=1, timeout=10**6, depth=depth)
    rig.add_frame(0, 50)
    rig.add_frame(1, 50)
    in_hand = rig.assembler.take(50 * MS)
    for captured in range(100, 400, 10):
        rig.add_frame(0, captured)
    held = sum(count == 0 for (camera, _), count in rig.made.releases.items() if camera == 0)
    assert held == depth + 1
    assert in_hand is not None
