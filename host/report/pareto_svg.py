"""Draw the builds of a model, in two plots: instructions over RAM and over flash.

The marks of the builds on the Pareto front are filled.

The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

#: Maps the optimization goal of a build to (color in the light scheme, color in the dark scheme).
_COLORS = {
    "speed": ("#b3261e", "#ff8a80"),
    "balanced": ("#2f6fb5", "#6fa8e6"),
    "ram": ("#4d8a3d", "#86c373"),
    "flash": ("#8a5bb0", "#bd93e0"),
}

# In pixels: the width of the picture, width and height of a plot, the margins left and above, and the gap between
# plots.
_WIDTH, _PANEL, _HEIGHT, _LEFT, _TOP, _GAP = 960, 380, 300, 70, 44, 90
_ROW = 18  # height of a row of the legend, in pixels
_STYLE = (
    ".ar-pareto text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-pareto .ar-soft{fill:#5b6675}"
    ".ar-pareto .ar-number{font-size:10px;font-weight:600;fill:#fff;pointer-events:none}"
    ".ar-pareto .ar-open+.ar-number{fill:#1c2430}.ar-pareto .ar-grid{stroke:#d6dce4}.ar-pareto .ar-paper{fill:#fff}"
    ".ar-pareto .ar-limit{stroke:#b3261e;stroke-dasharray:6 4}.ar-pareto .ar-open{fill:#fff;stroke-width:1.5}"
    + "".join(f".ar-pareto .ar-{k}{{fill:{v[0]};stroke:{v[0]}}}" for k, v in _COLORS.items())
    + ".ar-pareto .ar-open{fill:#fff}"
    "@media (prefers-color-scheme:dark){.ar-pareto text{fill:#e4e9f0}.ar-pareto .ar-soft{fill:#9aa7b8}"
    ".ar-pareto .ar-number{fill:#14181e}.ar-pareto .ar-open+.ar-number{fill:#e4e9f0}"
    ".ar-pareto .ar-grid{stroke:#38424f}.ar-pareto .ar-paper{fill:#14181e}"
    + "".join(f".ar-pareto .ar-{k}{{fill:{v[1]};stroke:{v[1]}}}" for k, v in _COLORS.items())
    + ".ar-pareto .ar-open{fill:#14181e}}"
)


def pareto_svg(builds: Sequence[Mapping[str, Any]], limits: Mapping[str, int]) -> str:
    """Return an SVG element with the ``builds`` of an ``arenite.pareto/1`` object. There must be at least one build.

    ``limits`` has the board's bytes of "ram" and "flash". A limit is drawn if it is not much larger than the largest
    build.
    """
    rows = -(-len(builds) // 2)
    height = _TOP + _HEIGHT + 60 + rows * _ROW
    parts = [f'<rect class="ar-paper" width="{_WIDTH}" height="{height}"/>']
    for panel_number, (memory, title) in enumerate((("ram", "RAM"), ("flash", "flash"))):
        left = _LEFT + panel_number * (_PANEL + _GAP)
        parts += _panel(builds, memory, title, limits[memory], left)
    parts += _legend(builds)
    label = f"{len(builds)} builds by RAM, flash and instructions"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-pareto" role="img" aria-label="{label}" '
        f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _panel(
    builds: Sequence[Mapping[str, Any]], memory: str, title: str, limit: int, left: float
) -> list[str]:
    """Return the plot of instructions over ``memory`` ("ram" or "flash"). Both axes begin at zero."""
    # The axes end 8 % above the largest value.
    maximum = max(b[memory] for b in builds) * 1.08 or 1
    if limit < maximum * 1.5:
        maximum = max(maximum, limit * 1.08)
    max_instructions = max(b["instructions"] for b in builds) * 1.08 or 1

    def x(value: float) -> float:
        return left + _PANEL * value / maximum

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - value / max_instructions)

    parts = [f'<text x="{left}" y="{_TOP - 16}">Instructions over {title}</text>']
    for value in ticks(max_instructions):
        parts.append(f'<path class="ar-grid" d="M{left} {y(value):.1f}H{left + _PANEL}"/>')
        parts.append(
            f'<text class="ar-soft" x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{si_text(value)}</text>'
        )
    for value in ticks(maximum):
        parts.append(f'<path class="ar-grid" d="M{x(value):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
        attributes = f'x="{x(value):.1f}" y="{_TOP + _HEIGHT + 16}"'
        parts.append(f'<text class="ar-soft" {attributes} text-anchor="middle">{si_text(value)}B</text>')
    if limit <= maximum:
        parts.append(f'<path class="ar-limit" d="M{x(limit):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
    # The builds of the Pareto front are drawn last, on top of the remaining builds.
    for k in sorted(range(len(builds)), key=lambda k: builds[k]["dominated_by"] is None):
        parts.append(_mark(builds[k], k + 1, x(builds[k][memory]), y(builds[k]["instructions"])))
    return parts


def _mark(build: Mapping[str, Any], number: int, x: float, y: float) -> str:
    """Return the mark of a build at the pixel ``x``, ``y``: a circle with its number, or a square if the build receives
    its input row by row.

    The mark of a dominated build is open.
    """
    css_class = f"ar-{build['optimise']}" + (" ar-open" if build["dominated_by"] is not None else "")
    sizes = f"RAM {build['ram']:,} B, flash {build['flash']:,} B, {build['instructions']:,} instructions"
    tooltip = f"{build['label']}: {sizes}"
    if build["stream_input"]:
        shape = f'<rect class="{css_class}" x="{x - 8:.1f}" y="{y - 8:.1f}" width="16" height="16" rx="2"'
        mark = f"{shape}><title>{escape(tooltip)}</title></rect>"
    else:
        mark = f'<circle class="{css_class}" cx="{x:.1f}" cy="{y:.1f}" r="9"><title>{escape(tooltip)}</title></circle>'
    return f'{mark}<text class="ar-number" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{number}</text>'


def _legend(builds: Sequence[Mapping[str, Any]]) -> list[str]:
    top = _TOP + _HEIGHT + 48
    rows = -(-len(builds) // 2)
    parts = []
    for k, build in enumerate(builds):
        column, row = divmod(k, rows)
        x, y = _LEFT + column * (_PANEL + _GAP), top + row * _ROW
        parts.append(_mark(build, k + 1, x, y - 4))
        is_on_front = build["dominated_by"] is None
        text = build["label"] + ("" if is_on_front else f" (dominated by {build['dominated_by']})")
        text += "" if build["fits"] else ", does not fit"
        css_class = "" if is_on_front else ' class="ar-soft"'
        parts.append(f'<text{css_class} x="{x + 16}" y="{y}">{escape(text)}</text>')
    return parts


def ticks(maximum: float) -> list[float]:
    """Return four to nine round values from 0 to ``maximum``, which must be positive."""
    step = 10 ** math.floor(math.log10(maximum))
    for part in (1, 0.5, 0.2):
        if maximum / (step * part) >= 4:
            step *= part
            break
    return [k * step for k in range(int(maximum / step) + 1)]


def si_text(value: float) -> str:
    """Return a figure as text with an SI prefix, such as "1.5 M" for 1 500 000. The text ends with a space if there is
    no prefix."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} "
