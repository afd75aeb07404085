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
    return b"".join(np.asarray(plane).tobytes() for plane in frame.owner)  # type: ignore[attr-defined]


@pytest.mark.parametrize("pixels", sorted({*PIXEL_BYTES, *PLANES}))
def test_a_copy_has_the_pixels_and_nothing_else(pixels: str) -> None:
    """Of a part of a larger picture, whose rows have gaps; chroma in the same buffer."""
    memory = np.random.default_rng(0).integers(0, 256, buffer_bytes(pixels, 32, 24), np.uint8)
    row = 32 if pixels in PLANES else 32 * PIXEL_BYTES[pixels]
    whole = Frame(Format(pixels, 32, 24, (row,)), (memory.ctypes.data,), memory, 5, 7)
    assert content(copy_frame(whole)) == memory.tobytes()
    part = copy_frame(crop_frame(whole, CropWindow(4, 6, 16, 12)))
    wanted = unpack(memory, pixels, 32, 24)[6:18, 4:20].copy()
    memory[:] = 0
    assert len(content(part)) == buffer_bytes(pixels, 16, 12)
    assert np.array_equal(unpack(np.frombuffer(content(part), np.uint8), pixels, 16, 12), wanted)
    assert (part.sequence, part.time_ns) == (5, 7)


def test_as_many_as_there_are() -> None:
    source = PacedSource(SyntheticPattern("yuyv", 64, 48), live=False)
    source.open()
    frames = collect_frames(source)
    assert [frame.sequence for frame in frames] == list(range(MAX_FRAMES))
    assert len({content(frame) for frame in frames}) == 8, "the square goes round in eight pictures"

    class Short(PacedSource):
        def read(self, timeout_s: float) -> Frame | None:
            if self.counters.captured == 3:
                raise EndOfSource
            return super().read(timeout_s)

    short = Short(SyntheticPattern("yuyv", 64, 48), live=False)
    short.open()
    assert len(collect_frames(short)) == 3


def test_a_source_that_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arenite.host.camera.scenarios.sample_library.FRAME_WAIT_S", 0.01)

    class Nothing(PacedSource):
        def read(self, timeout_s: float) -> Frame | None:
            return None

    with pytest.raises(DeviceError, match="delivered no frame"):
        collect_frames(Nothing(SyntheticPattern()))
