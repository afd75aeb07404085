"""Read the inputs of a duty cycle from files: event times, service times, the latency of a bench result, a measured
energy."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import AreniteError, UsageError
from arenite.host.duty.events import Floats
from arenite.host.duty.service import ServiceTimes
from arenite.input_files import MAX_TRACE_BYTES, parse_json, read_text
from arenite.profiles.boards import load_board

#: Units that the heading of a column of times may contain, and the seconds in each.
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_times(path: Path, description: str, default_unit: str) -> Floats:
    """Return the first column of a CSV file in s, shape (lines,). ``description`` names the contents in errors.

    A heading may contain its unit (``time_s``, ``service_ms``, ``t (us)``). Otherwise the unit is
    ``default_unit``. Raises ``UsageError`` for a file that cannot be read, or a line that is not a number.
    """
    try:
        text = read_text(path, "utf-8-sig", max_bytes=MAX_TRACE_BYTES)
        rows = list(csv.reader(text.splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(
            f"Cannot read the {description} {path}: {_reason(error)}.", "Give a CSV file."
        ) from error
    cells = [(k, row[0].strip()) for k, row in enumerate(rows, 1) if row and row[0].strip()]
    unit = UNITS[default_unit]
    if cells and not _is_number(cells[0][1]):
        name = cells.pop(0)[1].rstrip(")").lower()
        units = [u for u in UNITS if name.endswith(("_" + u, " " + u, "(" + u)) or name == u]
        unit = UNITS[units[0]] if units else unit
    values = []
    for line, text in cells:
        if not _is_number(text):
            raise UsageError(
                f"{path}, line {line}: '{text}' is not a time.",
                "Write one number per line, in the first column.",
            )
        values.append(float(text) * unit)
    if not values:
        raise UsageError(f"{path} contains no times.", f"Write the {description}, one per line.")
    return np.array(values)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is not a text file" if isinstance(error, UnicodeDecodeError) else str(error)


def read_result(path: Path, schema: str) -> dict[str, Any]:
    """Return the JSON result of another command. Raises ``UsageError`` if the file is not a result with this schema."""
    hint = f"Write it with `arenite {schema.split('.')[1].split('/')[0]} … --json > {path.name}`."
    try:
        data = parse_json(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {_reason(error)}.", hint) from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.", hint) from error
    if not isinstance(data, dict) or data.get("schema") != schema:
        actual = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise UsageError(f"{path} has the schema {actual!r}, expected {schema}.", hint)
    return data


@dataclass(frozen=True)
class Latency:
    """Service times, their source as text, their kind ("measured", "estimated" or "assumed"), and the board to which
    they belong."""

    service: ServiceTimes
    source: str
    kind: str
    board: str


def latency_of_bench(path: Path, board: str | None = None) -> Latency:
    """Return the time of an inference from a result ``arenite.bench/1``. For a real board it was measured. For an
    emulated board it is the estimated number of cycles divided by a board's clock frequency.

    ``board`` is the board whose clock converts the cycles. By default it is the board of the result. Times between the
    percentiles of the result are interpolated linearly. Raises ``UsageError`` for a result without a time.
    """
    data = read_result(path, "arenite.bench/1")
    try:
        inference, name = data["inference"], str(data["board"]["name"])
        if inference["latency_us"] is not None:
            service = _interpolated_times({k: v * 1e-6 for k, v in inference["latency_us"].items()})
            return Latency(service, f"{path.name}: measured on {name}", "measured", name)
        counted = inference["instructions"]
        per_instruction = inference["cycles"]["p50"] / counted["p50"]
        clock = load_board(board or name)
        seconds = {k: v * per_instruction / clock.clock_hz for k, v in counted.items()}
        source = (
            f"{path.name}: estimated cycles of {name}, at the {clock.clock_hz / 1e6:g} MHz of {clock.name}"
        )
        return Latency(_interpolated_times(seconds), source, "estimated", clock.name)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"{path} has no time of an inference.", "Run `arenite bench` again.") from error


def _interpolated_times(percentiles: dict[str, float]) -> ServiceTimes:
    """Return 256 equally likely times, interpolated between min, p50, p95, p99 and max. If minimum and maximum differ
    by less than 0.1 %, return one time, p50."""
    at = [("min", 0.0), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)]
    points = [percentiles[name] for name, _ in at]
    if points[-1] - points[0] <= 1e-3 * points[1]:
        return ServiceTimes.of(points[1])
    shares = (np.arange(256) + 0.5) / 256
    return ServiceTimes.of(
        np.interp(shares, [share for _, share in at], np.maximum.accumulate(points)).tolist()
    )


def latency_of_energy(path: Path) -> Latency:
    """Return the time of an inference from a result ``arenite.energy/1``, measured or estimated. Raises ``UsageError``
    if the result has no time."""
    data = read_result(path, "arenite.energy/1")
    try:
        duration, name = data["duration_ms"], str(data["board"]["name"])
        kind = str(duration["kind"])
        return Latency(ServiceTimes.of(float(duration["median"]) / 1e3), f"{path.name}: {name}", kind, name)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} has no time of an inference.", "Give --service MILLISECONDS.") from error


@dataclass(frozen=True)
class MeasuredPower:
    """The power while an inference runs and while the board sleeps (None if it is not known), the peak power, their
    source as text, and their kind ("measured", "estimated" or "assumed")."""

    active_w: float
    sleep_w: float | None
    peak_w: float | None
    source: str
    kind: str


def power_of_energy(path: Path) -> MeasuredPower:
    """Return the powers in a result ``arenite.energy/1``, measured or estimated. Raises ``UsageError`` if it has
    none."""
    data = read_result(path, "arenite.energy/1")
    try:
        sleep = data.get("sleep_current_a")
        kind = str(data["energy_uj_per_inference"]["kind"])
        peak = data.get("peak_power_w")
        return MeasuredPower(
            float(data["average_power_w"]),
            None if sleep is None else float(sleep) * float(data["supply_v"]),
            None if peak is None else float(peak),
            f"{path.name}: {kind}",
            kind,
        )
    except (KeyError, TypeError, ValueError, AreniteError) as error:
        raise UsageError(f"{path} has no power of an inference.", "Run `arenite energy` again.") from error


def trace_times(path: Path) -> Sequence[float]:
    """Return the event times of a recording in s. Raises ``UsageError`` if the file contains no times."""
    return [float(t) for t in read_times(path, "events", "s")]
