"""Store the samples that users of a page send: a data set for ``convert --calibration`` and ``--check-data``.

The page sends exactly what the model's preprocessing got: raw RGBA pixels, or 16-bit samples of sound. Their number is
fixed, so no format of the outside is parsed here.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import struct
import threading
import time
import wave
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import replace_file

#: The record of all samples: one line of JSON for each.
RECORD = "collected.jsonl"
#: The names of the classes' sub-folders, one per line.
LABELS = "labels.txt"
#: The maximum length of the name of a sub-folder in bytes. File systems allow 255.
_MAX_NAME_BYTES = 200
#: The maximum number of bytes that a folder takes, so that a page cannot fill the disk.
MAX_FOLDER_BYTES = 2_000_000_000
#: The maximum length of the answers that the page sends with a sample, in bytes of JSON text.
MAX_ANSWER_BYTES = 4096


class CollectionError(Exception):
    """A sample cannot be stored. The text says why."""


@dataclass(frozen=True)
class SampleFormat:
    """The format of the samples that a page sends: pictures of ``width`` x ``height`` RGBA pixels, or if ``rate`` is
    not 0, ``count`` samples of sound at ``rate`` per second, as 16-bit integers, little-endian."""

    width: int = 0
    height: int = 0
    rate: int = 0
    count: int = 0

    @property
    def nbytes(self) -> int:
        """The size of a sample in bytes, as the page sends it."""
        return 2 * self.count if self.rate else 4 * self.width * self.height

    @property
    def suffix(self) -> str:
        return ".wav" if self.rate else ".png"

    def file(self, data: bytes) -> bytes:
        """Return the sample ``data`` as the bytes of a PNG file without alpha channel, or of a WAV file."""
        if self.rate:
            stream = BytesIO()
            with wave.open(stream, "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(self.rate)
                file.writeframes(data)
            return stream.getvalue()
        return _png(self.width, self.height, data)


@dataclass
class SampleCollection:
    """A folder with samples. If the model classifies, ``labels`` are its classes, and each has a sub-folder.

    Raises ``UsageError`` if the folder has other files, or cannot be written.
    """

    folder: Path
    format: SampleFormat
    labels: Sequence[str] = ()
    _used: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._folders = _folder_names(self.labels)
        label_file = self.folder / LABELS
        labels = "".join(f"{name}\n" for name in self._folders).encode()
        try:
            if self.folder.is_dir():
                self._used = sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())
            if self._used and not (self.folder / RECORD).is_file():
                raise UsageError(
                    f"{self.folder} has files that --collect did not write.", "Give a new or empty folder."
                )
            if self._used and (label_file.read_bytes() if label_file.is_file() else b"") != labels:
                raise UsageError(
                    f"{self.folder} has samples for other classes than this model's.", "Give a new folder."
                )
            if labels:
                replace_file(label_file, labels)
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / RECORD).touch()
        except OSError as error:
            raise UsageError(
                f"The folder {self.folder} of --collect cannot be used: {error.strerror or error}.",
                "Give a folder that you may write to.",
            ) from error

    def add(self, data: bytes, label: str, answer: str) -> str:
        """Store a sample, and return its path in the folder. ``answer`` is what the model answered, as JSON text.

        Raises ``CollectionError`` if the sample has another size, the label is not one of the model, the answer is not
        JSON, or the disk or the folder is full.
        """
        if len(data) != self.format.nbytes:
            raise CollectionError(f"A sample has {self.format.nbytes:,} bytes, but {len(data):,} arrived.")
        if label not in (self.labels or ("",)):
            raise CollectionError("The label is not a class of the model.")
        if len(answer.encode()) > MAX_ANSWER_BYTES:
            raise CollectionError("The answer is too long.")
        try:
            answers = json.loads(answer)
            json.dumps(answers, allow_nan=False)  # Python reads NaN and 1e999, but other programs do not
        except (ValueError, RecursionError) as error:
            raise CollectionError("The answer is not JSON.") from error
        subfolder = f"{self._folders[list(self.labels).index(label)]}/" if self.labels else ""
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        # Random digits keep two samples of one second apart.
        name = f"{subfolder}{stamp}-{secrets.token_hex(4)}{self.format.suffix}"
        content = self.format.file(data)
        line = json.dumps({"file": name, "label": label or None, "answer": answers}) + "\n"
        with self._lock:
            if self._used + len(content) + len(line) > MAX_FOLDER_BYTES:
                raise CollectionError(f"The folder has {MAX_FOLDER_BYTES / 1e9:.0f} GB of samples already.")
            try:
                self._store(name, content, line.encode())
            except OSError as error:
                raise CollectionError(f"The sample cannot be stored: {error.strerror or error}.") from error
            self._used += len(content) + len(line)
        return name

    def _store(self, name: str, content: bytes, line: bytes) -> None:
        """Write the file ``name`` and its line of the record, or neither. Raises ``OSError``."""
        sample, record = self.folder / name, self.folder / RECORD
        replace_file(sample, content, durable=False)
        try:
            with record.open("ab", buffering=0) as file:
                size = file.tell()
                if file.write(line) != len(line):  # the disk is full
                    file.truncate(size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            sample.unlink(missing_ok=True)
            raise


def _folder_names(labels: Sequence[str]) -> list[str]:
    """Return a different name of a folder for each label: the label, without characters that a path cannot have."""
    names: list[str] = []
    used = {RECORD, LABELS}  # in lower case, because some file systems do not distinguish it
    for k, label in enumerate(labels):
        text = re.sub(r"[^\w .,+()-]", "_", label).encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
        base = text.strip(" .") or f"class {k}"
        candidates = (base, *(f"{base} ({number})" for number in range(k, k + len(used) + 1)))
        name = next(each for each in candidates if each.lower() not in used)
        used.add(name.lower())
        names.append(name)
    return names


def _png(width: int, height: int, rgba: bytes) -> bytes:
    """Return the picture as a PNG file (W3C PNG, third edition) with 8-bit RGB pixels."""
    rows = bytearray()
    for row in range(height):
        pixels = rgba[4 * width * row : 4 * width * (row + 1)]
        line = bytearray(3 * width)
        for channel in range(3):
            line[channel::3] = pixels[channel::4]
        rows += b"\0" + line  # filter type 0: the pixels are stored unchanged
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 6)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
