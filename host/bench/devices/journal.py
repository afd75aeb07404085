"""A journal of a device's answers, so that an interrupted run resumes where it stopped.

One file per run: a first line with the key of the run, then one line per answered sample. Each line carries a
CRC-32, and is written in one call: after a crash at most the last line is torn, and it is left out.

A line is ``sample ticks outputs``, where the protocol reports more followed by ``init layers board``: ticks
before the first layer, ticks of each layer with commas between them, and the board that answered.
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

#: Lines or seconds after which written data is forced to the disk: the most that a power cut may lose.
SYNC_LINES, SYNC_S = 32, 2.0


@dataclass(frozen=True)
class DeviceAnswer:
    """A device's answer to one sample.

    ``outputs``: all output bytes, one output after the other; ``ticks`` of the inference, ``init`` of them
    before the first layer, ``layers`` of each layer, as far as the protocol reports them; ``board``: which of
    several answered.
    """

    outputs: bytes
    ticks: int
    init: int = 0
    layers: tuple[int, ...] = ()
    board: str = ""


class UnsavedAnswers:
    """Answers in memory only, in place of a :class:`Journal` in a short run."""

    def __init__(self) -> None:
        self.answers: dict[int, DeviceAnswer] = {}

    def add(self, index: int, answer: DeviceAnswer) -> None:
        """Store the answer to sample ``index``."""
        self.answers[index] = answer


def data_hash(samples: Samples) -> str:
    """SHA-256 of every input byte, with its shape and type; labels are left out, because no answer depends on
    them."""
    digest = hashlib.sha256()
    for inputs in samples.inputs:
        for value in inputs:
            digest.update(f"{value.shape} {value.dtype.str};".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def project_hash(directory: Path) -> str:
    """SHA-256 of the sources of a generated project: the same for the same firmware in any folder."""
    digest = hashlib.sha256()
    for file in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = file.relative_to(directory)
        if not name.parts[0].startswith(".") and file.suffix in (".c", ".h", ".S", ".cpp", ".ld", ".ini"):
            content = file.read_bytes()
            digest.update(f"{name} {len(content)};".encode() + content)
    return digest.hexdigest()


class Journal:
    """Answers by the number of their sample, in a file below ``folder`` that ``key`` names.

    A key contains everything that an answer depends on: image, firmware, data, board, protocol. Runs with
    another key have another file. With ``resume`` off the earlier answers are dropped.
    """

    def __init__(self, folder: Path, key: Mapping[str, str], *, resume: bool = True) -> None:
        """Open or create the file.

        Raises:
            UsageError: the file cannot be written, or another run is writing it.
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
                "Another run of the same model, data and board is in progress.", "Wait until it has ended."
            ) from error
        try:
            if resume:
                self._read()
            # Always written anew, because the next line would be appended to a torn last line.
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
        """Store the answer to sample ``index``. Raises ``OSError`` when the disk accepts no more data."""
        os.write(self._file, (_line(index, answer) + "\n").encode())
        self.answers[index] = answer
        self._unsynced += 1
        if self._unsynced >= SYNC_LINES or time.monotonic() - self._synced_at >= SYNC_S:
            self.sync()

    def discard(self) -> None:
        """Delete the file of a complete run, so that the next run starts from the first sample."""
        self.close()
        self.path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Force the written data to the disk."""
        os.fsync(self._file)
        self._unsynced, self._synced_at = 0, time.monotonic()

    def close(self) -> None:
        """Write everything and release the file for other runs; a second call does nothing."""
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
