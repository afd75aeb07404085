"""Output functions of all commands: one JSON object for programs, or text and tables for users."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from arenite.printable import printable
from arenite.safe_console import SafeConsole

# Names of files and tensors may contain brackets and colons, so markup and emoji are off.
#: The console for progress and warnings. Standard output has only results.
stderr = SafeConsole(stderr=True, highlight=False, markup=False, emoji=False)
stdout = SafeConsole(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 160)


def print_json(value: Any) -> None:
    """Write exactly one JSON object to standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table whose numeric columns (all cells are numbers, sizes or '-') are right-aligned."""
    rich_table = Table(title=printable(title), title_justify="left", title_style="bold")
    texts = [[printable(str(cell), keep="\n") for cell in row] for row in rows]
    for k, column in enumerate(columns):
        cells = [row[k] for row in texts]
        numeric = bool(cells) and all(c in ("", "-") or c.strip("~+-")[:1].isdigit() for c in cells)
        rich_table.add_column(
            column, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold"
        )
    for row in texts:
        rich_table.add_row(*row)
    return rich_table


def show(*parts: object) -> None:
    """Print sentences and tables to standard output. Sentences are not wrapped."""
    for part in parts:
        stdout.print(part, soft_wrap=isinstance(part, str))


def note(text: str) -> None:
    """Write one line of progress or warning to standard error."""
    stderr.print(text, style="dim", soft_wrap=True)
