"""Checks with a software USB camera that the kernel's driver operates: JPEG, a rate that cannot be changed, an
unplugged cable."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.reconnect import ReconnectingSource
from arenite.host.camera.sources.v4l2.discovery import list_cameras
from arenite.host.camera.sources.v4l2.modes import RequestedMode
from arenite.host.camera.sources.v4l2.source import V4l2Camera
from tests.vm import uvc_camera, vivid
from tests.vm.frame_checks import check, take, vars_of

CARD = "Emulated USB camera"


class Plug:
    """Connects and disconnects the software camera. ``connect`` has no effect if the camera is connected."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def connect(self) -> None:
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
        """Connect the camera, wait up to ``seconds`` until the kernel lists it, and return its path."""
        self.connect()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for camera in list_cameras():
                if CARD in camera.card and camera.captures:
                    return camera.path
            time.sleep(0.1)
        raise AssertionError(f"no camera appeared within {seconds} s: {list_cameras()}")


PLUG = Plug()


def grey(frame: Frame) -> float:
    """Return the mean brightness of the lower third of the picture, which has no noise."""
    f = frame.format
    rows = frame.rows()[f.height * 2 // 3 :]
    return float(rows[:, ::2].mean() if f.pixels == "yuyv" else rows.mean())


def numbers(source: V4l2Camera | ReconnectingSource, count: int) -> list[tuple[int, int, float]]:
    """Read ``count`` frames. Return for each the frame's number, the picture's number (0 to 15), and the distance of
    its grey level from the expected one."""
    rows = []
    for _ in range(count):
        frame = take(source)
        value = grey(frame)
        picture = round((value - 40) / 10)
        rows.append((frame.sequence, picture, abs(value - uvc_camera.level(picture))))
        frame.release()
    return rows


@check
def a_usb_camera_delivers_the_formats_that_it_describes() -> Any:
    path = PLUG.camera()
    # The second device node delivers metadata and is not a camera.
    assert [each for each in list_cameras() if CARD in each.card and not each.captures]
    formats = {}
    for mode in (
        RequestedMode(),
        RequestedMode(640, 360),
        RequestedMode(640, 360, 5),
        RequestedMode(320, 180, pixels="grey"),
    ):
        source = V4l2Camera(path, mode)
        format = source.open()
        frame = take(source, 3)
        assert frame.format == format, (frame.format, format)
        value = grey(frame)
        assert abs(value - uvc_camera.level(round((value - 40) / 10))) < 2, (mode, value)
        frame.release()
        source.close()
        formats[str(mode)] = str(format)
    pixels = [text.split("'")[1] for text in formats.values()]
    assert pixels == ["yuyv", "rgb", "yuyv", "grey"], formats
    return formats


@check
def jpeg_of_a_usb_camera_is_decoded_and_damage_is_counted() -> Any:
    source = V4l2Camera(PLUG.camera(), RequestedMode(640, 360), min_size=(128, 72))
    format = source.open()
    assert (format.width, format.height) == (160, 90), format
    rows = numbers(source, 45)
    errors, counters = source.counters.errors, vars_of(source.counters)
    source.close()
    assert max(error for _, _, error in rows) < 2, rows
    # Frame numbers and picture numbers advance together, also over damaged and dropped frames.
    first, first_picture, _ = rows[0]
    assert all((number - first) % 16 == (picture - first_picture) % 16 for number, picture, _ in rows), rows
    assert errors >= 3, counters
    assert counters["captured"] == 45 + counters["dropped"], counters
    return counters


@check
def a_usb_camera_keeps_its_rate_and_frames_are_skipped() -> Any:
    source = V4l2Camera(PLUG.camera(), RequestedMode(320, 180, 30.0, "yuyv"))
    source.open()
    take(source, 3).release()
    accepted = source.set_rate(6.0)
    dropped = source.counters.dropped
    times = []
    for _ in range(8):
        frame = take(source)
        times.append(frame.time_ns)
        frame.release()
    late = source.counters.dropped - dropped
    source.close()
    rate = 7e9 / (times[-1] - times[0])
    assert accepted == 6.0 and abs(rate - 6.0) < 1.5, (accepted, rate)
    assert late <= 4, late  # four of five frames are skipped, which does not count as dropped
    return {"requested": 6.0, "measured": round(rate, 2), "dropped": late}


@check
def a_usb_camera_is_unplugged_and_plugged_in_again() -> Any:
    messages: list[str] = []
    path = PLUG.camera()
    source = ReconnectingSource(
        V4l2Camera(path, RequestedMode(320, 180, 30.0, "yuyv")), on_message=messages.append, seed=0
    )
    source.open()
    before = numbers(source, 3)[-1][0]
    other = V4l2Camera(path)
    try:
        other.open()
        raise AssertionError("a second reader could open the camera")
    except SourceLost as error:
        busy = str(error)
    PLUG.pull()
    frame: Frame | None = None
    for _ in range(4):
        frame = source.read(0.5)
        if frame is not None:
            frame.release()
    assert messages, "the unplugged camera was not detected"
    # A frame keeps the old device in use. The kernel would then call the new device /dev/videoN with another number N.
    frame = None
    PLUG.connect()
    end = time.monotonic() + 60
    while time.monotonic() < end and not source.counters.reconnects:
        frame = source.read(0.5)
        if frame is not None:
            frame.release()
    after = numbers(source, 3)[-1][0]
    source.close()
    PLUG.pull()
    assert source.counters.reconnects == 1 and after > before
    return {"messages": messages, "busy": busy, "counters": vars_of(source.counters)}
