"""Add the subcommands ``matrix``, ``history`` and ``compare`` to ``arenite bench``, whose first argument is an image or
a subcommand."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arenite.errors import UsageError
from arenite.host.bench.store.changes import RegressionRules
from arenite.host.cli.option_types import Number
from arenite.host.llm.zoo_models import is_zoo_language_model

#: The help line of each subcommand. The command is in the module with the same name in this folder.
SUBCOMMANDS = {
    "matrix": "Run all combinations of the models, boards and build options in a file.",
    "history": "Show earlier results over time and flag regressions.",
    "compare": "Compare two results figure by figure and layer by layer.",
}

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    help=(
        "SQLite file for results. Default: the file in the environment variable ARENITE_STORE; else "
        "bench.sqlite in a folder .arenite of the current folder or the nearest folder above it; else "
        "arenite/bench.sqlite in $XDG_DATA_HOME or ~/.local/share."
    ),
)


class CommandWithSubcommands(click.Command):
    """A command whose first argument may be one of ``SUBCOMMANDS``. An image file with the
    same name as a subcommand is given as a path, such as ./matrix. A language model is measured on this computer."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command, of the one for language models, or of the subcommand that the first
        argument names."""
        command: click.Command
        if any(map(_is_language_model, args)):
            command = importlib.import_module("arenite.host.cli.language_model.bench").bench
            try:
                return command.make_context(info_name, args, parent, **extra)
            except click.NoSuchOption as error:
                if any(error.option_name in parameter.opts for parameter in self.params):
                    raise UsageError(
                        f"{error.option_name} is for models of microcontrollers. A language model is measured on this "
                        "computer.",
                        "Leave it out. `arenite bench MODEL.gguf --help` shows the options.",
                    ) from error
                raise
        if args and args[0] in SUBCOMMANDS:
            module = importlib.import_module(f"arenite.host.cli.bench.{args[0]}")
            command = getattr(module, args[0])
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help on the options, then on the subcommands."""
        super().format_options(ctx, formatter)
        with formatter.section("Subcommands (in place of IMAGE)"):
            formatter.write_dl(list(SUBCOMMANDS.items()))
        with formatter.section("Language models"):
            formatter.write_text(
                "A .gguf or .litertlm file, a folder with the file genai_config.json, or the name of a language model "
                "of the zoo, in place of IMAGE is measured on this computer. `arenite bench MODEL.gguf --help` shows "
                "the options."
            )


def _is_language_model(argument: str) -> bool:
    if argument.lower().endswith((".gguf", ".litertlm", "genai_config.json")) or is_zoo_language_model(
        argument
    ):
        return True
    return Path(argument, "genai_config.json").is_file()


def rules_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that define a regression to ``command``. The command receives them as one parameter,
    ``rules``."""

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

    defaults = RegressionRules()
    options = (
        (
            "--allow-bytes",
            int,
            defaults.bytes,
            "Do not flag a size that grows by at most this number of bytes.",
        ),
        (
            "--allow-instructions",
            float,
            100 * defaults.instructions,
            "Do not flag an instruction count that grows by at most this percentage.",
        ),
        (
            "--allow-time",
            float,
            100 * defaults.time,
            "Do not flag a time or measured energy that grows by at most this percentage.",
        ),
        (
            "--allow-accuracy",
            float,
            defaults.accuracy,
            "Do not flag an accuracy that falls by at most this fraction (0.01 = 1 %).",
        ),
    )
    decorated: Callable[..., Any] = with_rules
    for name, kind, default, help_text in reversed(options):
        limits = click.IntRange(min=0) if kind is int else Number(min=0)
        decorated = click.option(name, type=limits, default=default, show_default=True, help=help_text)(
            decorated
        )
    return decorated
