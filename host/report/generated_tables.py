"""Tables in the documentation that are generated from data, between two marker lines.

A page has ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->`` lines; everything around them is written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.files import write_atomic

DOCS = Path(__file__).resolve().parents[2] / "docs"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return a Markdown table; the columns numbered in ``right`` are set flush right."""
    flush = set(right)
    rule = ["-:" if column in flush else "-" for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(rule) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def with_section(page: str, name: str, content: str) -> str:
    """Return ``page`` with ``content`` between the markers of ``name``.

    Raises:
        UsageError: the page does not have each marker once, in order.
    """
    start, end = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
    head, found_start, rest = page.partition(start)
    _, found_end, tail = rest.partition(end)
    if not found_start or not found_end or start in tail or end in tail:
        raise UsageError(f"The page needs the lines '{start}' and '{end}' once, in this order.")
    return f"{head}{start}\n{content.strip()}\n{end}{tail}"


def run(path: Path, sections: dict[str, str], arguments: Sequence[str] | None = None) -> int:
    """Write the sections into the page at ``path``, or with ``--check`` report whether it is up to date.

    Returns the exit code: 0 when the page is up to date at the end, 1 when ``--check`` finds that it is not.
    """
    parser = argparse.ArgumentParser(description=f"Bring the generated part of docs/{path.name} up to date.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 when it is not current"
    )
    options = parser.parse_args(arguments)
    old = path.read_text("utf-8")
    new = old
    for name, content in sections.items():
        new = with_section(new, name, content)
    if new == old:
        return 0
    if options.check:
        print(f"docs/{path.name} is not current: run this again without --check.", file=sys.stderr)
        return 1
    write_atomic(path, new)
    return 0
