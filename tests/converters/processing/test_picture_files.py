"""Pictures and recordings whose headers state more data than the files contain, or that are too large, are safe to
read."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from arenite.converters.processing import media_files
from arenite.converters.processing.media_files import read_picture, read_sound
from arenite.errors import UsageError
from arenite.host.camera.sources.picture_decoder import decode_picture


def _png(width: int, height: int) -> bytes:
    """Return a PNG file whose header states the size, but which contains no pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(13_000, 13_000), (1, 20_000_000), (5_000, 4_000)])
def test_a_small_picture_that_states_many_pixels_is_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "large.png").write_bytes(_png(*size))
    with pytest.raises(UsageError, match=f"states {size[0]} x {size[1]} pixels"):
        read_picture(tmp_path / "large.png", "rgb")
    with pytest.raises(UsageError, match=f"states {size[0]} x {size[1]} pixels"):
        decode_picture(_png(*size), "rgb", "large.png")


def test_a_large_photograph_is_read(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3000, 6000, 3), dtype=np.uint8)  # 18 million pixels
    Image.fromarray(pixels).save(tmp_path / "large.jpg", quality=50)
    assert read_picture(tmp_path / "large.jpg", "rgb").shape == pixels.shape


def test_a_picture_format_that_pillow_reads_with_another_program_is_refused(tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "EPS")  # Pillow draws it with Ghostscript
    (tmp_path / "drawing.png").write_bytes(picture.getvalue())
    with pytest.raises(UsageError, match="cannot identify"):
        read_picture(tmp_path / "drawing.png", "rgb")
    with pytest.raises(UsageError, match="cannot identify"):
        decode_picture(picture.getvalue(), "rgb", "drawing.png")


def _wav(path: Path, frames: int) -> None:
    """Write a recording of ``frames`` samples with the value 1."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(b"\1\0" * frames)


def test_a_recording_with_fewer_samples_than_its_header_states_is_read_to_its_end(tmp_path: Path) -> None:
    _wav(tmp_path / "short.wav", 100)
    data = bytearray((tmp_path / "short.wav").read_bytes())
    data[40:44] = (0xFFFFFFF0).to_bytes(4, "little")
    (tmp_path / "short.wav").write_bytes(data)
    assert read_sound(tmp_path / "short.wav", 16_000).tolist() == [1] * 100


def test_a_recording_of_more_than_64_mib_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "long.wav").open("wb") as file:
        file.truncate(media_files.MAX_SOUND_BYTES + 1)  # a sparse file, which takes no space on the disk
    with pytest.raises(UsageError, match="more than 67,108,864 bytes"):
        read_sound(tmp_path / "long.wav", 16_000)
