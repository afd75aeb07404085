"""Compare the predicted sizes of a project with those of its build and of its latest run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arenite.files import write_atomic
from arenite.host.build.elf_sizes import read_elf
from arenite.host.flash.build import read_manifest
from arenite.host.flash.flash import built_elf
from arenite.host.link.device_replies import DeviceMemory
from arenite.input_files import parse_json, read_text

#: The file in the project into which ``arenite bench --keep`` writes the device's memory report.
MEASURED = "measured.json"
#: Figures whose prediction must be exact. The prediction of the stack is an upper bound. ``arena_slow`` is the part of
#: ``arena`` that is in the board's second memory.
EXACT = ("arena", "arena_slow", "static", "weights", "code")


@dataclass(frozen=True)
class SizeFigure:
    """A size in bytes. A value is None if the size was not predicted, built or measured."""

    name: str
    predicted: int | None
    built: int | None
    measured: int | None

    @property
    def holds(self) -> bool:
        """Whether the prediction equals the size in the ELF (for the names in ``EXACT``), and is not below the measured
        size."""
        if self.predicted is None:
            return True
        equal = self.name not in EXACT or self.built is None or self.built == self.predicted
        return equal and (self.measured is None or self.measured <= self.predicted)


@dataclass(frozen=True)
class SizeCheck:
    board: str
    model: dict[str, Any]
    figures: tuple[SizeFigure, ...]
    guards_damaged: (
        int | None
    )  # number of overwritten guard words around the arena; None: no stored run of this ELF

    @property
    def holds(self) -> bool:
        return all(f.holds for f in self.figures) and not self.guards_damaged

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "arenite.fit/1",
            "model": self.model,
            "board": self.board,
            "holds": self.holds,
            "figures": [{**asdict(f), "holds": f.holds} for f in self.figures],
            "guards_damaged": self.guards_damaged,
        }


def check_sizes(directory: Path) -> SizeCheck:
    """Compare the prediction stored in a built project with its ELF, and with the latest run that ``bench`` stored.

    Raises ``UsageError`` for a folder that is not a project, or is not built yet.
    """
    manifest = read_manifest(directory)
    elf = built_elf(directory)
    predicted = manifest.get("predicted") or {}
    sizes = read_elf(elf).with_tables(predicted.get("tables_beside_weights", 0))
    run = _run_of(directory, elf)
    figures = [SizeFigure(name, predicted.get(name), getattr(sizes, name), None) for name in EXACT]
    figures.append(SizeFigure("stack", predicted.get("stack"), None, run.get("stack_used")))
    return SizeCheck(
        manifest["board"], manifest.get("model") or {}, tuple(figures), run.get("guards_damaged")
    )


def store_run_memory(directory: Path, elf: Path, memory: DeviceMemory) -> None:
    """Store the memory report of the device that ran ``elf`` in the project."""
    record = {
        "elf_sha256": _digest(elf),
        "stack_used": memory.stack_used,
        "guards_damaged": memory.guards_damaged,
    }
    write_atomic(directory / MEASURED, json.dumps(record, indent=2) + "\n")


def _run_of(directory: Path, elf: Path) -> dict[str, int]:
    """Return the stored memory report, or an empty dictionary if there is none or it is from another ELF."""
    try:
        record = parse_json(read_text(directory / MEASURED))
        return record if record["elf_sha256"] == _digest(elf) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
