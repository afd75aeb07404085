"""Define options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.features import DEFAULT_PIN
from arenite.firmware.generator.project import PROTOCOLS
from arenite.host.build.options import BuildOptions


class Number(click.FloatRange):
    """A command-line type for finite numbers in a range. It rejects nan and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


optimise_option = click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    help="What to optimize the build for. Default: the fastest build that fits the board.",
)
protocol_option = click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="arenite",
    show_default=True,
    help="Serial protocol: Arenite's framed protocol, the MLPerf Tiny monitor, or the monitor of its energy mode.",
)
no_passes_option = click.option(
    "--no-passes",
    is_flag=True,
    help="Do not apply the graph optimizations. The outputs are the same with and without them.",
)
stream_option = click.option(
    "--stream-input",
    is_flag=True,
    help="Take the input row by row, so that RAM never holds the whole input. Works best with --optimise ram.",
)
fast_ram_option = click.option(
    "--fast-ram",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help=(
        "Maximum number of bytes that the arena takes of the board's first (fast) RAM. The rest of the arena is in the "
        "second RAM. "
        "Default: all free bytes."
    ),
)
cores_option = click.option(
    "--cores",
    type=click.IntRange(1, 2),
    help="Number of cores that compute layers. Default: all cores that the board's profile supports.",
)
health_option = click.option(
    "--health",
    is_flag=True,
    help="Add a health report and a log that survives a reset to the firmware, and use the board's watchdog if it has "
    "one.",
)
mark_option = click.option(
    "--mark",
    is_flag=False,
    flag_value=DEFAULT_PIN,
    metavar="[PIN]",
    help="Set this pin high during each inference, as a trigger for a meter. PIN is required for a real board.",
)

_BUILD_OPTIONS = {
    "optimise": optimise_option,
    "protocol": protocol_option,
    "passes": no_passes_option,
    "stream_input": stream_option,
    "fast_ram": fast_ram_option,
    "mark": mark_option,
    "health": health_option,
    "cores": cores_option,
}


def build_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options for the fields ``names`` of ``BuildOptions`` to a command.

    The command receives them as one parameter, ``build``. Fields without an option keep their default.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*args: Any, **values: Any) -> Any:
            fields = {name: values.pop(name) for name in names if name != "passes"}
            if "passes" in names:
                fields["passes"] = not values.pop("no_passes")
            return function(*args, build=BuildOptions(**fields), **values)

        for name in reversed(names):
            command = _BUILD_OPTIONS[name](command)
        return command

    return decorate
