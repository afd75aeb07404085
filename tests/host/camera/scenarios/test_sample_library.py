"""Tests of the frames that the MLPerf scenarios use as samples: copies of frames from a source."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import (
    PIXEL_BYTES,
    PLANES,
    buffer_bytes,
    unpack,
)
from arenite.errors import DeviceError
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.region import crop_frame
from arenite.host.camera.scenarios.sample_library import MAX_FRAMES, collect_frames, copy_frame
from arenite.host.camera.sources.base import EndOfSource
from arenite.host.camera.sources.paced import PacedSource
from arenite.host.camera.sources.synthetic import SyntheticPattern


def content(frame: Frame) -> bytes:
    """Return the bytes of all planes of a copied frame."""
    return b"".join(np.asarray(plane).tobytes() for plane in frame.owner)  # type: ignore[attr-defined]


@pytest.mark.parametrize("pixels", sorted({*PIXEL_BYTES, *PLANES}))
def test_a_copy_has_only_the_pixels_of_the_frame(pixels: str) -> None:
    """The test copies a frame whose planes are all in one buffer, and a part of the frame, whose rows have gaps."""
    memory = np.random.default_rng(0).integers(0, 256, buffer_bytes(pixels, 32, 24), np.uint8)
    row = 32 if pixels in PLANES else 32 * PIXEL_BYTES[pixels]
    frame = Frame(Format(pixels, 32, 24, (row,)), (memory.ctypes.data,), memory, 5, 7)
    assert content(copy_frame(frame)) == memory.tobytes()
    cropped_copy = copy_frame(crop_frame(frame, CropWindow(4, 6, 16, 12)))
    expected = unpack(memory, pixels, 32, 24)[6:18, 4:20].copy()
    memory[:] = 0
    assert len(content(cropped_copy)) == buffer_bytes(pixels, 16, 12)
    assert np.array_equal(unpack(np.frombuffer(content(cropped_copy), np.uint8), pixels, 16, 12), expected)
    assert (cropped_copy.sequence, cropped_copy.time_ns) == (5, 7)


def test_up_to_the_maximum_of_frames_is_collected() -> None:
    source = PacedSource(SyntheticPattern("yuyv", 64, 48), live=False)
    source.open()
    frames = collect_frames(source)
    assert [frame.sequence for frame in frames] == list(range(MAX_FRAMES))
    assert len({content(frame) for frame in frames}) == 8, "the pattern repeats after eight pictures"

    class Short(PacedSource):
        def read(self, timeout_s: float) -> Frame | None:
            if self.counters.captured == 3:
                raise EndOfSource
            return super().read(timeout_s)

    short = Short(SyntheticPattern("yuyv", 64, 48), live=False)
    short.open()
    assert len(collect_frames(short)) == 3


def test_a_source_without_frames_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.host.camera.scenarios.sample_library.FRAME_WAIT_S", 0.01)

    class Nothing(PacedSource):
        def read(self, timeout_s: float) -> Frame | None:
            return None

    with pytest.raises(DeviceError, match="delivered no frame"):
        collect_frames(Nothing(SyntheticPattern()))
