"""Types of numbers, and groups of options, for commands. The module imports little, so that commands start fast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click


class Number(click.FloatRange):
    """A command-line type for finite numbers in a range. It rejects nan and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class WholeNumber(click.ParamType[int]):
    """A command-line type for whole numbers, decimal or hexadecimal."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else int(str(value), 0)
        except ValueError:
            self.fail(f"'{value}' is not a whole number such as 4096 or 0x1000.", param, ctx)


def option_group(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds ``options`` to a command. The help shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
