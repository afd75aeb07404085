"""Parse the limits of a budget that is given as text."""

from __future__ import annotations

import re
from collections.abc import Collection

from arenite.errors import UsageError
from arenite.host.governor.interface import Limits

#: Maps the name of a limit to its field in ``Limits``, and to its units. Each unit has the factor that converts it to
#: the unit of the field. A number without a unit has the first unit.
_LIMIT_UNITS: dict[str, tuple[str, dict[str, float]]] = {
    "power": ("power_w", {"w": 1.0, "mw": 1e-3}),
    "temperature": ("temperature_c", {"c": 1.0, "°c": 1.0}),
    "latency": ("latency_ms", {"ms": 1.0, "s": 1e3, "us": 1e-3}),
}
BUDGET_EXAMPLE = 'for example --budget "power=5W,temperature=70C,latency=50ms"'


def parse_budget(
    text: str, allowed: Collection[str] = tuple(_LIMIT_UNITS), example: str = BUDGET_EXAMPLE
) -> Limits:
    """Parse a budget such as ``power=5W,temperature=70C`` with limits of the names ``allowed``. Raises ``UsageError``,
    which names the wrong part and gives ``example``."""
    values: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = (side.strip().lower() for side in part.partition("="))
        if name not in allowed:
            raise UsageError(
                f"'{name}' is not a limit of a budget. The limits are {', '.join(allowed)}.",
                f"Give {example}.",
            )
        field, units = _LIMIT_UNITS[name]
        if field in values:
            raise UsageError(f"The budget names {name} twice.", f"Give {example}.")
        number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z°]*)", value)
        if number is None or number[2] not in ("", *units):
            raise UsageError(
                f"The budget's {name} is {value!r}, expected a number with {' or '.join(units)}.",
                f"Give {example}.",
            )
        amount = float(number[1]) * units[number[2] or next(iter(units))]
        if amount <= 0:
            raise UsageError(f"The budget's {name} is {value!r}, expected more than 0.", f"Give {example}.")
        values[field] = amount
    if not values:
        raise UsageError("The budget is empty.", f"Give {example}.")
    return Limits(**values)
