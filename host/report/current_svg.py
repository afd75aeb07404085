"""Draw the measured current over time: one plot of the complete recording, and one of three inferences in its middle.

The windows of the inferences are shaded. Every column of pixels shows the minimum and the maximum of its samples, so
every peak is visible. The picture loads no script or font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.activity import InferenceWindow
from arenite.host.energy.windows.result import EnergyResult
from arenite.host.report.html_parts import bullet_list, cards, document, text
from arenite.host.report.pareto_svg import ticks

# In pixels: the width of the picture, the margins left, right and above, the height of a plot, and the space below it.
_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT, _GAP = 960, 70, 20, 34, 200, 66
_COLUMNS = _WIDTH - _LEFT - _RIGHT
#: The number of inferences in the lower plot.
DETAIL_WINDOWS = 3
_STYLE = (
    ".ar-amps text{font:11px system-ui,sans-serif;fill:#1c2430}.ar-amps .ar-soft{fill:#5b6675}"
    ".ar-amps .ar-grid{stroke:#d6dce4}.ar-amps .ar-paper{fill:#fff}"
    ".ar-amps .ar-line{fill:#2f6fb5;stroke:#2f6fb5;stroke-width:1;stroke-linejoin:round}"
    ".ar-amps .ar-window{fill:#c06a1b;fill-opacity:.18}.ar-amps .ar-window:hover{fill-opacity:.4}"
    ".ar-amps .ar-base{stroke:#4d8a3d;stroke-dasharray:6 4;stroke-width:1.5}.ar-amps .ar-base-text{fill:#3d7030}"
    "@media (prefers-color-scheme:dark){.ar-amps text{fill:#e4e9f0}.ar-amps .ar-soft{fill:#9aa7b8}"
    ".ar-amps .ar-grid{stroke:#38424f}.ar-amps .ar-paper{fill:#14181e}.ar-amps .ar-line{fill:#6fa8e6;stroke:#6fa8e6}"
    ".ar-amps .ar-window{fill:#e39a52;fill-opacity:.28}.ar-amps .ar-base{stroke:#86c373}"
    ".ar-amps .ar-base-text{fill:#86c373}}"
)


def current_svg(result: EnergyResult, word: str = "inference") -> str:
    """Return an SVG element with both plots. ``word`` is the noun that the titles use for a window."""
    trace, windows = result.trace, result.windows.spans
    height = _TOP + 2 * (_HEIGHT + _GAP)
    total_span = (float(trace.time_s[0]), float(trace.time_s[-1]))
    count = len(windows)
    plural = "" if count == 1 else "s"
    first = max((count - DETAIL_WINDOWS) // 2, 0)
    detail_windows = windows[first : first + DETAIL_WINDOWS]
    # The lower plot also shows 15 % of the time of its inferences before and after them.
    margin = 0.15 * (detail_windows[-1].end_s - detail_windows[0].start_s)
    detail_span = (
        max(detail_windows[0].start_s - margin, total_span[0]),
        min(detail_windows[-1].end_s + margin, total_span[1]),
    )
    parts = [f'<rect class="ar-paper" width="{_WIDTH}" height="{height}"/>']
    parts += _panel(
        result,
        total_span,
        _TOP,
        f"The recording: {count} {word}{plural} by {result.windows.method}",
        word,
    )
    parts += _panel(
        result,
        detail_span,
        _TOP + _HEIGHT + _GAP,
        f"{word.capitalize()}{plural} {first + 1} to {first + len(detail_windows)}",
        word,
    )
    label = f"Current over {trace.seconds:.3g} s with {count} {word}{plural}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ar-amps" role="img" aria-label="{escape(label)}" '
        f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def current_page(record: Mapping[str, Any], result: EnergyResult, model: str) -> str:
    """Return a self-contained HTML page with the figures of an ``arenite.energy/1`` object and the picture."""
    figure = record["energy_uj_per_inference"]
    cells = [
        (f"{figure['median']:.4g} µJ", f"per inference, {figure['kind']} (median)"),
        (f"{figure['p25']:.4g} to {figure['p75']:.4g} µJ", "25th to 75th percentile"),
        (f"{record['supply_v']:.3g} V", "supply"),
        (f"{record['average_power_w'] * 1e3:.4g} mW", "average power in an inference"),
        (f"{record['peak_power_w'] * 1e3:.4g} mW", "peak power"),
        (f"{record['windows']}", f"inferences by {record['window_method']}"),
        (f"{record['lost_samples']:,}", f"samples lost of {record['samples'] + record['lost_samples']:,}"),
    ]
    if record["sleep_current_a"] is not None:
        cells.append((f"{record['sleep_current_a'] * 1e6:.4g} µA", "lowest current between inferences"))
    title = f"Energy of {model} on {record['board']['name']}"
    parts = [f"<h1>{text(title)}</h1>", cards(cells), current_svg(result), bullet_list(record["notes"])]
    return document(title, parts)


def _panel(result: EnergyResult, span: tuple[float, float], top: float, title: str, word: str) -> list[str]:
    """Return the SVG elements of the plot of the time range ``span`` (start and end in seconds). ``top`` is its y
    coordinate."""
    trace = result.trace
    low, high = (int(k) for k in np.searchsorted(trace.time_s, span))
    max_a = float(np.max(trace.current_a[low : max(high, low + 1)]))
    factor, unit = _unit(max_a)
    highest = max(max_a * factor * 1.08, 1e-12)  # the upper end of the axis, 8 % above the largest current

    def x(time_s: float) -> float:
        return _LEFT + _COLUMNS * (time_s - span[0]) / max(span[1] - span[0], 1e-12)

    def y(amperes: float) -> float:
        return top + _HEIGHT * (1 - min(max(amperes * factor / highest, 0.0), 1.0))

    parts = [f'<text x="{_LEFT}" y="{top - 12}">{escape(title)}</text>']
    for value in ticks(highest):
        position = y(value / factor)
        parts.append(f'<path class="ar-grid" d="M{_LEFT} {position:.1f}H{_LEFT + _COLUMNS}"/>')
        parts.append(
            f'<text class="ar-soft" x="{_LEFT - 6}" y="{position + 4:.1f}" text-anchor="end">{value:g} {unit}</text>'
        )
    seconds, time_unit = _unit_of_time(span[1] - span[0])
    for value in ticks((span[1] - span[0]) * seconds):
        position = x(span[0] + value / seconds)
        parts.append(f'<path class="ar-grid" d="M{position:.1f} {top}V{top + _HEIGHT}"/>')
        attributes = f'x="{position:.1f}" y="{top + _HEIGHT + 16}" text-anchor="middle"'
        parts.append(f'<text class="ar-soft" {attributes}>{value:g} {time_unit}</text>')
    parts += _shaded(result, span, x, top, word)
    parts += [f'<path class="ar-line" d="{path}"/>' for path in _paths(trace, low, high, span, y)]
    if result.baseline_w is not None and result.supply_v > 0:
        base = result.baseline_w / result.supply_v
        size, unit_name = _unit(abs(base))
        parts.append(f'<path class="ar-base" d="M{_LEFT} {y(base):.1f}H{_LEFT + _COLUMNS}"/>')
        attributes = f'x="{_LEFT + _COLUMNS}" y="{top - 12}" text-anchor="end"'
        parts.append(f'<text class="ar-base-text" {attributes}>baseline {base * size:.3g} {unit_name}</text>')
    return parts


def _shaded(result: EnergyResult, span: tuple[float, float], x: Any, top: float, word: str) -> list[str]:
    """Return the rectangles that shade the windows in the time range ``span``. Each has a tooltip with the energy of
    its window. ``x`` converts seconds to pixels."""
    parts = []
    for number, window in enumerate(result.windows.spans, 1):
        if window.end_s < span[0] or window.start_s > span[1]:
            continue
        left, right = x(max(window.start_s, span[0])), x(min(window.end_s, span[1]))
        tooltip = (
            f"{word} {number}: {_joules(result.trace, window) * 1e6:.4g} µJ in {window.seconds * 1e3:.4g} ms"
        )
        parts.append(
            f'<rect class="ar-window" x="{left:.2f}" y="{top}" width="{max(right - left, 0.5):.2f}" '
            f'height="{_HEIGHT}"><title>{tooltip}</title></rect>'
        )
    return parts


def _joules(trace: Trace, window: InferenceWindow) -> float:
    return trace.energy_j(window.start_s, window.end_s)


def _paths(trace: Trace, low: int, high: int, span: tuple[float, float], y: Any) -> list[str]:
    """Return the SVG paths of the samples ``low`` to ``high``.

    If there are few samples, the path is a line. Otherwise it is the outline of the minima and maxima of all pixel
    columns, and each gap in the recording starts a new path. ``y`` converts amperes to pixels.
    """
    times, current = trace.time_s[low:high], trace.current_a[low:high]
    if len(times) == 0:
        return []
    if len(times) <= 2 * _COLUMNS:
        points = [
            f"{_LEFT + _COLUMNS * (t - span[0]) / (span[1] - span[0]):.2f} {y(a):.1f}"
            for t, a in zip(times.tolist(), current.tolist(), strict=True)
        ]
        return [f'M{"L".join(points)}" style="fill:none']
    column = np.minimum((_COLUMNS * (times - span[0]) / (span[1] - span[0])).astype(int), _COLUMNS - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lowest, highest = np.minimum.reduceat(current, starts), np.maximum.reduceat(current, starts)
    position = column[starts]
    paths = []
    for section in np.split(np.arange(len(position)), np.flatnonzero(np.diff(position) > 1) + 1):
        min_points = [f"{_LEFT + position[k]} {y(lowest[k]):.1f}" for k in section]
        max_points = [f"{_LEFT + position[k]} {y(highest[k]):.1f}" for k in section[::-1]]
        paths.append(f"M{'L'.join([*max_points[::-1], *min_points[::-1]])}Z")
    return paths


def _unit(amperes: float) -> tuple[float, str]:
    """Return the factor from amperes to the unit that suits ``amperes``, and the name of the unit."""
    for size, name in ((1.0, "A"), (1e-3, "mA"), (1e-6, "µA")):
        if amperes >= size:
            return 1 / size, name
    return 1e9, "nA"


def _unit_of_time(seconds: float) -> tuple[float, str]:
    """Return the factor from seconds to the unit that suits ``seconds``, and the name of the unit."""
    return (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
