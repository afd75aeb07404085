"""A picture of the recipes that a search tried: score over flash, RAM and instructions; the front is filled.

The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from arenite.host.report.pareto_svg import short, ticks

_WIDTH, _PANEL, _HEIGHT, _LEFT, _TOP, _GAP = 960, 250, 280, 62, 44, 52
_ROW = 18  # height of a row of the legend, in pixels

#: Kind of a point -> (colour in the light scheme, colour in the dark scheme).
_COLOURS = {"meets": ("#4d8a3d", "#86c373"), "misses": ("#b3261e", "#ff8a80"), "int8": ("#2f6fb5", "#6fa8e6")}

_STYLE = (
    ".ar-front text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-front .ar-soft{fill:#5b6675}"
    ".ar-front .ar-number{font-size:10px;font-weight:600;fill:#fff;pointer-events:none}"
    ".ar-front .ar-grid{stroke:#d6dce4}.ar-front .ar-paper{fill:#fff}"
    ".ar-front .ar-limit{stroke:#b3261e;stroke-dasharray:6 4}.ar-front .ar-float{stroke:#5b6675;stroke-dasharray:2 3}"
    ".ar-front .ar-step{fill:none;stroke:#5b6675}.ar-front .ar-ring{fill:none;stroke:#1c2430;stroke-width:2}"
    + "".join(f".ar-front .ar-{k}{{fill:{v[0]};stroke:{v[0]}}}" for k, v in _COLOURS.items())
    + ".ar-front .ar-open{fill:none;stroke-width:1.3}"
    "@media (prefers-color-scheme:dark){.ar-front text{fill:#e4e9f0}.ar-front .ar-soft{fill:#9aa7b8}"
    ".ar-front .ar-number{fill:#14181e}.ar-front .ar-grid{stroke:#38424f}.ar-front .ar-paper{fill:#14181e}"
    ".ar-front .ar-ring{stroke:#e4e9f0}"
    + "".join(f".ar-front .ar-{k}{{fill:{v[1]};stroke:{v[1]}}}" for k, v in _COLOURS.items())
    + ".ar-front .ar-open{fill:none}}"
)

_PANELS = (("flash", "flash", "B"), ("ram", "RAM", "B"), ("instructions", "instructions", ""))


def front_svg(search: Mapping[str, Any]) -> str:
    """Return an SVG element for an ``arenite.search/1`` object; at least one of its trials must have a build."""
    trials = [t for t in search["trials"] if t["build"] is not None]
    listed = [search["trials"][k] for k in search["front"]]
    taken = None if search["chosen"] is None else search["chosen"]["trial"]
    listed += [t for t in trials if t["trial"] in (taken, 0) and t not in listed]
    numbers = {t["trial"]: k + 1 for k, t in enumerate(listed)}
    height = _TOP + _HEIGHT + 64 + (len(listed) + 1) * _ROW
    axis = _Axis(search, trials, listed)
    parts = [f'<rect class="ar-paper" width="{_WIDTH}" height="{height}"/>']
    for place, (key, title, unit) in enumerate(_PANELS):
        parts += _panel(search, trials, numbers, axis, key, title, unit, _LEFT + place * (_PANEL + _GAP))
    parts += _legend(search, listed, axis)
    about = f"{len(trials)} recipes by {search['float']['metric']}, flash, RAM and instructions"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-front" role="img" aria-label="{about}" '
        f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


class _Axis:
    """The vertical axis: the score, from the worst listed recipe. Recipes below that are drawn at its lower end."""

    def __init__(self, search: Mapping[str, Any], trials: Sequence[Any], listed: Sequence[Any]) -> None:
        self.metric = search["float"]["metric"]
        self.share = self.metric != "mse"
        self.float = search["float"]["value"]
        values = [t["score"] for t in listed] + [self.float]
        room = max((max(values) - min(values)) * 0.12, 0.002 if self.share else abs(self.float) * 0.01, 1e-9)
        self.low, self.high = min(values) - room, max(values) + room

    def y(self, value: float) -> float:
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        result: float = _TOP + _HEIGHT * (1 - part if self.share else part)
        return result

    def text(self, value: float) -> str:
        return f"{value:.1%}" if self.share else f"{value:.4g}"

    def marks(self) -> list[float]:
        step = ticks(self.high - self.low)[1]
        first = math.ceil(self.low / step)
        return [k * step for k in range(first, math.floor(self.high / step) + 1)]


def _panel(
    search: Mapping[str, Any],
    trials: Sequence[Mapping[str, Any]],
    numbers: Mapping[int, int],
    axis: _Axis,
    key: str,
    title: str,
    unit: str,
    left: float,
) -> list[str]:
    limit = search["budget"][key]
    values = [_figure(t, key) for t in trials]
    most = max(values) * 1.06
    if limit is not None and limit < 1.5 * most:
        most = max(most, limit * 1.06)

    def x(value: float) -> float:
        return left + _PANEL * value / most

    parts = [f'<text x="{left}" y="{_TOP - 16}">{axis.metric} over {title}</text>']
    for value in axis.marks():
        parts.append(f'<path class="ar-grid" d="M{left} {axis.y(value):.1f}H{left + _PANEL}"/>')
        where = f'x="{left - 6}" y="{axis.y(value) + 4:.1f}"'
        parts.append(f'<text class="ar-soft" {where} text-anchor="end">{axis.text(value)}</text>')
    marks = ticks(most)
    for value in marks[:: 2 if len(marks) > 6 else 1]:
        parts.append(f'<path class="ar-grid" d="M{x(value):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
        where = f'x="{x(value):.1f}" y="{_TOP + _HEIGHT + 16}"'
        parts.append(f'<text class="ar-soft" {where} text-anchor="middle">{short(value)}{unit}</text>')
    parts.append(f'<path class="ar-float" d="M{left} {axis.y(axis.float):.1f}H{left + _PANEL}"/>')
    if limit is not None and limit <= most:
        parts.append(f'<path class="ar-limit" d="M{x(limit):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
    floor = _least_score(search)
    if floor is not None and axis.low <= floor <= axis.high:
        parts.append(f'<path class="ar-limit" d="M{left} {axis.y(floor):.1f}H{left + _PANEL}"/>')
    # The listed recipes are drawn last, on top of the others.
    for t in sorted(trials, key=lambda t: t["trial"] in numbers):
        parts.append(_mark(search, t, numbers.get(t["trial"]), x(_figure(t, key)), axis.y(t["score"]), axis))
    return parts


def _figure(trial: Mapping[str, Any], key: str) -> int:
    value = trial["build"][key]
    result: int = value["value"] if key == "instructions" else value
    return result


def _least_score(search: Mapping[str, Any]) -> float | None:
    """Return the lowest score within the budget; for mse the highest."""
    budget, base = search["budget"], search["float"]
    if budget["accuracy"] is not None:
        return float(budget["accuracy"])
    if budget["drop"] is None:
        return None
    lost = base["value"] * budget["drop"] if base["metric"] == "mse" else -budget["drop"]
    return float(base["value"] + lost)


def _mark(
    search: Mapping[str, Any], trial: Mapping[str, Any], number: int | None, x: float, y: float, axis: _Axis
) -> str:
    """Return the mark of a recipe: a numbered circle when it is listed, otherwise a small open one.

    The chosen recipe has a ring.
    """
    shade = "ar-int8" if trial["trial"] == 0 else "ar-meets" if trial["meets"] else "ar-misses"
    tooltip = f"<title>{escape(_sentence(trial, axis))}</title>"
    at = f'cx="{x:.1f}" cy="{y:.1f}"'
    if number is None:
        return f'<circle class="{shade} ar-open" {at} r="4">{tooltip}</circle>'
    ring = ""
    if search["chosen"] is not None and search["chosen"]["trial"] == trial["trial"]:
        ring = f'<circle class="ar-ring" {at} r="12"/>'
    return (
        f'{ring}<circle class="{shade}" {at} r="9">{tooltip}</circle>'
        f'<text class="ar-number" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{number}</text>'
    )


def _sentence(trial: Mapping[str, Any], axis: _Axis) -> str:
    b = trial["build"]
    return (
        f"{trial['label']}: {axis.text(trial['score'])}, flash {b['flash']:,} B, RAM {b['ram']:,} B, "
        f"{b['instructions']['value']:,} instructions ({b['options']})"
    )


def _legend(search: Mapping[str, Any], listed: Sequence[Mapping[str, Any]], axis: _Axis) -> list[str]:
    parts = []
    for k, trial in enumerate(listed):
        y = _TOP + _HEIGHT + 50 + k * _ROW
        parts.append(_mark(search, trial, k + 1, _LEFT, y - 4, axis))
        text = _sentence(trial, axis)
        if search["chosen"] is not None and search["chosen"]["trial"] == trial["trial"]:
            text += ": chosen"
        elif trial["misses"]:
            # The row already shows the figures in brackets.
            text += ": " + "; ".join(m.split(" (")[0] for m in trial["misses"])
        parts.append(f'<text x="{_LEFT + 18}" y="{y}">{escape(text)}</text>')
    y = _TOP + _HEIGHT + 50 + len(listed) * _ROW
    tooltip = "Dotted: the float model. Dashed: the budget. Blue: plain int8. Green: meets the budget. Red: does not."
    parts.append(f'<text class="ar-soft" x="{_LEFT - 9}" y="{y}">{tooltip}</text>')
    return parts
