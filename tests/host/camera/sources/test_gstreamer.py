"""Tests of GStreamer pipelines as sources, with gst-launch-1.0 if it is installed, and of the pipeline for Jetson
cameras."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import planes_of, unpack
from arenite.errors import UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import SourceLost
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.gstreamer import FORMATS, csi_pipeline, format_from_caps
from tests.host.camera.sources.late_reader import read_late

needs_gstreamer = pytest.mark.skipif(
    shutil.which("gst-launch-1.0") is None,
    reason="needs gst-launch-1.0 (apt-get install gstreamer1.0-tools gstreamer1.0-plugins-base)",
)


def picture(frame: Frame) -> np.ndarray:
    """Return the pixels of a frame, uint8 [height, width, channels] in the order red, green, blue."""
    f = frame.format
    rows = [row for row, _ in planes_of(f.pixels, f.width, f.height)]
    data = np.concatenate([frame.rows(k)[:, :row].reshape(-1) for k, row in enumerate(rows)])
    pixels = unpack(data, f.pixels, f.width, f.height)
    return pixels[:, :, ::-1] if f.pixels in ("bgr", "bgra") else pixels


@needs_gstreamer
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_frames_with_padded_rows_are_read_in_every_format(name: str) -> None:
    """GStreamer pads each row to a multiple of four bytes. With 162 pixels per row, that adds bytes in the formats
    with one or three bytes per pixel."""
    source = open_source(
        f"gst:videotestsrc pattern=red is-live=true ! video/x-raw,format={name},width=162,height=120,framerate=50/1"
    )
    try:
        format = source.open()
        assert (format.pixels, format.width, format.height, format.fps) == (FORMATS[name][0], 162, 120, 50.0)
        pixels = np.zeros((1, 1, 1), int)
        for _ in range(3):  # a wrong frame size would shift all frames after the first
            frame = source.read(60)
            assert frame is not None
            pixels = picture(frame).astype(int)
            frame.release()
        if format.pixels == "grey":
            assert np.ptp(pixels) == 0 and 60 < pixels[0, 0, 0] < 100
        else:
            assert np.abs(pixels - (255, 0, 0)).max() <= 16
    finally:
        source.close()


@needs_gstreamer
def test_other_formats_are_converted() -> None:
    source = open_source(
        "gst:videotestsrc pattern=green is-live=true ! video/x-raw,format=Y444,width=64,height=64"
    )
    try:
        assert source.open().pixels in {pixels for pixels, _ in FORMATS.values()}
        frame = source.read(60)
        assert frame is not None
        assert np.abs(picture(frame).astype(int) - (0, 255, 0)).max() <= 16
    finally:
        source.close()


@needs_gstreamer
def test_the_newest_frame_is_read() -> None:
    source = open_source("gst:videotestsrc is-live=true ! video/x-raw,width=64,height=64,framerate=100/1")
    try:
        source.open()
        first = source.read(60)
        assert first is not None
        second, _ = read_late(source, first, 8)
        assert source.counters.captured == second.sequence + 1
    finally:
        source.close()


@needs_gstreamer
def test_a_pipeline_that_ends_is_started_again() -> None:
    messages: list[str] = []
    source = open_source(
        "gst:videotestsrc num-buffers=5 ! video/x-raw,width=64,height=64", on_message=messages.append
    )
    try:
        source.open()
        end = time.monotonic() + 60
        while source.counters.reconnects < 1 and time.monotonic() < end:
            source.read(0.1)
        assert source.counters.reconnects >= 1 and "ended" in messages[0]
    finally:
        source.close()


@needs_gstreamer
@pytest.mark.parametrize(
    ("pipeline", "message"),
    [("nosuchelement", "nosuchelement"), ("audiotestsrc num-buffers=3", "delivers no raw video")],
)
def test_pipelines_without_pictures_raise_an_error(pipeline: str, message: str) -> None:
    with pytest.raises(SourceLost, match=message):
        open_source(f"gst:{pipeline}").open()


def test_invalid_pipelines_raise_an_error() -> None:
    with pytest.raises(UsageError, match="needs a pipeline"):
        open_source("gst: ")
    with pytest.raises(UsageError, match="is not the name of a CSI camera"):
        open_source("csi:front")
    if shutil.which("gst-launch-1.0"):
        with pytest.raises(UsageError, match="unbalanced quotes"):
            open_source("gst:videotestsrc name='a").open()


def test_the_pipeline_of_jetson_cameras() -> None:
    assert csi_pipeline(1, 1920, 1080, 30.0) == (
        "nvarguscamerasrc sensor-id=1 ! video/x-raw(memory:NVMM),format=NV12,width=1920,height=1080,framerate=30/1 ! "
        "nvvidconv ! video/x-raw,format=NV12"
    )
    assert "framerate=29970/1000" in csi_pipeline(
        0, 1280, 720, 29.97, "bgra"
    ) and "format=BGRx" in csi_pipeline(0, 1, 1, 1, "bgra")
    with pytest.raises(UsageError, match="does not deliver yuyv"):
        csi_pipeline(0, 1280, 720, 30.0, "yuyv")


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        (
            "video/x-raw, format=(string)NV12, width=(int)642, height=(int)360, framerate=(fraction)30/1",
            (644, 644),
        ),
        ("video/x-raw, width=(int)641, height=(int)4, format=(string)RGB\n", (1924,)),
        ("video/x-raw, format=(string)I420, width=(int)642, height=(int)360", (644, 324, 324)),
        ("video/x-raw, format=(string)I420, width=(int)641, height=(int)360", None),
        ('video/x-raw, width=(int)6, height=(int)4, format="YUY2"', None),
        ("audio/x-raw, format=(string)S16LE, rate=(int)44100", None),
        ("video/x-raw, format=(string)P010_10LE, width=(int)4, height=(int)4", None),
    ],
)
def test_the_format_is_read_from_the_caps_of_the_pipeline(
    caps: str, expected: tuple[int, ...] | None
) -> None:
    format = format_from_caps(caps)
    assert (format.strides if format else None) == expected


@needs_gstreamer
def test_a_pipeline_that_changes_its_size_is_started_again() -> None:
    """After a change of size, the source ends instead of reading frames at wrong offsets."""
    small, large = (
        f"videotestsrc num-buffers=40 ! video/x-raw,format=GRAY8,width={n},height={n},framerate=100/1"
        for n in (8, 16)
    )
    source = open_source(f"gst:concat name=c {small} ! c. {large} ! c. c. ! identity sync=true")
    try:
        assert source.open().width == 8
        with pytest.raises(SourceLost, match=r"it now delivers|ended"):
            while True:
                frame = source.inner.read(60)  # type: ignore[attr-defined]
                assert frame is not None and frame.format.width == 8
                frame.release()
    finally:
        source.close()
