"""Tests of the dashboard's preview pictures: they equal the reference for every pixel format, are made only on
request, and release every buffer."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.image_steps import Colour, ImageSource, Resize
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing, Quantize
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.dashboard.preview import MAGIC, MAX_WIDTH, Preview, PreviewScaler, pack
from arenite.host.camera.frames.frame import Format, Frame
from tests.host.camera.dashboard.simulated_run import face, frame_of, served_of, yuyv

#: The bytes per pixel in a row of the first plane, for each pixel format.
ROW = {"yuyv": 2, "uyvy": 2, "rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4, "rgb565": 2, "grey": 1, "nv12": 1}


@pytest.fixture
def preview() -> Iterator[tuple[Preview, list[str]]]:
    """A running preview and its error messages."""
    messages: list[str] = []
    running_preview = Preview(messages.append)
    running_preview.start()
    yield running_preview, messages
    running_preview.end()


@pytest.mark.parametrize("pixels", ROW)
@pytest.mark.parametrize("gap", [0, 64])
@pytest.mark.parametrize("size", [(1280, 720), (96, 64)])
def test_every_format_equals_the_reference(pixels: str, gap: int, size: tuple[int, int]) -> None:
    width, height = size
    row = width * ROW[pixels]
    rows = height * 3 // 2 if pixels == "nv12" else height
    tight = np.random.default_rng(0).integers(0, 256, (rows, row), np.uint8)
    memory = np.pad(tight, ((0, 0), (0, gap)), constant_values=255)
    strides = (row + gap,) * (2 if pixels == "nv12" else 1)
    format = Format(pixels, width, height, strides)
    scaled = PreviewScaler(format).run(frame_of(memory, format))
    wide = min(width, MAX_WIDTH)
    high = round(height * wide / width)
    steps = (
        Colour("rgb"),
        Resize(wide, high, method="bilinear", convention="opencv"),
        Quantize("uint8", 1.0),
    )
    assert tight.size == buffer_bytes(pixels, width, height)
    picture = unpack(tight.reshape(-1), pixels, width, height)
    expected = preprocess_image(Preprocessing(ImageSource(pixels), steps), picture, color_order(pixels))
    assert scaled.shape == (high, wide, 3) and np.array_equal(scaled, expected)


def test_a_message_has_a_header_the_picture_and_a_reduced_mask() -> None:
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    mask = np.zeros((600, 300), np.uint8)
    mask[300:] = 2
    served = served_of(5, Answer("mask", mask=mask, mask_box=(0.1, 0.2, 0.9, 0.8)))
    message = pack(served, picture)
    assert message[:4] == MAGIC
    (length,) = struct.unpack("<I", message[4:8])
    header, body = json.loads(message[8 : 8 + length]), message[8 + length :]
    assert (header["width"], header["height"], header["number"]) == (6, 4, 5)
    assert header["mask"] == {"width": 100, "height": 200, "box": [0.1, 0.2, 0.9, 0.8]}
    assert body[:72] == picture.tobytes()
    # Every third pixel is sent, because the largest side of a mask is 200.
    assert np.array_equal(np.frombuffer(body[72:], np.uint8).reshape(200, 100), mask[::3, ::3])


def test_a_preview_is_made_only_for_a_watcher(
    preview: tuple[Preview, list[str]],
) -> None:
    running_preview, _ = preview
    assert not running_preview.watched
    messages: list[tuple[int, bytes]] = []
    watcher = threading.Thread(target=lambda: messages.append(running_preview.wait(-1, 60)))
    watcher.start()
    _until(lambda: running_preview.watched)
    released: list[int] = []
    format = Format("yuyv", 1280, 720, (2560,))
    frame = frame_of(yuyv(1280, 720), format, 7, released)
    running_preview.offer(served_of(7, face()), frame)
    frame.release()
    watcher.join(60)
    assert messages[0][0] == 1 and messages[0][1][:4] == MAGIC
    # The buffer is released by the next call of the loop, not by the preview's own thread.
    assert released == [] and not running_preview.watched
    running_preview.give_back()
    assert released == [7]


def test_one_preview_per_interval(
    preview: tuple[Preview, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arenite.host.camera.dashboard.preview._MIN_INTERVAL_NS", 60_000_000_000)
    running_preview, _ = preview
    running_preview._at_ns.clear()
    released: list[int] = []
    format = Format("grey", 64, 48, (64,))
    memory = np.zeros((48, 64), np.uint8)
    for number in range(200):
        running_preview.watched.add(0)
        frame = frame_of(memory, format, number, released)
        running_preview.offer(served_of(number), frame)
        frame.release()
    assert released == list(range(1, 200))


def test_the_format_of_the_frames_may_change(preview: tuple[Preview, list[str]]) -> None:
    running_preview, errors = preview
    for count, (pixels, width, height) in enumerate(
        [("grey", 640, 480), ("yuyv", 320, 200), ("grey", 640, 480)], 1
    ):
        format = Format(pixels, width, height, (width * ROW[pixels],))
        memory = np.full((height, width * ROW[pixels]), 128, np.uint8)
        running_preview.watched.add(0)
        running_preview._at_ns.clear()
        running_preview.offer(served_of(count), frame_of(memory, format))
        actual, message = running_preview.wait(count - 1, 30)
        header = json.loads(message[8 : 8 + struct.unpack("<I", message[4:8])[0]])
        assert (actual, header["width"]) == (count, min(width, MAX_WIDTH))
    assert errors == []


def test_an_unsupported_format_is_reported_once_and_released(preview: tuple[Preview, list[str]]) -> None:
    running_preview, errors = preview
    released: list[int] = []
    memory = np.zeros(16, np.uint8)
    for number in range(2):
        frame = Frame(
            Format("mjpeg", 4, 4, (4,)), (memory.ctypes.data,), memory, number, 0, lambda: released.append(1)
        )
        running_preview.watched.add(0)
        running_preview._at_ns.clear()
        running_preview.offer(served_of(number), frame)
        frame.release()
    _until(lambda: len(running_preview._used) == 2)
    running_preview.give_back()
    assert len(errors) == 1 and "mjpeg" in errors[0] and released == [1, 1]


def test_the_end_wakes_watchers_and_releases_all_frames() -> None:
    running_preview = Preview(lambda text: None)
    running_preview.start()
    results: list[tuple[int, bytes]] = []
    watcher = threading.Thread(target=lambda: results.append(running_preview.wait(-1, 60)))
    watcher.start()
    _until(lambda: running_preview.watched)
    running_preview.end()
    watcher.join(60)
    assert results == [(-1, b"")] or results == [(0, b"")]
    # A preview that was never started releases the offered frames too.
    never_started = Preview(lambda text: None)
    released: list[int] = []
    frame = frame_of(np.zeros((2, 4), np.uint8), Format("grey", 4, 2, (4,)), 3, released)
    never_started.offer(served_of(0), frame)
    frame.release()
    never_started.end()
    assert released == [3]


def _until(condition) -> None:  # type: ignore[no-untyped-def]
    """Wait until ``condition()`` is true, for at most a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_only_frames_of_the_watched_camera_are_kept(
    preview: tuple[Preview, list[str]],
) -> None:
    running_preview, _ = preview
    released: list[int] = []
    running_preview.watched.add(1)
    for camera in (0, 1, 2):
        memory = np.full((48, 64), 10 * camera, np.uint8)
        frame = frame_of(memory, Format("grey", 64, 48, (64,)), camera, released)
        served = served_of(camera)
        served.source = camera
        running_preview.offer(served, frame)
        frame.release()
    assert released == [0, 2]
    _, message = running_preview.wait(-1, 60, 1)
    assert message[-1] == 10
    assert running_preview.wait(-1, 0.0, 2) == (-1, b"")
