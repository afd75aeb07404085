"""A WAV file of hours is mapped into memory, and has the samples that a small one has."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.long_sound import open_sound
from arenite.converters.processing.media_files import read_sound
from arenite.errors import UsageError

SAMPLES = np.arange(-500, 500, dtype=np.int16)


def write(path: Path, data: bytes, channels: int = 1, width: int = 2, rate: int = 16000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data)
    return path


def test_a_plain_file_is_mapped(tmp_path: Path) -> None:
    samples = open_sound(write(tmp_path / "a.wav", SAMPLES.tobytes()), 16000)
    assert isinstance(samples, np.memmap) and samples.tolist() == SAMPLES.tolist()


def test_chunks_before_the_samples_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", SAMPLES.tobytes())
    data = path.read_bytes()
    path.write_bytes(data[:36] + b"LIST\x03\0\0\0abc\0" + data[36:])
    samples = open_sound(path, 16000)
    assert isinstance(samples, np.memmap) and samples.tolist() == SAMPLES.tolist()


@pytest.mark.parametrize(("channels", "width"), [(2, 2), (1, 1), (1, 4)])
def test_other_formats_are_read_as_before(channels: int, width: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", SAMPLES.tobytes(), channels, width)
    samples = open_sound(path, 16000)
    assert not isinstance(samples, np.memmap)
    assert samples.tolist() == read_sound(path, 16000).tolist()


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", SAMPLES.tobytes(), rate=8000)
    with pytest.raises(UsageError, match="8000 samples per second"):
        open_sound(path, 16000)
    cut = tmp_path / "cut.wav"
    cut.write_bytes(path.read_bytes()[:-100])
    for broken in (cut, tmp_path / "missing.wav"):
        with pytest.raises(UsageError):
            open_sound(broken, 16000)


@pytest.mark.parametrize("channels", [1, 2])
def test_a_file_that_is_cut_off_is_refused_with_both_sizes(channels: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", SAMPLES.tobytes(), channels)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UsageError, match="states 2,000 bytes of samples, but the file has only 1,900"):
        open_sound(path, 16000)


def test_a_file_of_unknown_length_is_mapped_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", SAMPLES.tobytes())
    data = bytearray(path.read_bytes())
    data[40:44] = (0xFFFFFFFF).to_bytes(4, "little")  # as a program writes that cannot know it
    path.write_bytes(data + b"\1")
    samples = open_sound(path, 16000)
    assert isinstance(samples, np.memmap) and samples.tolist() == SAMPLES.tolist()
