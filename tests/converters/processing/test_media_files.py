"""Image and audio files are read and preprocessed to tensors."""

from __future__ import annotations

import struct
import wave
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.media_files import preprocess_file, read_sound
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

RESIZE = {"do": "resize", "width": 6, "height": 4}


def image_spec(format: str = "rgb") -> Preprocessing:
    """Return preprocessing that resizes images of this pixel format."""
    return Preprocessing.from_json({"source": {"kind": "image", "format": format}, "steps": [RESIZE]})


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_an_image_file_becomes_a_tensor(ending: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 13, 3), np.uint8)
    path = tmp_path / f"a.{ending}"
    Image.fromarray(pixels).save(path)
    expected = np.asarray(Image.open(path).resize((6, 4), Image.Resampling.BILINEAR)).astype(np.float32)
    actual = preprocess_file(image_spec(), path)
    assert (actual.shape, actual.dtype) == ((1, 4, 6, 3), np.float32)
    assert np.array_equal(actual[0], expected)
    assert np.array_equal(preprocess_file(image_spec("bgr"), path, (1, 4, 6, 3))[0], expected[:, :, ::-1])
    assert preprocess_file(image_spec("grey"), path).shape == (1, 4, 6, 1)
    with pytest.raises(UsageError, match="the model's input is 1x5x5x3"):
        preprocess_file(image_spec(), path, (1, 5, 5, 3))


def test_an_unreadable_image_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nno more")
    for file in (path, tmp_path / "none.png"):
        with pytest.raises(UsageError, match="Cannot read the picture"):
            preprocess_file(image_spec(), file)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_wav_file_is_read_as_16_bit_samples(width: int, channels: int, tmp_path: Path) -> None:
    """Samples of every width (in bytes) are converted to the same 16-bit values. Channels are averaged."""
    left = np.array([0, 256, -256, 32512, -32768], np.int64)
    values = np.stack([left] * channels, axis=1).reshape(-1)
    raw = ((values >> 8) + 128).astype(np.uint8) if width == 1 else values << (8 * width - 16)
    data = (
        raw.tobytes() if width == 1 else b"".join(int(v).to_bytes(width, "little", signed=True) for v in raw)
    )
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(data)
    assert read_sound(path, 8000).tolist() == left.tolist()
    with pytest.raises(UsageError, match="8000 samples per second, the model's preprocessing takes 16000"):
        read_sound(path, 16000)


def test_a_wav_file_in_the_extensible_format_is_read(tmp_path: Path) -> None:
    """ffmpeg writes 24-bit samples in this format, with additional chunks."""
    path = tmp_path / "a.wav"
    samples = np.array([0, 256, -256, 32512], np.int64) << 8
    data = b"".join(int(v).to_bytes(3, "little", signed=True) for v in samples)
    guid = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"

    def write(kind: bytes) -> Path:
        """Write a file whose samples have the type ``kind``: 1 for integers, 3 for floats."""
        form = struct.pack("<HHIIHHHHI2s14s", 0xFFFE, 1, 8000, 24000, 3, 24, 22, 24, 4, kind, guid)
        chunks = ((b"LIST", b"odd"), (b"fmt ", form), (b"data", data))
        body = b"".join(n + len(c).to_bytes(4, "little") + c + b"\0" * (len(c) % 2) for n, c in chunks)
        path.write_bytes(b"RIFF" + (4 + len(body)).to_bytes(4, "little") + b"WAVE" + body)
        return path

    assert read_sound(write(b"\x01\0"), 8000).tolist() == [0, 256, -256, 32512]
    with pytest.raises(UsageError, match="Cannot read the sound"):
        read_sound(write(b"\x03\0"), 8000)  # float samples


def test_a_16_bit_image_is_refused(tmp_path: Path) -> None:
    """Pillow would convert nearly all of its pixels to white."""
    Image.fromarray(np.arange(0, 6400, 100, dtype=np.uint16).reshape(8, 8)).save(tmp_path / "a.png")
    with pytest.raises(UsageError, match="more than 8 bits per value"):
        preprocess_file(image_spec("grey"), tmp_path / "a.png")


def wav(fields: tuple[int, ...], stated: int = 4) -> bytes:
    """Return a WAV file with these fields of its format, two samples of 16 bits, and a stated size of the samples in
    bytes."""
    data = b"data" + struct.pack("<I", stated) + struct.pack("<hh", 1, 2)
    chunks = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, *fields) + data
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


@pytest.mark.parametrize(
    "content", [b"", b"RIFF\0\0\0\0WAVE", b"no sound at all, but long enough for a header ..."]
)
def test_an_unreadable_wav_file_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    for file in (path, tmp_path / "none.wav"):
        with pytest.raises(UsageError, match="Cannot read the sound"):
            read_sound(file, 16000)


#: The fields of a WAV file's format: code (1 for PCM), channels, rate, bytes per second, bytes per block, bits per
#: sample.
_PLAIN = (1, 1, 8000, 16000, 2, 16)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1RIFF<\0\0\0WAVE", "its chunks are damaged"),
        (wav((1, 1, 8000, 16000, 2, 65520)), "65520 bits per sample"),
        (wav((1, 0, 8000, 16000, 2, 16)), "Cannot read the sound"),
        (wav((1, 1, 8000, 16000, 2, 0)), "Cannot read the sound"),
    ],
)
def test_a_damaged_header_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_sound(path, 8000)


def test_a_file_with_fewer_samples_than_its_header_states_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(_PLAIN, stated=0xFFFFFFF0))
    assert read_sound(path, 8000).tolist() == [1, 2]


def test_a_file_that_is_cut_off_is_an_error_with_both_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(wav(_PLAIN, stated=4000))
    with pytest.raises(UsageError, match="states 4,000 bytes of samples, but the file has only 4") as error:
        read_sound(path, 8000)
    assert "ffmpeg" in str(error.value.hint)
    path.write_bytes(wav(_PLAIN)[:-1])
    with pytest.raises(UsageError, match="states 4 bytes of samples, but the file has only 3"):
        read_sound(path, 8000)
