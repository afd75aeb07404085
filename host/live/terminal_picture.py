"""Draw a small picture with the characters of a terminal: two pixels, one above the other, in each character."""

from __future__ import annotations

import numpy as np
from rich.style import Style
from rich.text import Text

_MAX_COLUMNS, _MAX_ROWS = 64, 48
_SHADES = " ░▒▓█"


def picture_lines(pixels: np.ndarray, width: int, has_color: bool) -> list[Text]:
    """Return lines of at most ``width`` characters that show uint8 ``pixels`` [height, width, 1 or 3]. Without colors,
    the characters have shades of gray."""
    small = _reduced(pixels, max(width, 1))
    lines = []
    for top, bottom in zip(small[::2], small[1::2], strict=True):
        line = Text(no_wrap=True)
        for upper, lower in zip(top.tolist(), bottom.tolist(), strict=True):
            if has_color:
                line.append("▀", Style(color=_color(upper), bgcolor=_color(lower)))
            else:
                level = sum(upper + lower) / (2 * len(upper))
                line.append(_SHADES[int(level * len(_SHADES)) // 256])
        lines.append(line)
    return lines


def _reduced(pixels: np.ndarray, width: int) -> np.ndarray:
    """Return a smaller picture with an even number of rows: the nearest pixels."""
    rows, columns = pixels.shape[:2]
    scale = max(columns / min(width, _MAX_COLUMNS), rows / _MAX_ROWS, 1)
    new_rows, new_columns = max(round(rows / scale / 2), 1) * 2, max(int(columns / scale), 1)
    y = ((np.arange(new_rows) + 0.5) * rows / new_rows).astype(int)
    x = ((np.arange(new_columns) + 0.5) * columns / new_columns).astype(int)
    reduced: np.ndarray = pixels[y][:, x]
    return reduced


def _color(pixel: list[int]) -> str:
    red, green, blue = pixel if len(pixel) == 3 else 3 * pixel
    return f"#{red:02x}{green:02x}{blue:02x}"
