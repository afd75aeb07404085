"""A USB camera, read by the kernel's driver for such: JPEG, a rate that it does not change, its plug pulled."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.reconnect import ReconnectingSource
from arenite.host.camera.sources.v4l2 import V4l2Camera
from arenite.host.camera.sources.v4l2_discovery import list_cameras
from arenite.host.camera.sources.v4l2_modes import RequestedMode
from tests.vm import uvc_camera, vivid
from tests.vm.frame_checks import check, take, vars_of

CARD = "Emulated USB camera"


class Plug:
    """The plug of the camera; ``put_in`` and ``pull`` may be called any number of times."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def put_in(self) -> None:
        if self._process is None:
            vivid.load("vhci-hcd")
            vivid.load("uvcvideo")
            command = [sys.executable, "-m", "tests.vm.uvc_camera"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def pull(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._process = None

    def camera(self, seconds: float = 60.0) -> str:
        """Its path, once it is there."""
        self.put_in()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for camera in list_cameras():
                if CARD in camera.card and camera.captures:
                    return camera.path
            time.sleep(0.1)
        raise AssertionError(f"the camera did not come: {list_cameras()}")


PLUG = Plug()


def grey(frame: Frame) -> float:
    """The mean of the middle of the picture; the noise is in a corner."""
    f = frame.format
    rows = frame.rows()[f.height * 2 // 3 :]
    return float(rows[:, ::2].mean() if f.pixels == "yuyv" else rows.mean())


def numbers(source: V4l2Camera | ReconnectingSource, count: int) -> list[tuple[int, int, float]]:
    """For ``count`` frames: the frame's number, the picture's number of 16, and the distance of its grey from that
    picture's."""
    made = []
    for _ in range(count):
        frame = take(source)
        value = grey(frame)
        picture = round((value - 40) / 10)
        made.append((frame.sequence, picture, abs(value - uvc_camera.level(picture))))
        frame.release()
    return made


@check
def a_usb_camera_delivers_what_it_describes() -> Any:
    path = PLUG.camera()
    # The device beside it delivers metadata and is not a camera.
    assert [each for each in list_cameras() if CARD in each.card and not each.captures]
    formats = {}
    for wish in (
        RequestedMode(),
        RequestedMode(640, 360),
        RequestedMode(640, 360, 5),
        RequestedMode(320, 180, pixels="grey"),
    ):
        source = V4l2Camera(path, wish)
        format = source.open()
        frame = take(source, 3)
        assert frame.format == format, (frame.format, format)
        value = grey(frame)
        assert abs(value - uvc_camera.level(round((value - 40) / 10))) < 2, (wish, value)
        frame.release()
        source.close()
        formats[str(wish)] = str(format)
    pixels = [text.split("'")[1] for text in formats.values()]
    assert pixels == ["yuyv", "rgb", "yuyv", "grey"], formats
    return formats


@check
def jpeg_of_a_usb_camera_is_decoded_and_damage_is_counted() -> Any:
    source = V4l2Camera(PLUG.camera(), RequestedMode(640, 360), least=(128, 72))
    format = source.open()
    assert (format.width, format.height) == (160, 90), format
    seen = numbers(source, 45)
    errors, counters = source.counters.errors, vars_of(source.counters)
    source.close()
    assert max(off for _, _, off in seen) < 2, seen
    # The picture's number and ours go on together, whatever was damaged or dropped between.
    first, shown, _ = seen[0]
    assert all((number - first) % 16 == (picture - shown) % 16 for number, picture, _ in seen), seen
    assert errors >= 3, counters
    assert counters["captured"] == 45 + counters["dropped"], counters
    return counters


@check
def a_usb_camera_keeps_its_rate_and_frames_are_skipped() -> Any:
    source = V4l2Camera(PLUG.camera(), RequestedMode(320, 180, 30.0, "yuyv"))
    source.open()
    take(source, 3).release()
    held = source.set_rate(6.0)
    dropped = source.counters.dropped
    times = []
    for _ in range(8):
        frame = take(source)
        times.append(frame.time_ns)
        frame.release()
    late = source.counters.dropped - dropped
    source.close()
    rate = 7e9 / (times[-1] - times[0])
    assert held == 6.0 and abs(rate - 6.0) < 1.5, (held, rate)
    assert late <= 4, late  # four of five were left out, and are not called dropped
    return {"asked": 6.0, "came": round(rate, 2), "called_dropped": late}


@check
def a_usb_camera_is_unplugged_and_plugged_in_again() -> Any:
    said: list[str] = []
    path = PLUG.camera()
    source = ReconnectingSource(
        V4l2Camera(path, RequestedMode(320, 180, 30.0, "yuyv")), on_message=said.append, seed=0
    )
    source.open()
    before = numbers(source, 3)[-1][0]
    other = V4l2Camera(path)
    try:
        other.open()
        raise AssertionError("two may not stream")
    except SourceLost as error:
        busy = str(error)
    PLUG.pull()
    frame: Frame | None = None
    for _ in range(4):
        frame = source.read(0.5)
        if frame is not None:
            frame.release()
    assert said, "the camera was not missed"
    frame = None  # it has the old device's memory, and so its number
    PLUG.put_in()
    end = time.monotonic() + 60
    while time.monotonic() < end and not source.counters.reconnects:
        frame = source.read(0.5)
        if frame is not None:
            frame.release()
    after = numbers(source, 3)[-1][0]
    source.close()
    PLUG.pull()
    assert source.counters.reconnects == 1 and after > before
    return {"said": said, "busy": busy, "counters": vars_of(source.counters)}
