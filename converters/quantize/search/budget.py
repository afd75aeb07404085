"""The budget of a search: limits of memory, instructions and loss, such as
``ram=48k,flash=256k,instructions=5M,drop=1%``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError

#: The quantity that each key limits, for messages.
KEYS: Mapping[str, str] = {
    "ram": "bytes of RAM",
    "flash": "bytes of flash",
    "instructions": "instructions per inference",
    "drop": "largest loss of the metric, in percentage points",
    "accuracy": "lowest value of the metric, in percent",
}

_BYTES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1024**2, "mb": 1024**2, "mib": 1024**2}
_COUNTS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_EXAMPLE = 'Write for example "ram=48k,flash=256k,instructions=5M,drop=1%".'


@dataclass(frozen=True)
class Budget:
    """The limits of a search; None means no limit. ``ram`` and ``flash`` are in bytes; ``drop`` and ``accuracy`` are
    fractions (0.01 is 1 %).

    For the metric mse, ``drop`` is its relative increase, and ``accuracy`` cannot be used.
    """

    ram: int | None = None
    flash: int | None = None
    instructions: int | None = None
    drop: float | None = None
    accuracy: float | None = None

    def within(self, ram: int, flash: int) -> Budget:
        """Return the budget with its limits lowered to a board's ``ram`` and ``flash``."""
        return Budget(
            ram if self.ram is None else min(self.ram, ram),
            flash if self.flash is None else min(self.flash, flash),
            self.instructions,
            self.drop,
            self.accuracy,
        )

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in KEYS}

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> Budget:
        return Budget(**{key: table[key] for key in KEYS})


def parse_budget(text: str) -> Budget:
    """Parse a budget such as ``ram=48k,drop=1%``. Raises ``UsageError`` with the part that is wrong."""
    parsed_limits: dict[str, Any] = {}
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise UsageError("The budget is empty.", _EXAMPLE)
    for part in parts:
        key, equals, value = (s.strip() for s in part.partition("="))
        key = key.lower()
        if not equals or not value:
            raise UsageError(f"'{part}' in the budget has no value.", _EXAMPLE)
        if key not in KEYS:
            known = ", ".join(f"{k} ({meaning})" for k, meaning in KEYS.items())
            raise UsageError(f"A budget has no '{key}'.", f"It may limit {known}.")
        if key in parsed_limits:
            raise UsageError(f"The budget names {key} twice.", "Give each limit once.")
        parsed_limits[key] = _share(key, value) if key in ("drop", "accuracy") else _amount(key, value)
    return Budget(**parsed_limits)


def _amount(key: str, value: str) -> int:
    """Parse a number of bytes or instructions such as ``48k``."""
    units = _COUNTS if key == "instructions" else _BYTES
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)", value)
    unit = match[2].lower() if match else ""
    if match is None or unit not in units:
        names = "k, M or G" if key == "instructions" else "k (1024) or M (1024 k)"
        raise UsageError(
            f"'{key}={value}' in the budget is not an amount.",
            f"Give a number of {KEYS[key]}, with {names} if you like.",
        )
    amount = math.floor(float(match[1]) * units[unit])
    if amount < 1:
        raise UsageError(
            f"'{key}={value}' in the budget is less than 1.", f"Give a larger number of {KEYS[key]}."
        )
    return amount


def _share(key: str, value: str) -> float:
    """Parse a percentage such as ``1%`` and return it as a fraction."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*%", value)
    if match is None:
        raise UsageError(
            f"'{key}={value}' in the budget is not a percentage.", f"Write for example {key}={_example(key)}."
        )
    share = float(match[1]) / 100
    if share > 1:
        raise UsageError(f"'{key}={value}' in the budget is more than 100%.", "Give at most 100%.")
    return share


def _example(key: str) -> str:
    return "1% (one point, from 90.1% to 89.1%)" if key == "drop" else "90%"
