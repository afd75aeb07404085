"""Options of the commands that take a meter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from arenite.host.cli.options import Number
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.open import METERS
from arenite.profiles.boards import Board

POSITIVE = Number(min=0, min_open=True)

_OPTIONS = (
    click.option(
        "--meter", type=click.Choice([*METERS, "auto"]), help="The instrument; auto: the one connected."
    ),
    click.option(
        "--meter-port",
        default="auto",
        show_default=True,
        help="Its serial port, tcp:HOST[:PORT], or /dev/i2c-N:ADDRESS; auto: found by its USB ids.",
    ),
    click.option(
        "--supply",
        type=POSITIVE,
        help="Volts of the board's supply, which a PPK2, LPM01A or Otii gives; default: the board's profile, else 3.3.",
    ),
    click.option(
        "--own-supply",
        is_flag=True,
        help="Another supply feeds the board, and a PPK2 only carries its current (ampere mode).",
    ),
    click.option("--rate", type=POSITIVE, help="Samples per second, where a meter has a choice."),
    click.option(
        "--mark-input",
        type=click.IntRange(0, 7),
        help="The meter's digital input that the mark is connected to; default: the one that changes.",
    ),
)


def meter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--meter``, ``--meter-port``, ``--supply``, ``--own-supply``, ``--rate`` and ``--mark-input``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def supply_of(board: Board) -> float:
    """Volts that a board is fed with when nobody says."""
    return board.power.supply_v if board.power is not None else 3.3


def make_meter(
    name: str, where: str, board: Board, supply: float | None, own_supply: bool, rate: float | None
) -> tuple[Meter, str]:
    """The meter, not open yet, and where it is.  Raises ``UsageError``."""
    return MeterChoice(name, where, supply or supply_of(board), own_supply, rate).make()
