"""Compare a bench result with a baseline: the records of another engine, or an earlier result of Arenite.

Records have the form ``{"records": [{"engine", "core", "model", "instructions", ...}]}``, one per model and core. The
name of a model is its file name without the suffix. An earlier result is the output of ``arenite bench --json``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError, UsageError
from arenite.host.emulator.timing import load_timing
from arenite.input_files import parse_json, read_text

#: For each compared figure: its name, its key in a baseline's record, and its path of keys in a bench result.
FIGURES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("instructions", "instructions", ("inference", "instructions", "p50")),
    ("cycles", "cycles", ("inference", "cycles", "p50")),
    ("init", "init_instructions", ("init", "instructions")),
    ("arena", "arena_bytes", ("memory", "arena")),
    ("stack", "stack_bytes", ("memory", "stack")),
    ("ram_total", "ram_total_bytes", ("memory", "ram_total")),
    ("code", "flash_code_bytes", ("flash", "code")),
    ("flash_total", "flash_total_bytes", ("flash", "total")),
)
SCHEMA = "arenite.bench/1"
#: No inference takes more instructions.
_MAX_FIGURE = 1e18
#: A relative difference in cycles per instruction is reported if it is larger than this.
REPORTED_DIFFERENCE = 0.10


@dataclass(frozen=True)
class BaselineRecord:
    """The figures of one engine, core and model, by the names of ``FIGURES``. Missing figures have no entry."""

    engine: str
    core: str
    model: str
    figures: Mapping[str, float]


def read_baseline(path: Path) -> tuple[BaselineRecord, ...]:
    """Read the records of a baseline file. Raises ``UsageError`` when the file is not a baseline."""
    hint = (
        'Give a JSON file with {"records": [...]} of another engine (docs/bench.md), or the output of '
        "`arenite bench --json`."
    )
    try:
        data = parse_json(read_text(path))
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Give a file that you may read."
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.", hint) from error
    try:
        if isinstance(data, dict) and data.get("schema") == SCHEMA:
            return (_record_of_result(data),)
        records = tuple(_parse_record(row) for row in data["records"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is not a baseline: {type(error).__name__} at {error}.", hint) from error
    if not records:
        raise UsageError(f"{path} has no records.", hint)
    return records


def _parse_record(row: Mapping[str, Any]) -> BaselineRecord:
    """Return one record of another engine. Raises ``KeyError``, ``TypeError`` or ``ValueError`` if it is not valid."""
    figures = {name: row[key] for name, key, _ in FIGURES if row.get(key) is not None}
    _check_figures(figures)
    for key in ("engine", "core", "model"):
        if not isinstance(row[key], str):
            raise TypeError(f"{key}: {row[key]!r}")
    return BaselineRecord(row["engine"], row["core"], row["model"], figures)


def _record_of_result(data: Mapping[str, Any]) -> BaselineRecord:
    """Return the record of an output of ``arenite bench --json``."""
    figures = {name: value for name, value in figures_of(data).items() if value is not None}
    _check_figures(figures)
    return BaselineRecord("arenite", str(data["board"]["core"]), model_name(data), figures)


def _check_figures(figures: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a figure that is not a number of bytes, instructions or cycles."""
    for name, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MAX_FIGURE:
            raise ValueError(f"{name}: {value!r}")


def figures_of(result: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the figures of a bench result. A figure that the result does not have is None."""
    values: dict[str, float | None] = {}
    for name, _, key_path in FIGURES:
        value: Any = result
        for key in key_path:
            value = value.get(key) if isinstance(value, Mapping) else None
        values[name] = value
    return values


def model_name(result: Mapping[str, Any]) -> str:
    """Return the model's file name without its suffix. Records use it as the model's name."""
    return Path(result["model"]["path"]).stem


def matching_records(records: Sequence[BaselineRecord], core: str, model: str) -> list[BaselineRecord]:
    """Return the records of one model on one core."""
    return [r for r in records if r.core == core and r.model == model]


def require_record(records: Sequence[BaselineRecord], core: str, model: str, path: Path) -> None:
    """Raise ``UsageError`` when the baseline at ``path`` has no record to compare with."""
    if not matching_records(records, core, model):
        names = sorted({f"{r.model} on {r.core}" for r in records})
        listing = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        raise UsageError(f"{path} has no record of {model} on {core}.", f"Its records are: {listing}.")


def compare(
    result: Mapping[str, Any],
    records: Sequence[BaselineRecord],
    core: str | None = None,
    engine: str | None = None,
) -> dict[str, Any] | None:
    """Compare a result with the record of the same model. Returns None if there is no such record.

    If there are several records, the record with the fewest instructions is used. ``core`` selects records of this core
    (default: the core of the result), ``engine`` selects records of this engine (default: any).

    The returned dictionary has "engine" and "core" of the record, "figures" and "note". Each figure has the values of
    this result ("ours") and of the record ("theirs"), and "ratio": ours divided by theirs, so a ratio below 1 means
    that this result is smaller. "note" is a sentence if instructions and estimated cycles disagree, else None.
    """
    candidates = matching_records(records, core or result["board"]["core"], model_name(result))
    candidates = [r for r in candidates if engine in (None, r.engine)]
    if not candidates:
        return None
    record = min(candidates, key=lambda r: r.figures.get("instructions", math.inf))
    figures = {}
    for name, ours in figures_of(result).items():
        theirs = record.figures.get(name)
        if ours is not None and theirs is not None:
            ratio = round(ours / theirs, 3) if theirs else None
            figures[name] = {"ours": ours, "theirs": theirs, "ratio": ratio}
    return {
        "engine": record.engine,
        "core": record.core,
        "figures": figures,
        # For different cores, the ratio of instructions says nothing about the ratio of cycles.
        "note": _disagreement(figures, result) if record.core == result["board"]["core"] else None,
    }


def _disagreement(figures: Mapping[str, Mapping[str, Any]], result: Mapping[str, Any]) -> str | None:
    """Return a sentence if the ratio of estimated cycles (this result to the baseline) differs from the ratio of
    instructions, else None. If the baseline has no cycles, they are estimated from its instructions."""
    cycles = (result["inference"].get("cycles") or {}).get("p50")
    counted = figures.get("instructions")
    if counted is None or not counted["ratio"] or cycles is None or not counted["ours"]:
        return None
    if "cycles" in figures:
        ratio = figures["cycles"]["ratio"]
        baseline_cpi = f"{figures['cycles']['theirs'] / counted['theirs']:.2f} in the baseline"
    else:
        try:
            # The table assumes this many cycles per instruction for the kernels of other engines.
            assumed_cpi = load_timing(result["board"]["core"]).other_cpi
        except ProfileError:
            return None
        ratio = cycles / (counted["theirs"] * assumed_cpi)
        baseline_cpi = f"with {assumed_cpi:.2f} assumed for each of the baseline's instructions"
    if ratio is None or abs(ratio / counted["ratio"] - 1) <= REPORTED_DIFFERENCE:
        return None
    return (
        f"Instructions and estimated cycles disagree: {counted['ratio']:.2f} of the baseline's instructions, but about "
        f"{ratio:.2f} of its cycles ({cycles / counted['ours']:.2f} cycles per instruction here, {baseline_cpi})."
    )
