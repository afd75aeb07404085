"""Define the options of the commands that use a meter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from arenite.host.cli.option_types import Number
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.open import METERS
from arenite.profiles.boards import Board

POSITIVE = Number(min=0, min_open=True)

_OPTIONS = (
    click.option(
        "--meter",
        type=click.Choice([*METERS, "auto"]),
        help=(
            "Meter to measure with. auto: the only meter that is connected. `arenite meter list` describes the "
            "meters."
        ),
    ),
    click.option(
        "--meter-port",
        default="auto",
        show_default=True,
        metavar="PORT",
        help=(
            "Port of the meter: a serial port, tcp:HOST[:PORT], or /dev/i2c-N:ADDRESS. auto: find the meter by "
            "its USB ids."
        ),
    ),
    click.option(
        "--supply",
        type=POSITIVE,
        metavar="VOLTS",
        help=(
            "Supply voltage of the board in volts. A PPK2, LPM01A or Otii powers the board with this voltage. "
            "Default: the voltage in the board's profile, else 3.3."
        ),
    ),
    click.option(
        "--own-supply",
        is_flag=True,
        help=(
            "The board has its own power supply, and a PPK2 only measures the current (ampere meter mode). "
            "Default: the PPK2 powers the board."
        ),
    ),
    click.option(
        "--rate",
        type=POSITIVE,
        metavar="HZ",
        help=(
            "Sampling rate in samples per second. Only for lpm01a, scpi, scpi-polled and joulescope. Default: the "
            "rate of the meter's driver."
        ),
    ),
    click.option(
        "--mark-input",
        type=click.IntRange(0, 7),
        help="Digital input of the meter that is connected to the pin of --mark. Default: the input whose level changes"
        " during the recording.",
    ),
)


def meter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``--meter``, ``--meter-port``, ``--supply``, ``--own-supply``, ``--rate`` and ``--mark-input`` to
    a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_meter(
    name: str, port: str, board: Board, supply: float | None, own_supply: bool, rate: float | None
) -> tuple[Meter, str]:
    """Return the meter that the options describe, which is not open yet, and its port. Raises ``UsageError`` if there
    is no such meter."""
    return MeterChoice(name, port, supply or board.supply_v, own_supply, rate).make()
