"""Checks with cameras that are busy, change their signal, or are unplugged and return."""

from __future__ import annotations

import threading
import time
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.reconnect import ReconnectingSource
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera
from tests.vm import vivid
from tests.vm.frame_checks import check, take, vars_of, wait_for


@check
def invalid_requests_raise_an_error() -> Any:
    """Opening a camera twice, requesting an unsupported pixel format, and opening files that are not cameras raise
    errors."""
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    messages = []
    for path, mode in (
        (vivid.WEBCAM, RequestedMode(640, 360)),
        (vivid.PLANES, RequestedMode(pixels="hsv")),
        ("/dev/null", RequestedMode()),
        ("/dev/video9", RequestedMode()),
    ):
        try:
            V4l2Camera(path, mode).open()
            raise AssertionError(f"{path} {mode} was opened")
        except (UsageError, SourceLost) as error:
            messages.append(str(error))
    take(source).release()
    source.close()
    return messages


@check
def a_new_signal_restarts_the_stream() -> Any:
    """The timings of the HDMI input change while it streams."""
    source = V4l2Camera(vivid.HDMI, RequestedMode(pixels="yuyv"))
    before = source.open()
    take(source, 2).release()
    last = take(source)
    last.release()
    vivid.set_control(vivid.HDMI, "DV Timings", 4)
    vivid.set_control(vivid.HDMI, "DV Timings Signal Mode", 4)  # "Selected DV Timings"
    changed, size, sequence = False, (0, 0), 0
    end = time.monotonic() + 60
    while time.monotonic() < end:
        frame = source.read(1.0)
        if frame is not None:
            changed = (frame.format.width, frame.format.height) != (before.width, before.height)
            size, sequence = (frame.format.width, frame.format.height), frame.sequence
            frame.release()
            if changed:
                break
    assert changed and sequence > last.sequence
    vivid.set_control(vivid.HDMI, "DV Timings Signal Mode", 1)  # "No Signal"
    try:
        take(source, 20).release()
        raise AssertionError("the lost signal was not detected")
    except SourceLost as error:
        assert "no signal" in str(error)
    vivid.set_control(vivid.HDMI, "DV Timings Signal Mode", 0)
    source.close()
    reopened = source.open()
    assert (reopened.width, reopened.height) == size  # the size of the current signal
    take(source).release()
    source.close()
    return {"from": (before.width, before.height), "to": size}


@check
def an_unplugged_camera_is_lost() -> Any:
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    held: Frame | None = take(source)
    frame = None
    name = vivid.unplug()
    try:
        for _ in range(8):
            frame = source.read(1.0)
            if frame is not None:
                frame.release()
        raise AssertionError("the unplugged camera was not detected")
    except SourceLost as error:
        message = str(error)
    assert held is not None
    held.rows().sum()  # still readable
    held.release()
    # Releasing a frame frees its memory although the Frame object still exists, so the number of the device is free
    # again.
    source.close()
    vivid.plug(name)
    return message


@check
def a_replugged_camera_is_read_again() -> Any:
    wait_for(vivid.WEBCAM)
    messages: list[str] = []
    source = ReconnectingSource(
        V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0)), on_message=messages.append, seed=0
    )
    source.open()
    number = take(source).sequence
    take(source).release()
    name = vivid.unplug()
    timer = threading.Timer(2.0, vivid.plug, [name])
    timer.start()
    empty_reads, frame = 0, None
    end = time.monotonic() + 60
    while time.monotonic() < end and not source.counters.reconnects:
        frame = source.read(0.5)
        empty_reads += frame is None
        if frame is not None:
            frame.release()
    timer.join()
    after = take(source, 3)
    assert after.sequence > number and source.counters.reconnects == 1
    after.release()
    source.close()
    return {"messages": messages, "reads_without_a_frame": empty_reads, "counters": vars_of(source.counters)}
