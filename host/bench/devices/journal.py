"""A journal of what a device answered, so that a run that was cut short goes on where it stopped.

One file per run: a first line that says what was asked of whom, then one line per answered sample.  Each line carries a
CRC-32, and is written in one call: after a crash at most the last line is torn, and it is left out.

A line is ``sample ticks outputs``, where the protocol tells more followed by ``init layers board``: ticks before the
first layer, ticks of each layer with commas between them, and who answered.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, unquote

import numpy as np

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.bench.samples import Samples

#: Lines or seconds after which what was written is forced to the disk: what a power cut may cost.
SYNC_LINES, SYNC_S = 32, 2.0


@dataclass(frozen=True)
class DeviceAnswer:
    """What a device gave for one sample.

    ``outputs``: all output bytes, one output after the other; ``ticks`` of the inference, ``init`` of them before the
    first layer, ``layers`` of each layer, as far as the protocol tells; ``board``: which of several answered.
    """

    outputs: bytes
    ticks: int
    init: int = 0
    layers: tuple[int, ...] = ()
    board: str = ""


class UnsavedAnswers:
    """Answers that nobody keeps: what stands in for a :class:`Journal` in a short run."""

    def __init__(self) -> None:
        self.answers: dict[int, DeviceAnswer] = {}

    def add(self, index: int, answer: DeviceAnswer) -> None:
        """Remember the answer to sample ``index``."""
        self.answers[index] = answer


def data_hash(samples: Samples) -> str:
    """SHA-256 of every input byte, with its shape and type; labels do not change what a device answers."""
    digest = hashlib.sha256()
    for inputs in samples.inputs:
        for value in inputs:
            digest.update(f"{value.shape} {value.dtype.str};".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def project_hash(directory: Path) -> str:
    """SHA-256 of the sources of a generated project: the same firmware, wherever it lies."""
    digest = hashlib.sha256()
    for file in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = file.relative_to(directory)
        if not name.parts[0].startswith(".") and file.suffix in (".c", ".h", ".S", ".cpp", ".ld", ".ini"):
            content = file.read_bytes()
            digest.update(f"{name} {len(content)};".encode() + content)
    return digest.hexdigest()


class Journal:
    """Answers by the number of their sample, in a file below ``folder`` that ``key`` names.

    A key has everything that an answer depends on: image, firmware, data, board, protocol.  Runs with another key have
    another file.  ``resume`` off forgets what was there.
    """

    def __init__(self, folder: Path, key: Mapping[str, str], *, resume: bool = True) -> None:
        """Open or make the file.

        Raises:
            UsageError: it cannot be written, or another run is writing it.
        """
        self._head = json.dumps(dict(sorted(key.items())), sort_keys=True)
        self.path = folder / f"{hashlib.sha256(self._head.encode()).hexdigest()[:32]}.journal"
        self.answers: dict[int, DeviceAnswer] = {}
        self._unsynced = 0
        self._synced_at = time.monotonic()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(
                f"Cannot keep a journal in {folder}: {error.strerror or error}.",
                "Set ARENITE_CACHE to a folder that can be written.",
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise UsageError(
                "Another run of the same model, data and board is under way.", "Wait until it has ended."
            ) from error
        try:
            if resume:
                self._read()
            # Always written anew: a torn last line would run into the next one.
            lines = [self._head, *(_line(k, answer) for k, answer in sorted(self.answers.items()))]
            replace_file(self.path, ("\n".join(lines) + "\n").encode())
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            os.close(self._lock)
            raise UsageError(
                f"Cannot write {self.path}: {error.strerror or error}.",
                "Set ARENITE_CACHE to a folder that can be written.",
            ) from error

    def _read(self) -> None:
        if not self.path.is_file():
            return
        head, *lines = self.path.read_bytes().decode("ascii", "replace").split("\n")
        if head != self._head:
            return
        for line in lines:
            parsed = _parse(line)
            if parsed is not None:
                self.answers[parsed[0]] = parsed[1]

    def add(self, index: int, answer: DeviceAnswer) -> None:
        """Keep the answer to sample ``index``.  Raises ``OSError`` when the disk takes no more."""
        os.write(self._file, (_line(index, answer) + "\n").encode())
        self.answers[index] = answer
        self._unsynced += 1
        if self._unsynced >= SYNC_LINES or time.monotonic() - self._synced_at >= SYNC_S:
            self.sync()

    def discard(self) -> None:
        """The run is complete: the next one asks anew."""
        self.close()
        self.path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Force what was written to the disk."""
        os.fsync(self._file)
        self._unsynced, self._synced_at = 0, time.monotonic()

    def close(self) -> None:
        """Keep everything, and let other runs at it; doing it twice is harmless."""
        if self._file >= 0:
            self.sync()
            os.close(self._file)
            os.close(self._lock)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(index: int, answer: DeviceAnswer) -> str:
    text = f"{index} {answer.ticks} {answer.outputs.hex() or '-'}"
    if answer.init or answer.layers or answer.board:
        layers = ",".join(map(str, answer.layers))
        text += f" {answer.init} {layers or '-'} {quote(answer.board, safe='/') or '-'}"
    return f"{text} {zlib.crc32(text.encode()):08x}"


def _parse(line: str) -> tuple[int, DeviceAnswer] | None:
    text, _, check = line.rpartition(" ")
    if f"{zlib.crc32(text.encode()):08x}" != check:
        return None
    index, ticks, outputs, *more = text.split(" ")
    answer = DeviceAnswer(b"" if outputs == "-" else bytes.fromhex(outputs), int(ticks))
    if more:
        init, layers, board = more
        each = () if layers == "-" else tuple(map(int, layers.split(",")))
        named = "" if board == "-" else unquote(board)
        answer = replace(answer, init=int(init), layers=each, board=named)
    return int(index), answer
