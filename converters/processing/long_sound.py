"""Open recordings of hours without reading them into memory."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from arenite.converters.processing.media_files import check_wav_is_whole, read_sound

#: The first field of the format of a WAV file with PCM samples.
_PCM = 1
#: Bytes of a sample.
_BYTES = 2


def open_sound(path: str | Path, rate: int) -> np.ndarray:
    """Return the samples of a WAV file as int16 [samples]. A file of 16-bit PCM with one channel is mapped into memory,
    so it may have any length; other files are read as a whole.

    Raises ``UsageError`` if the file cannot be read, is cut off, or does not have ``rate`` samples per second.
    """
    place = _data_of(Path(path), rate)
    if place is None:
        return read_sound(path, rate)
    offset, count = place
    return np.memmap(path, "<i2", "r", offset, (count,))


def _data_of(path: Path, rate: int) -> tuple[int, int] | None:
    """Return where the samples of a WAV file begin, in bytes, and how many it has; None unless it is a file of 16-bit
    PCM with one channel and ``rate`` samples per second. Raises ``UsageError`` if such a file is cut off."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(12)
            if head[:4] != b"RIFF" or head[8:] != b"WAVE":
                return None
            is_plain = False
            while len(header := file.read(8)) == 8:
                name, length = header[:4], struct.unpack("<I", header[4:])[0]
                if name == b"data":
                    if not is_plain or length < _BYTES:
                        return None
                    left = size - file.tell()
                    check_wav_is_whole(path, length, left)
                    count = min(length, left) // _BYTES
                    return (file.tell(), count) if count else None
                content = file.read(16) if name == b"fmt " else b""
                if len(content) == 16:
                    kind, channels, file_rate, _, _, bits = struct.unpack("<HHIIHH", content)
                    is_plain = (kind, channels, file_rate, bits) == (_PCM, 1, rate, 16)
                file.seek(length + length % 2 - len(content), 1)
    except OSError:
        return None  # read_sound tells what is wrong
    return None
