"""Parse options that are given as text: budgets, processors, windows and runtime options."""

from __future__ import annotations

import re

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow
from arenite.host.governor.interface import Limits

#: Maps the name of a limit to its field in ``Limits``, and to its units. Each unit has the factor that converts it to
#: the unit of the field. A number without a unit has the first unit.
_LIMIT_UNITS: dict[str, tuple[str, dict[str, float]]] = {
    "power": ("power_w", {"w": 1.0, "mw": 1e-3}),
    "temperature": ("temperature_c", {"c": 1.0, "°c": 1.0}),
    "latency": ("latency_ms", {"ms": 1.0, "s": 1e3, "us": 1e-3}),
}
BUDGET_EXAMPLE = 'for example --budget "power=5W,temperature=70C,latency=50ms"'


def parse_budget(text: str) -> Limits:
    """Parse a budget such as ``power=5W,temperature=70C``. Raises ``UsageError``, which names the wrong part."""
    values: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = (side.strip().lower() for side in part.partition("="))
        if name not in _LIMIT_UNITS:
            raise UsageError(
                f"'{name}' is not a limit of a budget. The limits are {', '.join(_LIMIT_UNITS)}.",
                f"Give {BUDGET_EXAMPLE}.",
            )
        field, units = _LIMIT_UNITS[name]
        if field in values:
            raise UsageError(f"The budget names {name} twice.", f"Give {BUDGET_EXAMPLE}.")
        number = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z°]*)", value)
        if number is None or number[2] not in ("", *units):
            raise UsageError(
                f"The budget's {name} is {value!r}, expected a number with {' or '.join(units)}.",
                f"Give {BUDGET_EXAMPLE}.",
            )
        amount = float(number[1]) * units[number[2] or next(iter(units))]
        if amount <= 0:
            raise UsageError(
                f"The budget's {name} is {value!r}, expected more than 0.", f"Give {BUDGET_EXAMPLE}."
            )
        values[field] = amount
    if not values:
        raise UsageError("The budget is empty.", f"Give {BUDGET_EXAMPLE}.")
    return Limits(**values)


def parse_processors(text: str) -> tuple[int, ...]:
    """Parse a list of processor numbers, such as ``2``, ``0,2`` or ``1-3``. Raises ``UsageError``."""
    values: list[int] = []
    for part in text.split(","):
        number = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if number is None:
            raise UsageError(f"'{text}' is not a list of processors.", "Give for example 2, 0,2 or 1-3.")
        first, last = int(number[1]), int(number[2] or number[1])
        # More than 1024 processors (the size of glibc's ``cpu_set_t``) are a typing error.
        if not first <= last < first + 1024:
            raise UsageError(
                f"The processors '{part}' are not a range.",
                "Give the lower number first, and at most 1024 processors.",
            )
        values += range(first, last + 1)
    return tuple(dict.fromkeys(values))


def parse_window(text: str) -> CropWindow:
    """Parse a rectangle of the frame, ``LEFT,TOP,WIDTH,HEIGHT`` in pixels. Raises ``UsageError``."""
    try:
        left, top, width, height = (int(part) for part in text.split(","))
    except ValueError:
        left = top = width = height = 0
    if width <= 0 or height <= 0 or left < 0 or top < 0:
        raise UsageError(f"'{text}' is not a window.", "Give LEFT,TOP,WIDTH,HEIGHT in pixels of the frame.")
    return CropWindow(left, top, width, height)


def parse_runtime_options(texts: tuple[str, ...]) -> dict[str, str]:
    """Return runtime options as values by name. Each text is ``NAME=VALUE``. Raises ``UsageError``."""
    runtime_options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value):
            raise UsageError(f"'{text}' is not a runtime option.", "Give NAME=VALUE, such as precision=fp16.")
        runtime_options[name.strip()] = value
    return runtime_options
