"""Convert a bench result to rows of the store, and a row of the store to a ``StoredRun``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arenite.host.bench.store.origin import Revision, host, version

#: Maps a column of the table ``runs`` to the path of its value in an ``arenite.bench/1`` object.
FIGURE_PATHS: dict[str, tuple[str, ...]] = {
    "model_path": ("model", "path"),
    "model_sha256": ("model", "sha256"),
    "image_sha256": ("build", "image_sha256"),
    "firmware_sha256": ("build", "firmware_sha256"),
    "compiler": ("build", "compiler"),
    "board": ("board", "name"),
    "core": ("board", "core"),
    "data_sha256": ("build", "data_sha256"),
    "samples": ("samples", "count"),
    "bit_exact": ("samples", "bit_exact"),
    "missing": ("samples", "missing"),
    "accuracy": ("samples", "accuracy"),
    "instructions": ("inference", "instructions", "p50"),
    "latency_us": ("inference", "latency_us", "p50"),
    "latency_p95_us": ("inference", "latency_us", "p95"),
    "cycles": ("inference", "cycles", "p50"),
    "init_instructions": ("init", "instructions"),
    "ram_total": ("memory", "ram_total"),
    "arena": ("memory", "arena"),
    "stack": ("memory", "stack"),
    "static": ("memory", "static"),
    "flash_total": ("flash", "total"),
    "weights": ("flash", "weights"),
    "code": ("flash", "code"),
    "energy_uj": ("energy", "energy_uj_per_inference", "median"),
    "energy_kind": ("energy", "energy_uj_per_inference", "kind"),
    "energy_p25_uj": ("energy", "energy_uj_per_inference", "p25"),
    "energy_p75_uj": ("energy", "energy_uj_per_inference", "p75"),
}
#: The columns of ``FIGURE_PATHS`` with text. All others have numbers.
_TEXT_COLUMNS = (
    "model_path", "model_sha256", "image_sha256", "firmware_sha256", "compiler", "board", "core", "data_sha256",
    "energy_kind",
)  # fmt: skip
#: The columns that every run has.
_REQUIRED_COLUMNS = ("samples", "bit_exact")
LAYER_COLUMNS = ("op", "macs", "instructions", "cycles", "ticks", "kernel", "tier")


@dataclass(frozen=True)
class BuildMode:
    """The options of the build and of the run. Only runs with equal options are compared."""

    optimise: str | None = None  # None: the fastest build that fits
    protocol: str = "arenite"
    passes: bool = True
    stream_input: bool = False
    stateful: bool = False
    mark: str | None = None
    cores: int | None = None
    health: bool = False
    fast_ram: int | None = None
    toolchain: str | None = None  # None: gcc
    code_in_ram: bool = False

    def to_json(self) -> str:
        """Return the options that differ from the default as JSON text. Equal modes have equal texts."""
        defaults = vars(BuildMode())
        return json.dumps({k: v for k, v in sorted(vars(self).items()) if v != defaults[k]}, sort_keys=True)


@dataclass(frozen=True)
class StoredRun:
    """A row of the table ``runs``.

    ``figures`` has a value for each column; it is None if the run does not have this figure. ``result`` is the complete
    ``arenite.bench/1`` object, or empty if it was not read.
    """

    id: int
    time: str
    model: str
    board: str
    mode: str
    data: str
    figures: Mapping[str, Any] = field(repr=False)
    result: Mapping[str, Any] = field(repr=False)

    @property
    def series(self) -> tuple[str, str, str]:
        """The model, board and mode of the run, which identify its series. Runs of a series may differ in their time,
        in the sources that were built, and in their samples."""
        return (self.model, self.board, self.mode)


def wrong_figure(figures: Mapping[str, Any]) -> str:
    """Return a description of the first figure that is missing or of the wrong type, or "" if all are right."""
    for column, key_path in FIGURE_PATHS.items():
        value = figures[column]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e30
        is_right = isinstance(value, str) if column in _TEXT_COLUMNS else is_number
        if not is_right and (value is not None or column in _REQUIRED_COLUMNS):
            kind = "text" if column in _TEXT_COLUMNS else "a number"
            return f"'{'.'.join(key_path)}' is {str(value)[:40]!r}, expected {kind}"
    return ""


def describe_mode(mode: str) -> str:
    """Return a mode as text, such as "ram, stream-input". A mode without options is "default"."""
    try:
        mode_values = json.loads(mode)
    except ValueError:
        return mode
    words = []
    for name, value in mode_values.items():
        if name == "passes":
            words.append("no-passes")
        elif value is True:
            words.append(name.replace("_", "-"))
        else:
            words.append(str(value) if name in ("optimise", "protocol") else f"{name} {value}")
    return ", ".join(words) or "default"


def value_at(result: Mapping[str, Any], key_path: tuple[str, ...]) -> Any:
    """Return the value at a path of a result, or None if the result has no such value."""
    value: Any = result
    for key in key_path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def run_row(
    result: Mapping[str, Any],
    mode: BuildMode,
    data: str,
    origin: Revision | None,
    matrix: str | None,
    cell: str | None,
) -> dict[str, Any]:
    """Return the row of table ``runs``. ``data`` is the name that the user gave for the samples."""
    row = {column: value_at(result, key_path) for column, key_path in FIGURE_PATHS.items()}
    if row["missing"] is None:
        row["missing"] = 0
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version(),
        "repository": None if origin is None else origin.repository,
        "revision": None if origin is None else origin.commit,
        "dirty": None if origin is None else origin.dirty,
        "model": Path(row["model_path"]).stem,
        "mode": mode.to_json(),
        "data": data,
        "host": host(),
        "matrix": matrix,
        "cell": cell,
        "result": json.dumps(result, separators=(",", ":")),
        **row,
    }


def layer_rows(run: int, result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of table ``layers``: run, index, then ``LAYER_COLUMNS``."""
    return [
        (run, k, *(layer.get(c) for c in LAYER_COLUMNS)) for k, layer in enumerate(result.get("layers") or ())
    ]
