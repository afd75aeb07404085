"""Parse options that are given as text: processors, windows and runtime options."""

from __future__ import annotations

import re

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow


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
