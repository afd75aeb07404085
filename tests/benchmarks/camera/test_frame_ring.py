"""Tests of the camera benchmark's frames and of the ring of buffers that delivers them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from arenite.errors import ToolError
from benchmarks.camera.frame_ring import FrameRing
from benchmarks.camera.pictures import HEIGHT, LARGE_RING, RING, WIDTH, pictures, ring, to_yuyv

cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")


def test_yuyv_and_rgb_are_the_same_picture() -> None:
    rng = np.random.default_rng(3)
    # In yuyv two neighboring pixels share their chroma. Here they are equal, so the conversion loses nothing.
    rgb = rng.integers(0, 256, (8, 6, 3), np.uint8).repeat(2, axis=1)
    converted = cv2.cvtColor(to_yuyv(rgb).reshape(8, 12, 2), cv2.COLOR_YUV2RGB_YUYV)
    assert np.abs(converted.astype(int) - rgb).max() <= 4
    assert to_yuyv(np.zeros((2, 2, 3), np.uint8)).tolist() == [[16, 128, 16, 128]] * 2


def test_pictures_are_page_aligned_like_camera_buffers() -> None:
    shown = pictures()
    assert {picture.face for picture in shown} == {True, False}
    assert len({picture.name for picture in shown}) == len(shown) == 12
    for picture in shown:
        assert picture.yuyv.shape == (HEIGHT, 2 * WIDTH) and picture.rgb.shape == (HEIGHT, WIDTH, 3)
        assert picture.yuyv.ctypes.data % 4096 == 0 and picture.rgb.std() > 20
    small, large = ring(), ring(LARGE_RING)
    assert [len(small), len(large)] == [RING, LARGE_RING] and {each.face for each in small} == {True, False}
    assert len({each.yuyv.ctypes.data for each in (*small, *large)}) == RING + LARGE_RING
    for each in (*small, *large):
        (same,) = (picture for picture in shown if picture.name == each.name)
        assert np.array_equal(each.yuyv, same.yuyv)


def test_the_ring_delivers_every_buffer_in_turn_without_a_copy() -> None:
    source = FrameRing()
    source.open()
    addresses = []
    for number in range(2 * len(ring())):
        frame = source.read(0.1)
        assert frame is not None and frame.sequence == number
        assert np.array_equal(frame.rows()[::90], ring()[number % len(ring())].yuyv[::90])
        addresses.append(frame.planes[0])
        frame.release()
    expected = [each.yuyv.ctypes.data for each in ring()]
    assert addresses[: len(ring())] == expected == addresses[len(ring()) :]


def test_a_buffer_that_is_not_released_raises_an_error() -> None:
    source = FrameRing()
    source.open()
    for _ in ring():
        assert source.read(0.1) is not None
    with pytest.raises(ToolError, match="not released"):
        source.read(0.1)


def test_a_paced_ring_counts_dropped_frames() -> None:
    source = FrameRing(200.0)  # frames per second
    assert source.open().fps == 200.0
    first = source.read(1.0)
    assert first is not None and first.missed == 0
    time.sleep(0.03)  # six frames at 200 frames per second
    late = source.read(1.0)
    assert late is not None and late.missed >= 5
    assert late.sequence == first.sequence + 1 + late.missed
    assert source.counters.dropped == late.missed and source.counters.captured == late.sequence + 1
    assert late.time_ns <= time.monotonic_ns()
    # At 0.1 frames per second, one frame is still due from before, and the next one is due after 10 s.
    assert source.set_rate(0.1) == 0.1 and source.read(0.05) is not None
    assert source.read(0.001) is None
