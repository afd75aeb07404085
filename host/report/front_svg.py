"""Draw the recipes that a search tried, in three plots: score over flash, over RAM and over instructions.

The marks of the recipes on the Pareto front are filled.

The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from arenite.host.report.pareto_svg import si_text, ticks

# In pixels: the width of the picture, width and height of a plot, the margins left and above, and the gap between
# plots.
_WIDTH, _PANEL, _HEIGHT, _LEFT, _TOP, _GAP = 960, 250, 280, 62, 44, 52
_ROW = 18  # height of a row of the legend, in pixels

#: Maps the kind of a recipe to (color in the light scheme, color in the dark scheme). A recipe meets or misses the
#: budget; "int8" is the plain int8 recipe, trial 0.
_COLORS = {"meets": ("#4d8a3d", "#86c373"), "misses": ("#b3261e", "#ff8a80"), "int8": ("#2f6fb5", "#6fa8e6")}

_STYLE = (
    ".ar-front text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-front .ar-soft{fill:#5b6675}"
    ".ar-front .ar-number{font-size:10px;font-weight:600;fill:#fff;pointer-events:none}"
    ".ar-front .ar-grid{stroke:#d6dce4}.ar-front .ar-paper{fill:#fff}"
    ".ar-front .ar-limit{stroke:#b3261e;stroke-dasharray:6 4}.ar-front .ar-float{stroke:#5b6675;stroke-dasharray:2 3}"
    ".ar-front .ar-step{fill:none;stroke:#5b6675}.ar-front .ar-ring{fill:none;stroke:#1c2430;stroke-width:2}"
    + "".join(f".ar-front .ar-{k}{{fill:{v[0]};stroke:{v[0]}}}" for k, v in _COLORS.items())
    + ".ar-front .ar-open{fill:none;stroke-width:1.3}"
    "@media (prefers-color-scheme:dark){.ar-front text{fill:#e4e9f0}.ar-front .ar-soft{fill:#9aa7b8}"
    ".ar-front .ar-number{fill:#14181e}.ar-front .ar-grid{stroke:#38424f}.ar-front .ar-paper{fill:#14181e}"
    ".ar-front .ar-ring{stroke:#e4e9f0}"
    + "".join(f".ar-front .ar-{k}{{fill:{v[1]};stroke:{v[1]}}}" for k, v in _COLORS.items())
    + ".ar-front .ar-open{fill:none}}"
)

_PANELS = (("flash", "flash", "B"), ("ram", "RAM", "B"), ("instructions", "instructions", ""))


def front_svg(search: Mapping[str, Any]) -> str:
    """Return an SVG element for an ``arenite.search/1`` object. At least one of its trials must have a build."""
    trials = [t for t in search["trials"] if t["build"] is not None]
    numbered_trials = [search["trials"][k] for k in search["front"]]
    chosen_trial = None if search["chosen"] is None else search["chosen"]["trial"]
    numbered_trials += [t for t in trials if t["trial"] in (chosen_trial, 0) and t not in numbered_trials]
    numbers = {t["trial"]: k + 1 for k, t in enumerate(numbered_trials)}
    height = _TOP + _HEIGHT + 64 + (len(numbered_trials) + 1) * _ROW
    axis = _Axis(search, trials, numbered_trials)
    parts = [f'<rect class="ar-paper" width="{_WIDTH}" height="{height}"/>']
    for panel_number, (key, title, unit) in enumerate(_PANELS):
        parts += _panel(
            search, trials, numbers, axis, key, title, unit, _LEFT + panel_number * (_PANEL + _GAP)
        )
    parts += _legend(search, numbered_trials, axis)
    label = f"{len(trials)} recipes by {search['float']['metric']}, flash, RAM and instructions"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-front" role="img" aria-label="{label}" '
        f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


class _Axis:
    """The vertical axis, which shows the score. It begins at the score of the worst recipe that has a number. Recipes
    with a worse score are drawn at its lower end."""

    def __init__(
        self, search: Mapping[str, Any], trials: Sequence[Any], numbered_trials: Sequence[Any]
    ) -> None:
        self.metric = search["float"]["metric"]
        self.higher_is_better = self.metric != "mse"
        self.float = search["float"]["value"]
        values = [t["score"] for t in numbered_trials] + [self.float]
        # The axis reaches beyond the scores by 12 % of their range, at least by 0.2 points (for mse: by 1 %).
        margin = max(
            (max(values) - min(values)) * 0.12,
            0.002 if self.higher_is_better else abs(self.float) * 0.01,
            1e-9,
        )
        self.low, self.high = min(values) - margin, max(values) + margin

    def y(self, value: float) -> float:
        fraction = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return float(_TOP + _HEIGHT * (1 - fraction if self.higher_is_better else fraction))

    def text(self, value: float) -> str:
        return f"{value:.1%}" if self.higher_is_better else f"{value:.4g}"

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
    """Return the plot of the score over the figure ``key`` of a build. ``left`` is its x coordinate in pixels,
    ``numbers`` has the number of each trial that has one."""
    limit = search["budget"][key]
    values = [_figure(t, key) for t in trials]
    max_value = max(values) * 1.06
    if limit is not None and limit < 1.5 * max_value:
        max_value = max(max_value, limit * 1.06)

    def x(value: float) -> float:
        return left + _PANEL * value / max_value

    parts = [f'<text x="{left}" y="{_TOP - 16}">{axis.metric} over {title}</text>']
    for value in axis.marks():
        parts.append(f'<path class="ar-grid" d="M{left} {axis.y(value):.1f}H{left + _PANEL}"/>')
        attributes = f'x="{left - 6}" y="{axis.y(value) + 4:.1f}"'
        parts.append(f'<text class="ar-soft" {attributes} text-anchor="end">{axis.text(value)}</text>')
    marks = ticks(max_value)
    for value in marks[:: 2 if len(marks) > 6 else 1]:
        parts.append(f'<path class="ar-grid" d="M{x(value):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
        attributes = f'x="{x(value):.1f}" y="{_TOP + _HEIGHT + 16}"'
        parts.append(f'<text class="ar-soft" {attributes} text-anchor="middle">{si_text(value)}{unit}</text>')
    parts.append(f'<path class="ar-float" d="M{left} {axis.y(axis.float):.1f}H{left + _PANEL}"/>')
    if limit is not None and limit <= max_value:
        parts.append(f'<path class="ar-limit" d="M{x(limit):.1f} {_TOP}V{_TOP + _HEIGHT}"/>')
    score_limit = _score_limit(search)
    if score_limit is not None and axis.low <= score_limit <= axis.high:
        parts.append(f'<path class="ar-limit" d="M{left} {axis.y(score_limit):.1f}H{left + _PANEL}"/>')
    # The recipes with a number are drawn last, on top of the remaining recipes.
    for t in sorted(trials, key=lambda t: t["trial"] in numbers):
        parts.append(_mark(search, t, numbers.get(t["trial"]), x(_figure(t, key)), axis.y(t["score"]), axis))
    return parts


def _figure(trial: Mapping[str, Any], key: str) -> int:
    value = trial["build"][key]
    return int(value["value"] if key == "instructions" else value)


def _score_limit(search: Mapping[str, Any]) -> float | None:
    """Return the lowest score (for mse: the highest) that the budget allows, or None if the budget has no such
    limit."""
    budget, base = search["budget"], search["float"]
    if budget["accuracy"] is not None:
        return float(budget["accuracy"])
    if budget["drop"] is None:
        return None
    change = base["value"] * budget["drop"] if base["metric"] == "mse" else -budget["drop"]
    return float(base["value"] + change)


def _mark(
    search: Mapping[str, Any], trial: Mapping[str, Any], number: int | None, x: float, y: float, axis: _Axis
) -> str:
    """Return the mark of a recipe at the pixel ``x``, ``y``: a circle with its number in the legend, or a small open
    circle if it has no number.

    The chosen recipe has a ring.
    """
    css_class = "ar-int8" if trial["trial"] == 0 else "ar-meets" if trial["meets"] else "ar-misses"
    tooltip = f"<title>{escape(_sentence(trial, axis))}</title>"
    center = f'cx="{x:.1f}" cy="{y:.1f}"'
    if number is None:
        return f'<circle class="{css_class} ar-open" {center} r="4">{tooltip}</circle>'
    ring = ""
    if search["chosen"] is not None and search["chosen"]["trial"] == trial["trial"]:
        ring = f'<circle class="ar-ring" {center} r="12"/>'
    return (
        f'{ring}<circle class="{css_class}" {center} r="9">{tooltip}</circle>'
        f'<text class="ar-number" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{number}</text>'
    )


def _sentence(trial: Mapping[str, Any], axis: _Axis) -> str:
    build = trial["build"]
    return (
        f"{trial['label']}: {axis.text(trial['score'])}, flash {build['flash']:,} B, RAM {build['ram']:,} B, "
        f"{build['instructions']['value']:,} instructions ({build['options']})"
    )


def _legend(
    search: Mapping[str, Any], numbered_trials: Sequence[Mapping[str, Any]], axis: _Axis
) -> list[str]:
    parts = []
    for k, trial in enumerate(numbered_trials):
        y = _TOP + _HEIGHT + 50 + k * _ROW
        parts.append(_mark(search, trial, k + 1, _LEFT, y - 4, axis))
        text = _sentence(trial, axis)
        if search["chosen"] is not None and search["chosen"]["trial"] == trial["trial"]:
            text += ": chosen"
        elif trial["misses"]:
            # The row already shows the figures that are in brackets.
            text += ": " + "; ".join(m.split(" (")[0] for m in trial["misses"])
        parts.append(f'<text x="{_LEFT + 18}" y="{y}">{escape(text)}</text>')
    y = _TOP + _HEIGHT + 50 + len(numbered_trials) * _ROW
    tooltip = "Dotted: the float model. Dashed: the budget. Blue: plain int8. Green: meets the budget. Red: misses it."
    parts.append(f'<text class="ar-soft" x="{_LEFT - 9}" y="{y}">{tooltip}</text>')
    return parts
