"""Options that several commands share."""

from __future__ import annotations

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.project import PROTOCOLS

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
    help="Arenite's framed protocol, or the MLPerf Tiny monitor.",
)
no_passes_option = click.option(
    "--no-passes", is_flag=True, help="Leave out the graph optimisations; they change no output."
)
stream_option = click.option(
    "--stream-input",
    is_flag=True,
    help="The input comes in rows and never stands whole in RAM; best with --optimise ram.",
)
