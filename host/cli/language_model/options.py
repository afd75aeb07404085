"""The argument and the options of the commands that run a language model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from arenite.errors import UsageError
from arenite.host.cli.option_types import Number, option_group
from arenite.host.governor.interface import Limits
from arenite.host.llm.budget.options import BudgetOptions, parse_limits
from arenite.host.llm.cache_types import CACHE_TYPES, DEFAULT_CACHE_TYPE
from arenite.host.llm.language_model import DEFAULT_CONTEXT

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
        "asked_context",
        type=click.IntRange(min=64),
        metavar="TOKENS",
        help=f"{text} Default: {DEFAULT_CONTEXT}, or the model's own context if it is shorter.",
    )


#: The most memory of the process. `arenite camera` has the same option for its models.
memory_budget_option = click.option(
    "--memory-budget",
    "memory_mb",
    type=Number(0, min_open=True),
    metavar="MB",
    help=(
        "Maximum memory of the process, in MB. The model is not loaded if its predicted memory is larger. Default: no "
        "limit but the free memory of this computer."
    ),
)

_governor_options = option_group(
    click.option(
        "--budget",
        "limits",
        metavar="LIMITS",
        help=(
            'Limits, such as "power=5W,temperature=70C". A control loop, the governor, keeps them by pauses between '
            "tokens. Default: no limits."
        ),
    ),
    memory_budget_option,
    click.option(
        "--host",
        metavar="PROFILE",
        help=(
            "Profile of this computer in profiles/hosts, which the governor starts from, and which is used to estimate "
            "the power. Default: the profile that matches this computer."
        ),
    ),
    click.option(
        "--power-source",
        metavar="NAME",
        help=(
            "Sensor from which the governor reads the power, or a part of its name, such as ina3221, rapl or battery. "
            "Default: the best sensor of this computer."
        ),
    ),
    click.option(
        "--set-frequency",
        is_flag=True,
        help="Allow the governor to lower the processor's maximum frequency.",
    ),
    click.option("--root", type=click.Path(path_type=Path, exists=True), default="/", hidden=True),
)


def budget_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a budget to ``command``, which gets their values as one argument, ``budget``, a
    ``BudgetOptions``."""

    @functools.wraps(command)
    def with_budget(
        limits: str | None,
        memory_mb: float | None,
        host: str | None,
        power_source: str | None,
        set_frequency: bool,
        root: Path,
        **more: Any,
    ) -> Any:
        wanted = Limits() if limits is None else parse_limits(limits)
        if limits is None and (power_source is not None or set_frequency):
            option = "--set-frequency" if power_source is None else "--power-source"
            raise UsageError(f"{option} is an option of --budget.", "Give --budget as well.")
        budget = BudgetOptions(wanted, memory_mb, host, power_source, set_frequency, root)
        return command(budget=budget, **more)

    return cast(Callable[..., Any], _governor_options(with_budget))
