"""Read recordings that other programs wrote as CSV files: Otii, nRF Connect Power Profiler, Joulescope,
STM32CubeMonitor-Power, and other tables.

Columns are recognized by their names, and units by the text in the names: ``Timestamp(ms)``, ``Current(uA)``,
``D0``-``D7``, ``Main current (A)``, ``Main voltage (V)``, ``current_a``. Separator (``,``, ``;``, tab) and
decimal comma are detected.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arenite.errors import UsageError
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.input_files import MAX_TRACE_BYTES, read_bytes

_TIME = re.compile(r"time|^t\b|^t_|^seconds$|^s$", re.IGNORECASE)
_CURRENT = re.compile(r"current|(?<![a-z])amp|^i\b|^i_|^a$", re.IGNORECASE)
_VOLTAGE = re.compile(r"volt|^v\b|^v_|^u\b", re.IGNORECASE)
_DIGITAL = re.compile(r"^(?:d|gpi|in|bit)\s*_?([0-7])$", re.IGNORECASE)
#: All digital inputs as eight zeros and ones in one field.
_ALL_DIGITAL = re.compile(r"^d0\s*-\s*d7$", re.IGNORECASE)
_UNIT = re.compile(r"[\(\[]\s*([^\)\]]*?)\s*[\)\]]|_([numµμ]?[sav])$", re.IGNORECASE)
_SCALE = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "": 1.0}


def read_csv(path: str | Path, supply_v: float | None = None, rate_hz: float | None = None) -> Trace:
    """Return the recording in ``path``. Rows that are not numbers and gaps in time count as lost samples.

    Args:
        path: the CSV file.
        supply_v: the supply voltage; used if the file has no column of voltage.
        rate_hz: the samples per second; used if the file has no column of time.

    Raises:
        UsageError: the file cannot be read, or a required column is missing.
    """
    path = Path(path)
    try:
        text = read_bytes(path, MAX_TRACE_BYTES).decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(
            f"Cannot read {path}: {error.strerror}.", "Give a CSV file that the program of a meter wrote."
        ) from error
    header, rows, separator = _table(text, path)
    decimal_comma = separator != "," and any("," in cell for row in rows[:20] for cell in row)
    time_at, current_at = _column(header, _TIME), _column(header, _CURRENT)
    voltage_at = _column(header, _VOLTAGE)
    if current_at is None:
        raise UsageError(
            f"{path} has no column of current; its columns are: {', '.join(header)}.",
            "Name the column as in 'current (mA)'.",
        )
    if time_at is None and rate_hz is None:
        raise UsageError(
            f"{path} has no column of time; its columns are: {', '.join(header)}.",
            "Give the samples per second with --rate.",
        )
    if voltage_at is None and supply_v is None:
        raise UsageError(f"{path} has no column of voltage.", "Give the supply in volts (--supply 3.3).")
    required = [at for at in (time_at, current_at, voltage_at) if at is not None]
    digital, all_digital = _digital(header), _column(header, _ALL_DIGITAL)
    extra = [at for _, at in digital] + ([] if all_digital is None else [all_digital])
    table = _numbers(rows, [*required, *extra], decimal_comma)
    valid = np.isfinite(table).all(axis=1)
    lost = int(np.count_nonzero(~valid))
    table = table[valid]
    if len(table) < 2:
        raise UsageError(f"{path} has {len(table)} rows of numbers.", "At least two samples are needed.")
    columns = {at: table[:, k] for k, at in enumerate([*required, *extra])}
    if time_at is None:
        times = np.flatnonzero(valid) / float(rate_hz or 1)
    else:
        times = columns[time_at] * _scale(header[time_at], "s")
    if np.any(np.diff(times) <= 0):
        raise UsageError(
            f"The times in {path} are not strictly ascending.", "Export one recording, in its order."
        )
    step = float(np.median(np.diff(times)))
    if time_at is not None:
        lost = max(lost, int(np.sum(np.maximum(np.rint(np.diff(times) / step) - 1, 0))))
    marks = None
    if extra:
        marks = np.zeros(len(table), dtype=np.uint8)
        if all_digital is not None:
            # The field was read as one decimal number, whose first digit is D0.
            digits = columns[all_digital].astype(np.int64)
            for bit in range(8):
                marks |= (digits // 10 ** (7 - bit) % 10).astype(np.uint8) << np.uint8(bit)
        for bit, at in digital:
            marks |= (columns[at] > 0.5).astype(np.uint8) << np.uint8(bit)
    voltage: Floats | float = (
        columns[voltage_at] * _scale(header[voltage_at], "v")
        if voltage_at is not None
        else float(supply_v or 0)
    )
    return Trace(
        times,
        columns[current_at] * _scale(header[current_at], "a"),
        voltage,
        1 / step,
        marks=marks,
        lost_samples=lost,
        clock="file",
        meta={"meter": "csv", "file": str(path), "columns": [header[at] for at in required]},
    )


def _table(text: str, path: Path) -> tuple[list[str], list[list[str]], str]:
    """Return the names of the columns, the rows of cells, and the separator. The header is one of the first 40
    lines; lines before it are comments."""
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines[:40]):
        separator = max(",;\t", key=line.count)
        cells = [cell.strip().strip('"') for cell in line.lstrip("#").split(separator)]
        if _column(cells, _CURRENT) is not None and not _is_number(cells[0]):
            width = len(cells)
            parsed = csv.reader(lines[number + 1 :], delimiter=separator)
            try:
                rows = [row if len(row) >= width else [""] * width for row in parsed]
            except csv.Error as error:
                raise UsageError(
                    f"{path} is damaged: {error}.", "Export the recording again, as a CSV file."
                ) from error
            return cells, rows, separator
    raise UsageError(
        f"{path} has no header with a column of current in its first lines.",
        "The first line names the columns, as 'time (s),current (A)'.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _column(header: Sequence[str], pattern: re.Pattern[str]) -> int | None:
    return next((k for k, name in enumerate(header) if pattern.search(name)), None)


def _digital(header: Sequence[str]) -> list[tuple[int, int]]:
    matches = [(_DIGITAL.match(name), k) for k, name in enumerate(header)]
    return [(int(match[1]), k) for match, k in matches if match]


def _scale(name: str, base: str) -> float:
    """Return the factor of the unit in a column's name. A column without a unit is in seconds, amperes or volts."""
    match = _UNIT.search(name)
    unit = (match[1] or match[2] or "").lower() if match else ""
    if unit == "" or not unit.endswith(base) or unit[:-1] not in _SCALE:
        return 1.0
    return _SCALE[unit[:-1]]


def _numbers(rows: list[list[str]], columns: list[int], decimal_comma: bool) -> Floats:
    """Return the numbers of the columns, shape (rows, columns). A row with text that is not a number is NaN."""
    table = np.full((len(rows), len(columns)), np.nan)
    for n, row in enumerate(rows):
        try:
            table[n] = [float(row[k].replace(",", ".") if decimal_comma else row[k]) for k in columns]
        except ValueError:
            continue
    return table
