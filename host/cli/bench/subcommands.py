"""``arenite bench`` takes an image or one of its subcommands: ``matrix``, ``history``, ``compare``."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arenite.host.bench.store.changes import RegressionRules
from arenite.host.cli.options import Number

#: Subcommand -> help line; each is a command in the module of that name.
SUBCOMMANDS = {
    "matrix": "Boards × models × modes from a file, several at once.",
    "history": "Earlier results beside each other; regressions are flagged.",
    "compare": "Two results beside each other, figure by figure and layer by layer.",
}

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    help="SQLite file of results. Default: $ARENITE_STORE, else the project's .arenite/bench.sqlite, else the user's.",
)


class CommandWithSubcommands(click.Command):
    """A command whose first argument may be one of ``SUBCOMMANDS`` (a file of such a name is ./matrix)."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command, or of the subcommand that the first argument names."""
        if args and args[0] in SUBCOMMANDS:
            module = importlib.import_module(f"arenite.host.cli.bench.{args[0]}")
            command: click.Command = getattr(module, args[0])
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the subcommands."""
        super().format_options(ctx, formatter)
        with formatter.section("Instead of IMAGE"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


def rules_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that define a regression; the command gets them as one parameter ``rules``."""

    @functools.wraps(command)
    def with_rules(
        *args: Any,
        allow_bytes: int,
        allow_instructions: float,
        allow_time: float,
        allow_accuracy: float,
        **rest: Any,
    ) -> Any:
        rules = RegressionRules(allow_bytes, allow_instructions / 100, allow_time / 100, allow_accuracy)
        return command(*args, rules=rules, **rest)

    plain = RegressionRules()
    options = (
        ("--allow-bytes", int, plain.bytes, "Growth of a size that is no regression, in bytes."),
        ("--allow-instructions", float, 100 * plain.instructions, "The same of exact counts, in percent."),
        ("--allow-time", float, 100 * plain.time, "The same of times and measured energies, in percent."),
        ("--allow-accuracy", float, plain.accuracy, "Loss of accuracy that is none, as a share."),
    )
    decorated: Callable[..., Any] = with_rules
    for name, kind, default, help_text in reversed(options):
        limits = click.IntRange(min=0) if kind is int else Number(min=0)
        decorated = click.option(name, type=limits, default=default, show_default=True, help=help_text)(
            decorated
        )
    return decorated
