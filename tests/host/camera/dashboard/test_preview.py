"""Small pictures: of every format what the reference makes, on request only, and each buffer given back."""

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
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, order_of, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing, Quantize
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.dashboard.preview import MAGIC, WIDTH, Preview, PreviewScaler, pack
from arenite.host.camera.frames.frame import Format, Frame
from tests.host.camera.dashboard.simulated_run import face, frame_of, served_of, yuyv

ROW = {"yuyv": 2, "uyvy": 2, "rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4, "rgb565": 2, "grey": 1, "nv12": 1}


@pytest.fixture
def preview() -> Iterator[tuple[Preview, list[str]]]:
    told: list[str] = []
    made = Preview(told.append)
    made.start()
    yield made, told
    made.end()


@pytest.mark.parametrize("pixels", ROW)
@pytest.mark.parametrize("gap", [0, 64])
@pytest.mark.parametrize("size", [(1280, 720), (96, 64)])
def test_every_format_as_the_reference(pixels: str, gap: int, size: tuple[int, int]) -> None:
    width, height = size
    row = width * ROW[pixels]
    rows = height * 3 // 2 if pixels == "nv12" else height
    tight = np.random.default_rng(0).integers(0, 256, (rows, row), np.uint8)
    memory = np.pad(tight, ((0, 0), (0, gap)), constant_values=255)
    strides = (row + gap,) * (2 if pixels == "nv12" else 1)
    format = Format(pixels, width, height, strides)
    made = PreviewScaler(format).run(frame_of(memory, format))
    wide = min(width, WIDTH)
    high = round(height * wide / width)
    steps = (
        Colour("rgb"),
        Resize(wide, high, method="bilinear", convention="opencv"),
        Quantize("uint8", 1.0),
    )
    assert tight.size == buffer_bytes(pixels, width, height)
    picture = unpack(tight.reshape(-1), pixels, width, height)
    wanted = preprocess_image(Preprocessing(ImageSource(pixels), steps), picture, order_of(pixels))
    assert made.shape == (high, wide, 3) and np.array_equal(made, wanted)


def test_the_message() -> None:
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    mask = np.zeros((600, 300), np.uint8)
    mask[300:] = 2
    served = served_of(5, Answer("mask", mask=mask, mask_box=(0.1, 0.2, 0.9, 0.8)))
    message = pack(served, picture)
    assert message[:4] == MAGIC
    (length,) = struct.unpack("<I", message[4:8])
    header, rest = json.loads(message[8 : 8 + length]), message[8 + length :]
    assert (header["width"], header["height"], header["number"]) == (6, 4, 5)
    assert header["mask"] == {"width": 100, "height": 200, "box": [0.1, 0.2, 0.9, 0.8]}
    assert rest[:72] == picture.tobytes()
    assert np.array_equal(np.frombuffer(rest[72:], np.uint8).reshape(200, 100), mask[::3, ::3])


def test_nothing_is_made_while_nobody_watches_and_one_when_somebody_does(
    preview: tuple[Preview, list[str]],
) -> None:
    made, _ = preview
    assert not made.watched
    found: list[tuple[int, bytes]] = []
    watcher = threading.Thread(target=lambda: found.append(made.wait(-1, 30)))
    watcher.start()
    _until(lambda: made.watched)
    released: list[int] = []
    format = Format("yuyv", 1280, 720, (2560,))
    frame = frame_of(yuyv(1280, 720), format, 7, released)
    made.offer(served_of(7, face()), frame)
    frame.release()
    watcher.join(30)
    assert found[0][0] == 1 and found[0][1][:4] == MAGIC
    # The buffer is given back by whoever calls next, not by the preview's own thread.
    assert released == [] and not made.watched
    made.give_back()
    assert released == [7]


def test_no_more_than_one_in_the_interval(
    preview: tuple[Preview, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arenite.host.camera.dashboard.preview._INTERVAL_NS", 60_000_000_000)
    made, _ = preview
    made._at_ns.clear()
    released: list[int] = []
    format = Format("grey", 64, 48, (64,))
    memory = np.zeros((48, 64), np.uint8)
    for number in range(200):
        made.watched.add(0)
        frame = frame_of(memory, format, number, released)
        made.offer(served_of(number), frame)
        frame.release()
    assert released == list(range(1, 200))


def test_frames_of_another_size_after_a_change(preview: tuple[Preview, list[str]]) -> None:
    made, told = preview
    for count, (pixels, width, height) in enumerate(
        [("grey", 640, 480), ("yuyv", 320, 200), ("grey", 640, 480)], 1
    ):
        format = Format(pixels, width, height, (width * ROW[pixels],))
        memory = np.full((height, width * ROW[pixels]), 128, np.uint8)
        made.watched.add(0)
        made._at_ns.clear()
        made.offer(served_of(count), frame_of(memory, format))
        got, message = made.wait(count - 1, 30)
        header = json.loads(message[8 : 8 + struct.unpack("<I", message[4:8])[0]])
        assert (got, header["width"]) == (count, min(width, WIDTH))
    assert told == []


def test_a_frame_that_cannot_be_shown_is_told_once_and_given_back(preview: tuple[Preview, list[str]]) -> None:
    made, told = preview
    released: list[int] = []
    memory = np.zeros(16, np.uint8)
    for number in range(2):
        frame = Frame(
            Format("mjpeg", 4, 4, (4,)), (memory.ctypes.data,), memory, number, 0, lambda: released.append(1)
        )
        made.watched.add(0)
        made._at_ns.clear()
        made.offer(served_of(number), frame)
        frame.release()
    _until(lambda: len(made._used) == 2)
    made.give_back()
    assert len(told) == 1 and "mjpeg" in told[0] and released == [1, 1]


def test_the_end_wakes_watchers_and_gives_all_back() -> None:
    made = Preview(lambda text: None)
    made.start()
    found: list[tuple[int, bytes]] = []
    watcher = threading.Thread(target=lambda: found.append(made.wait(-1, 60)))
    watcher.start()
    _until(lambda: made.watched)
    made.end()
    watcher.join(30)
    assert found == [(-1, b"")] or found == [(0, b"")]
    # Never started: what was offered is released too.
    other = Preview(lambda text: None)
    released: list[int] = []
    frame = frame_of(np.zeros((2, 4), np.uint8), Format("grey", 4, 2, (4,)), 3, released)
    other.offer(served_of(0), frame)
    frame.release()
    other.end()
    assert released == [3]


def _until(look) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 60
    while not look():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_each_camera_has_its_picture_and_only_the_watched_one_costs(
    preview: tuple[Preview, list[str]],
) -> None:
    made, _ = preview
    released: list[int] = []
    made.watched.add(1)
    for camera in (0, 1, 2):
        memory = np.full((48, 64), 10 * camera, np.uint8)
        frame = frame_of(memory, Format("grey", 64, 48, (64,)), camera, released)
        served = served_of(camera)
        served.source = camera
        made.offer(served, frame)
        frame.release()
    assert released == [0, 2]
    _, message = made.wait(-1, 30, 1)
    assert message[-1] == 10
    assert made.wait(-1, 0.0, 2) == (-1, b"")
