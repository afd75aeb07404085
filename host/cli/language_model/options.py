"""The argument and the options of the commands that run a language model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from arenite.host.llm.cache_types import CACHE_TYPES, DEFAULT_CACHE_TYPE

model_argument = click.argument("model", type=click.Path(path_type=Path))

cache_type_option = click.option(
    "--cache-type",
    type=click.Choice(list(CACHE_TYPES)),
    help=(
        f"Type of the cache of keys and values of a .gguf file. Default: {DEFAULT_CACHE_TYPE}. Other models decide it."
    ),
)

threads_option = click.option(
    "--threads", type=click.IntRange(1, 1024), help="Threads that compute. Default: the runtime's choice."
)


def context_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--context`` with the help ``text``."""
    return click.option(
        "--context",
        type=click.IntRange(min=64),
        default=2048,
        show_default=True,
        metavar="TOKENS",
        help=text,
    )
