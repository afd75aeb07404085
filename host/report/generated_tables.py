"""Update the generated tables in pages of the documentation.

A generated table is between the lines ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``. The rest of the page
is written by hand.
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
    """Return a Markdown table. ``right`` has the numbers of the columns that are right-aligned."""
    right_aligned = set(right)
    separators = ["-:" if column in right_aligned else "-" for column in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(separators) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def replace_section(page: str, name: str, content: str) -> str:
    """Return ``page`` with ``content`` between the two marker lines of ``name``.

    Raises:
        UsageError: the page does not have each marker line exactly once, or they are in the wrong order.
    """
    start, end = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
    head, found_start, rest = page.partition(start)
    _, found_end, tail = rest.partition(end)
    if not found_start or not found_end or start in tail or end in tail:
        raise UsageError(f"The page must have the lines '{start}' and '{end}' exactly once, in this order.")
    return f"{head}{start}\n{content.strip()}\n{end}{tail}"


def run(path: Path, sections: dict[str, str], arguments: Sequence[str] | None = None) -> int:
    """Run the command line of a script that generates a page.

    It writes ``sections`` (by the name in their marker lines) to the page at ``path``. With ``--check``, it only
    reports whether the page is up to date. ``arguments`` are the arguments of the command line (default: ``sys.argv``).
    Returns the exit code: 1 if ``--check`` finds that the page is not up to date, else 0.
    """
    parser = argparse.ArgumentParser(description=f"Update the generated tables of docs/{path.name}.")
    parser.add_argument(
        "--check",
        action="store_true",
        help="Do not change the page. Exit with code 1 if it is not up to date.",
    )
    options = parser.parse_args(arguments)
    old = path.read_text("utf-8")
    new = old
    for name, content in sections.items():
        new = replace_section(new, name, content)
    if new == old:
        return 0
    if options.check:
        print(f"docs/{path.name} is not up to date. Run this command without --check.", file=sys.stderr)
        return 1
    write_atomic(path, new)
    return 0
