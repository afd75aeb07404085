"""Tests of an RTSP network camera as a source. ``rtsp_server`` simulates the camera."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.factory import open_source
from tests.host.camera.sources.late_reader import read_late
from tests.host.camera.sources.rtsp_server import Server

cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")
WIDE, HIGH = 160, 96


def picture(number: int) -> bytes:
    """Return a grey JPEG. Its brightness depends on ``number`` and repeats after 24 pictures."""
    grey = np.full((HIGH, WIDE, 3), 20 + 9 * (number % 24), np.uint8)
    return cv2.imencode(".jpg", grey, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()


def number_of(frame: Frame) -> float:
    """Return the number of the picture in ``frame``, modulo 24, computed from its brightness."""
    return (float(frame.rows().mean()) - 20) / 9


@pytest.fixture
def server() -> Iterator[Server]:
    """A running simulated camera with 50 pictures per second."""
    rtsp_server = Server(picture, WIDE, HIGH, 50.0)
    threading.Thread(target=rtsp_server.serve_forever, args=(0.01,), daemon=True).start()
    yield rtsp_server
    rtsp_server.shutdown()
    rtsp_server.server_close()


def test_the_newest_picture_is_read(server: Server) -> None:
    source = open_source(f"rtsp://{server.url}")
    try:
        format = source.open()
        assert (format.pixels, format.width, format.height) == ("bgr", WIDE, HIGH)
        assert {"DESCRIBE", "SETUP", "PLAY"} <= set(server.requests)
        first = source.read(60)
        assert first is not None
        second, _ = read_late(source, first, 3)
        numbers = [number_of(frame) for frame in (first, second)]
        assert all(abs(number - round(number)) < 0.2 for number in numbers), numbers
        # Picture numbers and frame numbers differ by the same amount.
        assert (round(numbers[1]) - round(numbers[0])) % 24 == (second.sequence - first.sequence) % 24
    finally:
        source.close()


@pytest.mark.slow
def test_the_source_reconnects_to_the_camera(server: Server) -> None:
    server.max_pictures = 40
    messages: list[str] = []
    source = open_source(f"rtsp://user:secret@{server.url}", on_message=messages.append)
    try:
        source.open()
        end = time.monotonic() + 60
        while source.counters.reconnects < 1 and time.monotonic() < end:
            frame = source.read(0.1)
            if frame is not None:
                frame.release()
        assert source.counters.reconnects >= 1, messages
        assert server.requests.count("PLAY") >= 2
        assert messages and not any("secret" in line for line in messages)
    finally:
        source.close()
