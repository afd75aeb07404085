"""Stores a device's answers in a journal, so that an interrupted run can continue where it stopped.

Each run has one file. Its first line is the key of the run; each further line is the answer to one sample. A line ends
with a CRC-32 and is written in one call, so a crash damages at most the last line, which is then ignored.

A line is ``sample ticks outputs``: the sample's number, the ticks of the inference, and the output bytes in
hexadecimal. If the protocol reports more, ``init layers board`` follow: the ticks before the first layer, the ticks of
each layer separated by commas, and the name of the board that answered. An empty value is written as ``-``.
"""

from __future__ import annotations

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
from arenite.locks import try_lock

#: Written data is forced to the disk after this number of lines or of seconds. A power cut can lose no more than this.
SYNC_LINES, SYNC_S = 32, 2.0


@dataclass(frozen=True)
class DeviceAnswer:
    """A device's answer to one sample.

    Attributes:
        outputs: the bytes of all outputs, one output after the other.
        ticks: the duration of the inference, in ticks of the device's counter.
        init: the ticks before the first layer; 0 if the protocol does not report them.
        layers: the ticks of each layer; empty if the protocol does not report them.
        board: the name of the board that answered; empty if only one board runs the samples.
    """

    outputs: bytes
    ticks: int
    init: int = 0
    layers: tuple[int, ...] = ()
    board: str = ""


class UnsavedAnswers:
    """Keeps answers in memory only. A short run uses it in place of a :class:`Journal`."""

    def __init__(self) -> None:
        self.answers: dict[int, DeviceAnswer] = {}

    def add(self, index: int, answer: DeviceAnswer) -> None:
        """Store the answer to sample ``index``."""
        self.answers[index] = answer


def data_hash(samples: Samples) -> str:
    """Return the SHA-256 of all inputs with their shapes and types. Labels are left out, because no answer depends on
    them."""
    digest = hashlib.sha256()
    for inputs in samples.inputs:
        for value in inputs:
            digest.update(f"{value.shape} {value.dtype.str};".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def project_hash(directory: Path) -> str:
    """Return the SHA-256 of a generated project's sources. It does not depend on the folder's path."""
    digest = hashlib.sha256()
    for file in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = file.relative_to(directory)
        if not name.parts[0].startswith(".") and file.suffix in (".c", ".h", ".S", ".cpp", ".ld", ".ini"):
            content = file.read_bytes()
            digest.update(f"{name} {len(content)};".encode() + content)
    return digest.hexdigest()


class Journal:
    """Stores answers by the number of their sample, in a file in ``folder``.

    ``key`` contains everything that an answer depends on: image, firmware, data, board, protocol. Each key has its own
    file. If ``resume`` is true, ``answers`` starts with the answers of earlier runs; otherwise those answers are
    deleted.
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
                "Set ARENITE_CACHE to a writable folder.",
            ) from error
        try:
            try_lock(self._lock)
        except OSError as error:
            os.close(self._lock)
            raise UsageError(
                "Another run of the same model, data and board is in progress.", "Wait until it has ended."
            ) from error
        try:
            if resume:
                self._read()
            # The file is always rewritten. Otherwise the next line would be appended to a damaged last line.
            lines = [self._head, *(_line(k, answer) for k, answer in sorted(self.answers.items()))]
            replace_file(self.path, ("\n".join(lines) + "\n").encode())
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            os.close(self._lock)
            raise UsageError(
                f"Cannot write {self.path}: {error.strerror or error}.",
                "Set ARENITE_CACHE to a writable folder.",
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
        """Store the answer to sample ``index``. Raises ``OSError`` if the disk is full."""
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
        """Force all lines to the disk and release the file for other runs. A second call does nothing."""
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
    text, _, crc = line.rpartition(" ")
    if f"{zlib.crc32(text.encode()):08x}" != crc:
        return None
    index, ticks, outputs, *extra_fields = text.split(" ")
    answer = DeviceAnswer(b"" if outputs == "-" else bytes.fromhex(outputs), int(ticks))
    if extra_fields:
        init, layers, board = extra_fields
        layer_ticks = () if layers == "-" else tuple(map(int, layers.split(",")))
        board_name = "" if board == "-" else unquote(board)
        answer = replace(answer, init=int(init), layers=layer_ticks, board=board_name)
    return int(index), answer
