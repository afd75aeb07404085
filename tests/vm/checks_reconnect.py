"""Cameras that are busy, change their signal, go away and come back."""

from __future__ import annotations

import threading
import time
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.reconnect import ReconnectingSource
from arenite.host.camera.sources.v4l2 import V4l2Camera
from arenite.host.camera.sources.v4l2_modes import RequestedMode
from tests.vm import vivid
from tests.vm.frame_checks import check, take, vars_of, wait_for


@check
def invalid_requests_are_refused() -> Any:
    """A second reader of the same camera, a pixel format that it does not have, and a device that is not a camera."""
    source = V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0, "yuyv"))
    source.open()
    told = []
    for path, wish in (
        (vivid.WEBCAM, RequestedMode(640, 360)),
        (vivid.PLANES, RequestedMode(pixels="hsv")),
        ("/dev/null", RequestedMode()),
        ("/dev/video9", RequestedMode()),
    ):
        try:
            V4l2Camera(path, wish).open()
            raise AssertionError(f"{path} {wish} was opened")
        except (UsageError, SourceLost) as error:
            told.append(str(error))
    take(source).release()
    source.close()
    return told


@check
def a_new_signal_is_followed() -> Any:
    """The HDMI input gets other timings while it streams."""
    source = V4l2Camera(vivid.HDMI, RequestedMode(pixels="yuyv"))
    before = source.open()
    take(source, 2).release()
    number = take(source)
    number.release()
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
    assert changed and sequence > number.sequence
    vivid.set_control(vivid.HDMI, "DV Timings Signal Mode", 1)  # "No Signal"
    try:
        take(source, 20).release()
        raise AssertionError("the signal was not missed")
    except SourceLost as error:
        assert "no signal" in str(error)
    vivid.set_control(vivid.HDMI, "DV Timings Signal Mode", 0)
    source.close()
    again = source.open()
    assert (again.width, again.height) == size  # which the signal has now
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
        raise AssertionError("the camera was not missed")
    except SourceLost as error:
        told = str(error)
    assert held is not None
    held.rows().sum()  # still readable
    held.release()
    # Of a frame that was released nothing is left, though its object is: the device's number is free again.
    source.close()
    vivid.plug(name)
    return told


@check
def a_replugged_camera_is_read_again() -> Any:
    wait_for(vivid.WEBCAM)
    said: list[str] = []
    source = ReconnectingSource(
        V4l2Camera(vivid.WEBCAM, RequestedMode(640, 360, 30.0)), on_message=said.append, seed=0
    )
    source.open()
    number = take(source).sequence
    take(source).release()
    name = vivid.unplug()
    timer = threading.Timer(2.0, vivid.plug, [name])
    timer.start()
    away, frame = 0, None
    end = time.monotonic() + 60
    while time.monotonic() < end and not source.counters.reconnects:
        frame = source.read(0.5)
        away += frame is None
        if frame is not None:
            frame.release()
    timer.join()
    after = take(source, 3)
    assert after.sequence > number and source.counters.reconnects == 1
    after.release()
    source.close()
    return {"said": said, "reads_without_a_frame": away, "counters": vars_of(source.counters)}
