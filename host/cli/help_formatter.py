"""Format help texts so that options and names stay whole: Click breaks lines after hyphens, as in ``--no-`` and
``resume``."""

from __future__ import annotations

from collections.abc import Iterable

import click

#: Stands for a hyphen while lines are broken, because Python's textwrap does not break after it.
_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class HelpFormatter(click.HelpFormatter):
    """A formatter that breaks lines at spaces only."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(a, b.replace("-", _HYPHEN)) for a, b in rows], col_max, col_spacing)

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args.replace("-", _HYPHEN), prefix)

    def getvalue(self) -> str:
        return super().getvalue().replace(_HYPHEN, "-")
