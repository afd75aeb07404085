"""Draw the battery life over the mean time between events. Without a battery, draw the average power.

The picture loads no script or font, and follows the reader's light or dark scheme. Both axes are logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from arenite.host.duty.sweep import SweepPoint

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 420, 80, 48, 24, 56
_STYLE = (
    ".ar-duty text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-duty .ar-soft{fill:#5b6675}"
    ".ar-duty .ar-title{font-weight:600}.ar-duty .ar-paper{fill:#fff}.ar-duty .ar-grid{stroke:#d6dce4}"
    ".ar-duty .ar-line{fill:none;stroke:#2f6fb5;stroke-width:2}.ar-duty .ar-here{fill:#b3261e}"
    ".ar-duty .ar-mark{stroke:#b3261e;stroke-dasharray:5 4}"
    "@media (prefers-color-scheme:dark){.ar-duty text{fill:#e4e9f0}.ar-duty .ar-soft{fill:#9aa7b8}"
    ".ar-duty .ar-paper{fill:#14181e}.ar-duty .ar-grid{stroke:#38424f}.ar-duty .ar-line{stroke:#6fa8e6}"
    ".ar-duty .ar-here{fill:#ff8a80}.ar-duty .ar-mark{stroke:#ff8a80}}"
)
_TIMES = ((1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"), (365.25 * 86400, "a"))


def duty_svg(points: Sequence[SweepPoint], period_s: float, title: str) -> str:
    """Return an SVG document with the line through ``points`` and a mark at the time ``period_s`` between events.

    Raises ``ValueError`` for fewer than two points.
    """
    if len(points) < 2:
        raise ValueError(f"a line needs two points, not {len(points)}")
    with_battery = all(p.days is not None for p in points)
    values = [p.days * 86400 if with_battery and p.days is not None else p.power_w for p in points]
    values = [max(v, 1e-12) for v in values]
    log_periods = [math.log10(p.period_s) for p in points]
    log_values = [math.log10(v) for v in values]
    # The vertical axis begins and ends at a half power of ten, and covers at least half a power.
    low, high = math.floor(min(log_values) * 2) / 2, math.ceil(max(log_values) * 2) / 2
    high = max(high, low + 0.5)

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - log_periods[0]) / (
            log_periods[-1] - log_periods[0]
        )

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    quantity = "battery life (one charge)" if with_battery else "average power"
    parts = [
        f'<rect class="ar-paper" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="ar-title" x="{_LEFT}" y="20">{escape(title)}</text>',
        f'<text class="ar-soft" x="{_LEFT}" y="36">{quantity} over the mean time between events; estimated</text>',
    ]
    for value in _decades(log_periods[0], log_periods[-1]):
        parts.append(f'<path class="ar-grid" d="M{x(value):.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
        parts.append(
            f'<text class="ar-soft" x="{x(value):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{span(10**value)}</text>"
        )
    for value in _decades(low, high):
        parts.append(f'<path class="ar-grid" d="M{_LEFT} {y(value):.1f}H{_WIDTH - _RIGHT}"/>')
        label = span(10**value) if with_battery else watts(10**value)
        parts.append(
            f'<text class="ar-soft" x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    parts.append(
        '<polyline class="ar-line" points="'
        + " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(log_periods, log_values, strict=True))
        + '"/>'
    )
    log_period = math.log10(period_s)
    if log_periods[0] <= log_period <= log_periods[-1]:
        log_value = log_values[min(range(len(log_periods)), key=lambda k: abs(log_periods[k] - log_period))]
        label = span(10**log_value) if with_battery else watts(10**log_value)
        parts.append(f'<path class="ar-mark" d="M{x(log_period):.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
        parts.append(f'<circle class="ar-here" cx="{x(log_period):.1f}" cy="{y(log_value):.1f}" r="4"/>')
        parts.append(
            f'<text x="{x(log_period) + 8:.1f}" y="{y(log_value) - 8:.1f}">{label} at {span(period_s)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-duty" role="img" aria-label="{escape(title)}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _decades(low: float, high: float) -> list[float]:
    """Return the base-10 logarithms of 1, 2, 5, 10, 20 and so on that are between ``low`` and ``high``. In a wide
    range, only powers of ten are returned."""
    steps = (0.0,) if high - low > 2.5 else (0.0, math.log10(2), math.log10(5))
    marks = [k + s for k in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    return [v for v in marks if low - 1e-9 <= v <= high + 1e-9]


def span(seconds: float) -> str:
    """Return a time as text with its unit, such as "20 ms", "3.5 d" (days) or "1.2 a" (years)."""
    # The factor 0.9999 gives "1 s" for a time that is rounded to 1 s, instead of "1e+03 ms".
    factor, unit = next(((f, u) for f, u in reversed(_TIMES) if seconds >= f * 0.9999), _TIMES[0])
    return f"{seconds / factor:.3g} {unit}"


def watts(value: float) -> str:
    """Return a power in watts as text with a unit that suits its size."""
    for factor, unit in ((1.0, "W"), (1e-3, "mW"), (1e-6, "µW")):
        if value >= factor * 0.9999:
            return f"{value / factor:.3g} {unit}"
    return f"{value * 1e9:.3g} nW"
