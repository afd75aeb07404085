"""Options that several commands share."""

from __future__ import annotations

import math
from typing import Any

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.features import DEFAULT_PIN
from arenite.firmware.generator.project import PROTOCOLS


class Number(click.FloatRange):
    """A range of real numbers: nan and inf are inside none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


optimise_option = click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    help="What to favour; default: the fastest that fits the board.",
)
protocol_option = click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default="arenite",
    show_default=True,
    help="Arenite's framed protocol, or the MLPerf Tiny monitor, or that of its energy mode.",
)
no_passes_option = click.option(
    "--no-passes", is_flag=True, help="Leave out the graph optimisations; they change no output."
)
stream_option = click.option(
    "--stream-input",
    is_flag=True,
    help="The input comes in rows and never stands whole in RAM; best with --optimise ram.",
)
fast_ram_option = click.option(
    "--fast-ram",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="What the arena may take of the board's first RAM; the rest goes to a second one. Default: all that is free.",
)
cores_option = click.option(
    "--cores",
    type=click.IntRange(1, 2),
    help="Cores that compute layers; default: as many as the board's profile has a port for, where that pays.",
)
health_option = click.option(
    "--health",
    is_flag=True,
    help="The device tells how it fares, has a watchdog where the board has one, and a log that survives a reset.",
)
mark_option = click.option(
    "--mark",
    is_flag=False,
    flag_value=DEFAULT_PIN,
    metavar="[PIN]",
    help="Raise a pin while an inference computes, for a meter; a real board needs the pin's name.",
)
