"""Draw misses against false accepts per hour over the thresholds of each class.

The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

#: The colors of the classes in the light and in the dark scheme; further classes use them again.
_COLORS = (
    ("#2f6fb5", "#6fa8e6"),
    ("#b3261e", "#ff8a80"),
    ("#4d8a3d", "#86c373"),
    ("#8a5bb0", "#bd93e0"),
    ("#c06a1b", "#e39a52"),
    ("#1b7f86", "#5cc3ca"),
)
# In pixels: the width of the picture, the sides of the plot, the margins left and above, and a row of the legend.
_WIDTH, _PLOT, _HEIGHT, _LEFT, _TOP, _ROW = 960, 620, 380, 80, 44, 20
_STYLE = (
    ".ar-tune text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-tune .ar-soft{fill:#5b6675}"
    ".ar-tune .ar-grid{stroke:#d6dce4}.ar-tune .ar-paper{fill:#fff}"
    ".ar-tune .ar-target{stroke:#b3261e;stroke-dasharray:6 4}.ar-tune .ar-curve{fill:none;stroke-width:1.8}"
    + "".join(
        f".ar-tune .ar-c{k}{{stroke:{v[0]}}}.ar-tune .ar-d{k}{{fill:{v[0]}}}" for k, v in enumerate(_COLORS)
    )
    + "@media (prefers-color-scheme:dark){.ar-tune text{fill:#e4e9f0}.ar-tune .ar-soft{fill:#9aa7b8}"
    ".ar-tune .ar-grid{stroke:#38424f}.ar-tune .ar-paper{fill:#14181e}"
    + "".join(
        f".ar-tune .ar-c{k}{{stroke:{v[1]}}}.ar-tune .ar-d{k}{{fill:{v[1]}}}" for k, v in enumerate(_COLORS)
    )
    + "}"
)


def tune_svg(tuning: Mapping[str, Any]) -> str:
    """Return an SVG element with the curves of an ``arenite.tune/1`` object.

    The vertical axis is logarithmic. Its lowest line is no false accept. A dot is the chosen threshold, at the counts
    of its class alone.
    """
    classes = [c for c in tuning["classes"] if c["curve"]]
    hours = tuning["hours"]
    highest = max((p["false_accepts"] for c in classes for p in c["curve"]), default=1) / hours
    bottom = math.floor(math.log10(1 / hours))  # the decade of one false accept
    top = max(math.ceil(math.log10(max(highest, 1 / hours))), bottom + 1)
    height = max(_TOP + _HEIGHT + 60, _TOP + len(classes) * _ROW + 60)

    def x(misses: float) -> float:
        return _LEFT + _PLOT * misses

    def y(per_hour: float) -> float:
        # No false accept is one decade below one false accept.
        position = math.log10(per_hour) - bottom + 1 if per_hour > 0 else 0.0
        return _TOP + _HEIGHT * (1 - position / (top - bottom + 1))

    parts = [f'<rect class="ar-paper" width="{_WIDTH}" height="{height}"/>']
    parts.append(f'<text x="{_LEFT}" y="{_TOP - 16}">False accepts per hour over misses, by threshold</text>')
    parts += _axes(x, y, bottom, top)
    parts += _target(tuning["target"], x, y)
    for k, entry in enumerate(classes):
        color = k % len(_COLORS)
        curve = [(x(p["misses"] / entry["labels"]), y(p["false_accepts"] / hours)) for p in entry["curve"]]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in curve)
        parts.append(f'<path class="ar-curve ar-c{color}" d="M{path}"/>')
        chosen = next(
            (at for at, p in zip(curve, entry["curve"], strict=True) if p["threshold"] == entry["threshold"]),
            curve[0],
        )
        text = _tooltip(entry)
        circle = f'<circle class="ar-d{color}" cx="{chosen[0]:.1f}" cy="{chosen[1]:.1f}" r="5">'
        parts.append(f"{circle}<title>{escape(text)}</title></circle>")
        row = _TOP + 10 + k * _ROW
        left = _LEFT + _PLOT + 30
        parts.append(f'<circle class="ar-d{color}" cx="{left}" cy="{row - 4}" r="5"/>')
        parts.append(f'<text x="{left + 12}" y="{row}">{escape(text)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-tune" role="img" '
        f'aria-label="False accepts per hour over misses of {len(classes)} classes" '
        f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _tooltip(entry: Mapping[str, Any]) -> str:
    return f"{entry['name']}: threshold {entry['threshold']:.3g}"


def _axes(x: Any, y: Any, bottom: int, top: int) -> list[str]:
    """Return the grid and its figures."""
    parts = []
    levels: Sequence[tuple[float, str]] = [
        (0.0, "none"),
        *((10.0**k, f"{10.0**k:g}") for k in range(bottom, top + 1)),
    ]
    for value, text in levels:
        parts.append(f'<path class="ar-grid" d="M{_LEFT} {y(value):.1f}H{_LEFT + _PLOT}"/>')
        parts.append(
            f'<text class="ar-soft" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{text}</text>'
        )
    for percent in range(0, 101, 20):
        at = x(percent / 100)
        parts.append(f'<path class="ar-grid" d="M{at:.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
        attributes = f'x="{at:.1f}" y="{_TOP + _HEIGHT + 16}" text-anchor="middle"'
        parts.append(f'<text class="ar-soft" {attributes}>{percent} %</text>')
    place = f'x="{x(0.5):.1f}" y="{_TOP + _HEIGHT + 36}" text-anchor="middle"'
    return [*parts, f'<text class="ar-soft" {place}>misses, as a share of the labels</text>']


def _target(target: Mapping[str, float | None], x: Any, y: Any) -> list[str]:
    """Return the line of the target."""
    per_hour, misses = target["false_accepts_per_hour"], target["misses"]
    if misses is not None:
        return [f'<path class="ar-target" d="M{x(misses):.1f} {_TOP}V{_TOP + _HEIGHT}"/>']
    if not per_hour or not _TOP <= y(per_hour) <= _TOP + _HEIGHT:
        return []
    return [f'<path class="ar-target" d="M{_LEFT} {y(per_hour):.1f}H{_LEFT + _PLOT}"/>']
