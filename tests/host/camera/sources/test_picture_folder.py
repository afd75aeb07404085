"""Tests of folders and file patterns as sources of pictures."""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.host.camera.sources.base import EndOfSource
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.picture_decoder import _decode_with_opencv, decode_picture
from arenite.host.camera.sources.picture_folder import PictureFolder

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three pictures of different sizes in red, green and blue, and a text file."""
    for k, color in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        Image.new("RGB", (10 + k, 6), color).save(tmp_path / f"{k}.png")
    (tmp_path / "notes.txt").write_text("no picture", "utf-8")
    return tmp_path


def test_every_picture_keeps_its_size(folder: Path) -> None:
    source = open_source(str(folder))
    assert not source.live
    format = source.open()
    assert (format.pixels, format.width, format.height) == ("rgb", 10, 6)
    for k in range(3):
        frame = source.read(0)
        assert frame is not None and frame.sequence == k
        assert (frame.format.width, frame.format.strides) == (10 + k, (30 + 3 * k,))
        pixels = frame.rows().reshape(6, 10 + k, 3)
        assert (pixels == np.eye(3, dtype=np.uint8)[k] * 255).all()
    with pytest.raises(EndOfSource):
        source.read(0)
    assert (source.counters.captured, source.counters.dropped) == (3, 0)


def test_a_looped_folder_repeats(folder: Path) -> None:
    source = open_source(str(folder / "*.png"), loop=True, pixels="bgr")
    source.open()
    frames = [source.read(0) for _ in range(7)]
    assert [frame.format.width for frame in frames if frame] == [10, 11, 12, 10, 11, 12, 10]
    assert frames[0] is not None and frames[0].rows()[0, :3].tolist() == [0, 0, 255]


def test_a_damaged_file_is_counted_and_skipped(folder: Path) -> None:
    (folder / "1.png").write_bytes(b"\x89PNG no longer")
    source = open_source(str(folder))
    source.open()
    frames = [source.read(0) for _ in range(3)]
    assert [frame is not None for frame in frames] == [True, False, True]
    assert (source.counters.errors, source.counters.dropped, source.counters.captured) == (1, 1, 3)


def test_a_late_reader_misses_pictures(folder: Path) -> None:
    source = PictureFolder(str(folder), live=True, loop=True, fps=100.0)
    source.open()
    first = source.read(1)
    time.sleep(0.06)
    second = source.read(1)
    assert first is not None and second is not None and second.missed >= 4
    assert source.counters.captured == second.sequence + 1


def test_a_folder_without_pictures_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pictures in"):
        open_source(str(tmp_path)).open()
    with pytest.raises(UsageError, match="no file"):
        open_source(str(tmp_path / "*.png"))


def test_pillow_and_opencv_decode_the_same_pixels(folder: Path) -> None:
    pytest.importorskip("cv2", reason="needs opencv-python-headless")
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (5, 7, 3), dtype=np.uint8), "RGB").save(folder / "noise.png")
    data = (folder / "noise.png").read_bytes()
    for order in ("rgb", "bgr"):
        assert (decode_picture(data, order, "noise") == _decode_with_opencv(data, order, "noise")).all()
    for decode in (decode_picture, _decode_with_opencv):
        with pytest.raises(UsageError, match="noise is not a picture"):
            decode(b"nothing", "rgb", "noise")
    with pytest.raises(UsageError, match="noise is not a picture"):
        _decode_with_opencv(b"", "rgb", "noise")


def test_a_damaged_file_may_be_the_first(folder: Path) -> None:
    (folder / "0.png").write_bytes(b"\x89PNG no longer")
    source = open_source(str(folder))
    source.open()
    assert [source.read(0) is not None for _ in range(3)] == [False, True, True]
    for path in folder.iterdir():
        path.write_bytes(b"")
    with pytest.raises(UsageError, match=r"0\.png is not a picture"):
        open_source(str(folder)).open()


def test_any_decoder_error_is_a_usage_error() -> None:
    """Pillow raises NotImplementedError for this pixel format."""
    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, "DDS")
    data = bytearray(file.getvalue())
    # The flags of the pixel format.
    data[80:84] = (131).to_bytes(4, "little")
    with pytest.raises(UsageError, match="x is not a picture"):
        decode_picture(bytes(data), "rgb", "x")
