"""Read when events happen in a recording: label files of Audacity, and CSV and TSV files."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.input_files import read_text

#: The endings of label files that belong to a WAV file of the same name, in the order in which they are looked for.
SUFFIXES = (".csv", ".tsv", ".txt")
_START, _END = ("start", "begin", "onset", "time"), ("end", "stop", "offset")
_LABEL = ("label", "class", "event", "name")
_HINT = (
    "Write start and end in seconds and the label, one event per line, as Audacity exports them; or a CSV file with "
    "the columns start, end (or duration) and label."
)


@dataclass(frozen=True)
class LabelledSpan:
    """An event in a recording, in seconds."""

    start_s: float
    end_s: float
    label: str


def label_file_of(sound: Path) -> Path | None:
    """Return the label file of a WAV file: the file beside it with the same name and another ending, or None."""
    for suffix in SUFFIXES:
        if sound.with_suffix(suffix).is_file():
            return sound.with_suffix(suffix)
    return None


def read_label_file(path: Path) -> list[LabelledSpan]:
    """Return the events of a label file, sorted by time. Raises ``UsageError`` with the line of a mistake."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read the labels {path}: {error}.", _HINT) from error
    text = text.removeprefix("\ufeff")  # spreadsheets write a byte order mark
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = "\t" if "\t" in first else ";" if ";" in first else ","
    # Audacity writes labels as they are, also those that begin with a quotation mark, and no names of columns.
    is_plain = delimiter == "\t" and _is_number(first.split("\t")[0])
    try:
        if is_plain:
            reader = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            reader = csv.reader(io.StringIO(text), delimiter=delimiter)
        lines = list(enumerate(reader, 1))
    except csv.Error as error:
        raise UsageError(f"Cannot read the labels {path}: {error}.", _HINT) from error
    rows = [
        (number, [cell.strip() for cell in cells])
        for number, cells in lines
        # Audacity writes the frequencies of a label in a line of its own, which begins with a backslash.
        if any(cell.strip() for cell in cells) and not cells[0].startswith(("\\", "#"))
    ]
    columns = {"start": 0, "end": 1, "label": 2}
    if rows and not _is_number(rows[0][1][0]):
        columns = _columns(rows.pop(0)[1], path)
    spans = [_span(cells, columns, f"{path}, line {number}") for number, cells in rows]
    return sorted(spans, key=lambda span: (span.start_s, span.end_s))


def _columns(header: list[str], path: Path) -> dict[str, int]:
    """Return the index of each column: start, label, and end or duration."""
    names = [name.lower().removesuffix("_s").removesuffix("_seconds") for name in header]
    columns: dict[str, int] = {}
    for column, choices in (("start", _START), ("end", _END), ("duration", ("duration",)), ("label", _LABEL)):
        found = [names.index(choice) for choice in choices if choice in names]
        if found:
            columns[column] = found[0]
    missing = [c for c in ("start", "label") if c not in columns]
    if "end" not in columns and "duration" not in columns:
        missing.append("end")
    if missing:
        raise UsageError(
            f"{path} has the columns {', '.join(header)[:200]}, and lacks {', '.join(missing)}.", _HINT
        )
    return columns


def _span(cells: list[str], columns: dict[str, int], location: str) -> LabelledSpan:
    if len(cells) <= max(columns.values()):
        raise UsageError(
            f"{location}: has {len(cells)} columns, expected {max(columns.values()) + 1}.", _HINT
        )
    start = _seconds(cells[columns["start"]], location)
    if "end" in columns:
        end = _seconds(cells[columns["end"]], location)
    else:
        end = start + _seconds(cells[columns["duration"]], location)
    if end < start:
        raise UsageError(f"{location}: the event ends at {end:g} s, before its start at {start:g} s.", _HINT)
    return LabelledSpan(start, end, cells[columns["label"]])


def _seconds(text: str, location: str) -> float:
    if not _is_number(text) or not 0 <= float(text) < 1e6:
        raise UsageError(f"{location}: is {text[:60]!r}, expected a time in seconds.", _HINT)
    return float(text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
