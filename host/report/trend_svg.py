"""Draw one figure over a series of runs. The picture is self-contained and follows the light or dark scheme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arenite.host.report.html_parts import text
from arenite.host.report.pareto_svg import si_text, ticks

# In pixels: width and height of the picture, and its four margins.
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 344, 170, 84, 26, 14, 26
_STYLE = (
    ".ar-trend text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-trend .ar-soft{fill:#5b6675}"
    ".ar-trend .ar-grid{stroke:#d6dce4}.ar-trend .ar-line{fill:none;stroke:#2f6fb5;stroke-width:1.5}"
    ".ar-trend circle{fill:#2f6fb5}.ar-trend .ar-bad{fill:#b3261e}"
    "@media (prefers-color-scheme:dark){.ar-trend text{fill:#e4e9f0}.ar-trend .ar-soft{fill:#9aa7b8}"
    ".ar-trend .ar-grid{stroke:#38424f}.ar-trend .ar-line{stroke:#6fa8e6}.ar-trend circle{fill:#6fa8e6}"
    ".ar-trend .ar-bad{fill:#ff8a80}}"
)


@dataclass(frozen=True)
class TrendPoint:
    """The value of one run. ``label`` is drawn below its mark, ``tooltip`` appears under the pointer.
    ``is_regression`` colors the mark."""

    label: str
    value: float
    tooltip: str
    is_regression: bool = False


def trend_svg(title: str, dots: Sequence[TrendPoint]) -> str:
    """Return an SVG element with a line through the values of ``dots``, at equal horizontal distances.

    The vertical axis begins at zero unless all values are close to each other.
    """
    values = [d.value for d in dots]
    low, high = min(values), max(values)
    axis_min = 0.0
    if low > 0 and high - low < 0.2 * high:
        axis_min = max(0.0, low - max(high - low, 0.02 * high))
    axis_max = high + max(high - axis_min, 1e-9) * 0.12
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(k: int) -> float:
        return _LEFT + (width * k / (len(dots) - 1) if len(dots) > 1 else width / 2)

    def y(value: float) -> float:
        return _TOP + height * (1 - (value - axis_min) / (axis_max - axis_min))

    parts = [f'<text x="{_LEFT}" y="14">{text(title)}</text>']
    for value in _marks(axis_min, axis_max):
        parts.append(f'<path class="ar-grid" d="M{_LEFT} {y(value):.1f}H{_WIDTH - _RIGHT}"/>')
        value_text = si_text(round(value, 6)).strip() if axis_min == 0 else f"{round(value, 6):,.12g}"
        parts.append(
            f'<text class="ar-soft" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value_text}</text>'
        )
    path = " ".join(f"{'L' if k else 'M'}{x(k):.1f} {y(d.value):.1f}" for k, d in enumerate(dots))
    parts.append(f'<path class="ar-line" d="{path}"/>')
    label_step = -(-len(dots) // 6)
    for k, dot in enumerate(dots):
        css_class, size = (' class="ar-bad"', 5) if dot.is_regression else ("", 3)
        tooltip = f"<title>{text(dot.tooltip)}</title>"
        parts.append(
            f'<circle{css_class} cx="{x(k):.1f}" cy="{y(dot.value):.1f}" r="{size}">{tooltip}</circle>'
        )
        if k % label_step == 0:
            parts.append(
                f'<text class="ar-soft" x="{x(k):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{text(dot.label)}</text>'
            )
    # This text is for screen readers.
    label = text(f"{title}: {len(dots)} runs")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-trend" role="img" aria-label="{label}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _marks(axis_min: float, axis_max: float) -> list[float]:
    """Return round values from ``axis_min`` to ``axis_max`` at equal distances."""
    steps = ticks(axis_max - axis_min)
    step = steps[1] if len(steps) > 1 else axis_max - axis_min
    first = math.ceil(axis_min / step - 1e-9)
    return [k * step for k in range(first, math.floor(axis_max / step + 1e-9) + 1)]
