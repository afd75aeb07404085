"""Checks of a stream: held buffers, dropped frames, frame rates, damaged frames."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera
from tests.vm import vivid
from tests.vm.frame_checks import check, take, vars_of


@check
def held_buffers_are_not_overwritten() -> Any:
    """Two of the four buffers keep their content while the others are filled. While all four buffers are held, no frame
    arrives."""
    vivid.set_control(vivid.WEBCAM, "OSD Text Mode", 0)  # a counter in the picture: each frame differs
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"), buffers=4)
    source.open()
    held = [take(source), take(source)]
    before = [frame.rows().copy() for frame in held]
    others = []
    for _ in range(10):
        frame = take(source)
        others.append(frame.planes[0])
        frame.release()
    assert not {frame.planes[0] for frame in held} & set(others)
    assert all((frame.rows() == old).all() for frame, old in zip(held, before, strict=True))
    assert not (before[0] == before[1]).all()
    held += [take(source), take(source)]
    assert source.read(0.5) is None
    for frame in held:
        frame.release()
        frame.release()  # a second release has no effect
    after = take(source, 3)
    assert after.sequence > held[-1].sequence
    after.release()
    # A frame stays readable after its source was closed.
    last = take(source)
    copy = last.rows().copy()
    source.close()
    assert (last.rows() == copy).all()
    reopened = source.open()  # while the old memory is still mapped
    assert reopened == last.format
    frame = take(source)
    assert frame.sequence > last.sequence
    frame.release()
    last.release()
    source.close()
    vivid.set_control(vivid.WEBCAM, "OSD Text Mode", 2)
    return {"buffers_seen": len(set(others))}


@check
def a_slow_reader_gets_the_latest() -> Any:
    """A reader that takes 250 ms per frame gets recent frames, and the frames between them are dropped."""
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    take(source).release()
    frames, ages, last = 1, [], None
    for _ in range(12):
        time.sleep(0.25)
        frame = take(source)
        ages.append((time.monotonic_ns() - frame.time_ns) / 1e6)
        if last is not None:
            assert frame.sequence == last + frame.missed + 1
        last = frame.sequence
        frames += 1
        frame.release()
    held = take(source)
    # Like the overlapped loop, release the last frame just before the next one is read.
    for _ in range(6):
        time.sleep(0.25)
        held.release()
        held = take(source)
        ages.append((time.monotonic_ns() - held.time_ns) / 1e6)
        frames += 1
    held.release()
    frames += 1
    counters = source.counters
    source.close()
    assert counters.captured == frames + counters.dropped, counters
    # Seven or eight frames arrive in each quarter of a second, and all but one are dropped.
    assert counters.dropped >= 12, counters
    # With four buffers the driver stops after 133 ms, and the last frame is 117 ms old when it is read. The source
    # drops such a frame and waits for the next one.
    assert float(np.percentile(ages, 75)) < 60, ages
    return {"delivered": frames, "counters": vars_of(counters), "age_ms": round(float(np.median(ages)), 1)}


@check
def rates_are_set() -> Any:
    measured = {}
    for requested in (10.0, 30.0):
        source = V4l2Camera(vivid.WEBCAM, RequestedMode(320, 180, requested, "yuyv"))
        format = source.open()
        assert abs(format.fps - requested) < 0.5, format
        measured[requested] = rate_of(source)
        assert abs(measured[requested] - requested) < 0.15 * requested, measured
        accepted = source.set_rate(requested / 2)
        assert abs(accepted - requested / 2) < 0.5
        measured[requested / 2] = rate_of(source)
        assert abs(measured[requested / 2] - requested / 2) < 0.15 * requested, measured
        source.close()
    return measured


def rate_of(source: V4l2Camera, frames: int = 12) -> float:
    """Return the frame rate in frames per second, measured over ``frames`` frames."""
    take(source, 3).release()
    first = take(source)
    first.release()
    last = take(source, frames)
    last.release()
    return round((last.sequence - first.sequence) * 1e9 / (last.time_ns - first.time_ns), 2)


@check
def damaged_frames_are_counted() -> Any:
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    take(source).release()
    for _ in range(3):
        vivid.set_control(vivid.WEBCAM, "Inject V4L2_BUF_FLAG_ERROR", 1)
        take(source, 4).release()
    errors = source.counters.errors
    source.close()
    assert errors == 3, errors
    return {"errors": errors}
