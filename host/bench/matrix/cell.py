"""Describe a cell of a matrix: one bench run with all its options."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from arenite.firmware.sizes import measure
from arenite.host.bench.store.origin import version
from arenite.host.bench.store.run_rows import BuildMode, describe_mode
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Cell:
    """One bench run of a matrix.

    ``data`` is a file or folder of samples, or None for random samples. ``samples`` is their number, or None for the
    bench's default. ``cycles`` is true for --cycles, false for --no-cycles, None for neither. ``ports`` are the serial
    ports of boards that may run the cell; it is empty for an emulated board.
    """

    model: Path
    board: Board
    mode: BuildMode
    data: Path | None = None
    samples: int | None = None
    cycles: bool | None = None
    ports: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return a name for messages: model, board, and the options that differ from the default."""
        words = describe_mode(self.mode.to_json())
        details = [] if words == "default" else [words]
        details += [self.data.name] if self.data is not None else []
        return f"{self.model.stem} on {self.board.name}" + (f" ({', '.join(details)})" if details else "")

    @property
    def key(self) -> str:
        """Return a hash of everything that the result depends on: file contents, board, mode, Arenite's
        version, and the C sources and compiler flags of the firmware."""
        parts = {
            "model": _file_hash(self.model),
            "data": None if self.data is None else _data_hash(self.data),
            # The order of a set differs between processes.
            "board": [repr(replace(self.board, features=frozenset())), sorted(self.board.features)],
            "mode": self.mode.to_json(),
            "name": [str(self.model), None if self.data is None else str(self.data)],
            "samples": self.samples,
            "cycles": self.cycles,
            "ports": self.ports,
            "program": [version(), measure.digest()],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    def command(self, store: Path, port: str | None, resume: bool) -> list[str]:
        """Return the ``arenite bench`` command, as a list of words, that runs only this cell on ``port`` and stores its
        result in ``store``."""
        words = [sys.executable, "-m", "arenite.host.cli.main", "bench", str(self.model), "--json"]
        words += ["--board", self.board.name, "--store", str(store), "--protocol", self.mode.protocol]
        words += ["--optimise", self.mode.optimise] if self.mode.optimise else []
        words += [] if self.mode.passes else ["--no-passes"]
        words += ["--stream-input"] if self.mode.stream_input else []
        words += [f"--mark={self.mode.mark}"] if self.mode.mark is not None else []
        words += ["--cores", str(self.mode.cores)] if self.mode.cores is not None else []
        words += ["--health"] if self.mode.health else []
        words += ["--fast-ram", str(self.mode.fast_ram)] if self.mode.fast_ram is not None else []
        words += ["--data", str(self.data)] if self.data is not None else []
        words += ["--samples", str(self.samples)] if self.samples is not None else []
        words += [] if self.cycles is None else ["--cycles" if self.cycles else "--no-cycles"]
        words += ["--port", port] if port is not None else []
        words += [] if resume else ["--no-resume"]
        return words

    def to_json(self) -> dict[str, Any]:
        """Return the options of this cell as JSON."""
        return {
            "model": self.model.stem,
            "path": str(self.model),
            "board": self.board.name,
            "optimise": self.mode.optimise,
            "protocol": self.mode.protocol,
            "passes": self.mode.passes,
            "stream_input": self.mode.stream_input,
            "mark": self.mode.mark,
            "cores": self.mode.cores,
            "health": self.mode.health,
            "fast_ram": self.mode.fast_ram,
            "data": None if self.data is None else str(self.data),
        }


@cache
def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _data_hash(path: Path) -> str:
    """Return the hash of a file, or the hash of the names, sizes and modification times of a folder's files."""
    if path.is_file():
        return _file_hash(path)
    digest_of_names = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        status = file.stat()
        digest_of_names.update(f"{file.relative_to(path)} {status.st_size} {status.st_mtime_ns};".encode())
    return digest_of_names.hexdigest()
