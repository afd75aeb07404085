"""Tests of uncompressed recordings as sources: frames point into the mapped file, and OpenCV reads the same
pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.specification.pixel_formats import buffer_bytes, planes_of, unpack
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import EndOfSource
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.raw_video import FOURCC, read_raw_video
from arenite.host.camera.sources.recording import Recording
from arenite.host.camera.sources.video import VideoFile
from tests.example_count import example_count
from tests.host.camera.sources.recordings import avi, y4m

WIDTH, HEIGHT = 48, 32


def pictures(pixels: str, count: int = 3) -> list[np.ndarray]:
    """Return random pictures of WIDTH x HEIGHT in a pixel format, each as its bytes."""
    random = np.random.default_rng(1)
    return [random.integers(16, 236, buffer_bytes(pixels, WIDTH, HEIGHT), np.uint8) for _ in range(count)]


def plane_bytes(frame: Frame) -> np.ndarray:
    """Return the bytes of all planes, one after the other."""
    import ctypes

    planes = planes_of(frame.format.pixels, frame.format.width, frame.format.height)
    return np.concatenate(
        [
            np.frombuffer(memoryview((ctypes.c_uint8 * (row * rows)).from_address(address)), np.uint8)
            for address, (row, rows) in zip(frame.planes, planes, strict=True)
        ]
    )


def read_all(source: Recording) -> list[np.ndarray]:
    """Return the bytes of all frames."""
    source.open()
    frames: list[np.ndarray] = []
    while True:
        try:
            frame = source.read(1)
        except EndOfSource:
            return frames
        assert frame is not None
        frames.append(plane_bytes(frame).copy())


@pytest.mark.parametrize("fourcc", [b"YUY2", b"UYVY", b"NV12", b"I420", b"YV12", b"Y800"])
@pytest.mark.parametrize("sound", [False, True])
def test_frames_of_avi_files_are_read_in_every_pixel_format(
    tmp_path: Path, fourcc: bytes, sound: bool
) -> None:
    frames = pictures(FOURCC[fourcc])
    path = tmp_path / "a.avi"
    path.write_bytes(avi(frames, fourcc, WIDTH, HEIGHT, 25, sound))
    source = Recording(str(path))
    format = source.open()
    assert (format.pixels, format.width, format.height, format.fps) == (FOURCC[fourcc], WIDTH, HEIGHT, 25.0)
    assert all(np.array_equal(a, b) for a, b in zip(read_all(source), frames, strict=True))


@pytest.mark.parametrize(("sampling", "pixels"), [("420jpeg", "yu12"), ("mono", "grey")])
def test_frames_of_yuv4mpeg2_files_are_read(tmp_path: Path, sampling: str, pixels: str) -> None:
    frames = pictures(pixels)
    path = tmp_path / "a.y4m"
    path.write_bytes(y4m(frames, sampling, WIDTH, HEIGHT, "30000:1001"))
    source = Recording(str(path))
    assert source.open().fps == pytest.approx(29.97, abs=0.01)
    assert all(np.array_equal(a, b) for a, b in zip(read_all(source), frames, strict=True))


def test_opencv_reads_the_same_pictures(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2", reason="needs opencv-python-headless")
    smooth = [cv2.resize(p.reshape(8, -1)[:8, :8], (WIDTH, HEIGHT)) for p in pictures("grey")]
    frames = []
    for luma in smooth:
        yuyv = np.full((HEIGHT, WIDTH, 2), 128, np.uint8)
        yuyv[:, :, 0] = luma
        frames.append(yuyv)
    path = tmp_path / "a.avi"
    path.write_bytes(avi(frames, b"YUY2", WIDTH, HEIGHT))
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    for ours in read_all(Recording(str(path))):
        success, bgr = capture.read()
        assert success
        rgb = unpack(ours, "yuyv", WIDTH, HEIGHT)
        assert np.abs(rgb[:, :, ::-1].astype(int) - bgr).max() <= 3, "two YUV conversions differ by rounding"


def test_a_recording_plays_at_its_rate_and_repeats(tmp_path: Path) -> None:
    frames = pictures("grey")
    path = tmp_path / "a.y4m"
    path.write_bytes(y4m(frames, "mono", WIDTH, HEIGHT, "200:1"))
    source = Recording(str(path), live=True, loop=True)
    source.open()
    numbers = []
    for _ in range(7):
        frame = source.read(1)
        assert frame is not None
        numbers.append(frame.sequence)
        assert np.array_equal(plane_bytes(frame), frames[frame.sequence % 3])
    assert numbers == sorted(set(numbers)) and source.counters.captured == numbers[-1] + 1


def test_a_truncated_recording_has_its_complete_frames(tmp_path: Path) -> None:
    frames = pictures("yuyv")
    for content in (avi(frames, b"YUY2", WIDTH, HEIGHT), y4m(pictures("grey"), "mono", WIDTH, HEIGHT)):
        complete = read_raw_video(content, "complete")
        assert complete is not None
        cut = read_raw_video(content[: complete.offsets[-1] + 100], "cut")
        assert cut is not None and cut.offsets == complete.offsets[:2]


def test_compressed_recordings_are_not_raw_video() -> None:
    frames = pictures("grey")
    assert read_raw_video(avi(frames, b"MJPG", WIDTH, HEIGHT), "a.avi") is None
    assert read_raw_video(y4m(frames, "444", WIDTH, HEIGHT), "a.y4m") is None
    assert read_raw_video(b"\x00\x00\x00\x20ftypisom", "a.mp4") is None


@pytest.mark.parametrize(
    "data",
    [
        b"YUV4MPEG2 W48\n",
        b"YUV4MPEG2 W48 H32 Cmono\n",
        b"YUV4MPEG2 W999999 H32 Cmono\nFRAME\n",
        b"RIFF\0\0\0\0AVI ",
    ],
)
def test_damaged_files_raise_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.y4m"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"a\.y4m"):
        Recording(str(path)).open()


@settings(max_examples=example_count(300), deadline=None)
@given(st.data())
def test_random_bytes_never_lead_outside_the_file(data: st.DataObject) -> None:
    content = bytearray(avi(pictures("yuyv"), b"YUY2", WIDTH, HEIGHT, sound=data.draw(st.booleans())))
    if data.draw(st.booleans()):
        content = bytearray(y4m(pictures("yu12"), "420", WIDTH, HEIGHT))
    for _ in range(data.draw(st.integers(0, 6))):
        content[data.draw(st.integers(0, min(len(content) - 1, 700)))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(12, len(content)))])
    try:
        video = read_raw_video(cut, "fuzzed")
    except UsageError:
        return
    if video is not None:
        size = buffer_bytes(video.pixels, video.width, video.height)
        assert all(0 <= offset <= len(cut) - size for offset in video.offsets)


@pytest.mark.parametrize("rate", ["1" + "0" * 400 + ":1", "9" * 20 + ":1"])
def test_an_impossible_rate_is_unknown_or_raises_an_error(tmp_path: Path, rate: str) -> None:
    path = tmp_path / "a.y4m"
    path.write_bytes(y4m(pictures("grey"), "mono", WIDTH, HEIGHT, rate))
    try:
        assert Recording(str(path)).open().fps == 0
    except UsageError as error:
        assert "damaged" in error.problem


def test_odd_sizes_are_decoded_by_opencv(tmp_path: Path) -> None:
    pytest.importorskip("cv2", reason="needs opencv-python-headless")
    luma = np.full(21 * 15, 126, np.uint8)
    frames = [np.concatenate([luma, np.full(2 * 11 * 8, 128, np.uint8)])] * 3
    path = tmp_path / "odd.y4m"
    path.write_bytes(y4m(frames, "420jpeg", 21, 15))
    source = open_source(str(path))
    assert isinstance(source, VideoFile)
    format = source.open()
    assert (format.pixels, format.width, format.height) == ("bgr", 21, 15)
    frame = source.read(1)
    assert frame is not None and np.ptp(frame.rows()) <= 1
    source.close()
    assert read_raw_video(avi([np.zeros(21 * 2 * 15, np.uint8)], b"YUY2", 21, 15), "a.avi") is None
