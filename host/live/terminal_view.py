"""The live view in a terminal: waveform, spectrogram, traces, picture, scores, events and health as text."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from arenite.host.live.pictures import Picture
from arenite.host.live.terminal_picture import picture_lines
from arenite.host.report.console import table
from arenite.printable import printable

_LEVELS = " ▁▂▃▄▅▆▇█"
_ROWS = 8
_EVENTS = 6


def render(view: dict[str, Any], width: int, picture: Picture | None = None, has_color: bool = True) -> Group:
    """Return the view of a snapshot of ``LiveView`` for a terminal with ``width`` columns. ``picture`` is the newest
    one of a camera, and ``has_color`` tells whether the terminal has colors."""
    style = "green" if view["is_connected"] else "red"
    title = f"{view['device']}: {view['status']}"
    if view["rate"]:
        title += f" · {view['sensor']}, {view['rate']} {view['unit']}s per second"
    columns = view["columns"][-max(width - 2, 10) :]
    parts: list[Any] = [Text(printable(title), style)]
    draw = waveform if view["sensor"] == "sound" else traces
    parts += [Text(line, no_wrap=True) for line in draw(columns)]
    if picture is not None:
        parts += picture_lines(picture.pixels, width - 2, has_color)
    if view["bands"]:
        parts += [Text(line, style="cyan", no_wrap=True) for line in spectrogram(columns)]
    parts += [Text(line) for line in score_lines(view["scores"])]
    parts.append(Text(health_line(view)))
    if view["events"]:
        rows = [
            (f"{event['seconds']:.3f} s", event["class"], event["kind"], f"{event['percent']}%")
            for event in view["events"][-_EVENTS:]
        ]
        parts.append(table("Events", ("time", "class", "", "score"), rows))
    parts += [Text(printable(note), style="dim") for note in view["notes"][-3:]]
    return Group(*parts)


def waveform(columns: list[dict[str, Any]]) -> list[str]:
    """Return a line for each channel: the range of values in each column, relative to the largest one."""
    if not columns:
        return []
    lines = []
    for channel in range(len(columns[0]["low"])):
        ranges = [column["high"][channel] - column["low"][channel] for column in columns]
        most = max(*ranges, 1) if len(ranges) > 1 else max(ranges[0], 1)
        lines.append("".join(_LEVELS[round(8 * value / most)] for value in ranges))
    return lines


def traces(columns: list[dict[str, Any]]) -> list[str]:
    """Return a line for each channel: the middle of each column's values, between the lowest and the highest one."""
    lines = []
    for channel in range(len(columns[0]["low"]) if columns else 0):
        middles = [(column["low"][channel] + column["high"][channel]) / 2 for column in columns]
        lowest, highest = min(middles), max(middles)
        span = max(highest - lowest, 1)
        lines.append("".join(_LEVELS[1 + round(7 * (value - lowest) / span)] for value in middles))
    return lines


def spectrogram(columns: list[dict[str, Any]]) -> list[str]:
    """Return lines of levels: the highest frequencies in the first one."""
    lines = []
    for row in reversed(range(_ROWS)):
        text = ""
        for column in columns:
            bands = column["bands"]
            size = len(bands) // _ROWS
            text += _LEVELS[min(max(bands[row * size : (row + 1) * size]) * 9 // 256, 8)]
        lines.append(text)
    return lines


def score_lines(scores: list[dict[str, Any]]) -> list[str]:
    """Return a bar for each class, at most the ten highest."""
    best = sorted(scores, key=lambda score: -int(score["percent"]))[:10]
    names = [printable(str(score["class"]))[:24] for score in best]
    longest = max((len(name) for name in names), default=0)
    return [
        f"{name:<{longest}} {score['percent']:>3}% {'█' * (min(score['percent'], 100) // 4)}"
        for name, score in zip(names, best, strict=True)
    ]


def health_line(view: dict[str, Any]) -> str:
    """Return latency, headroom and counts."""
    parts = []
    if view["latency_ms"] is not None:
        parts.append(f"window {view['latency_ms']:.1f} of {view['period_ms']:.1f} ms")
    if view["headroom_percent"] is not None:
        parts.append(f"headroom {view['headroom_percent']:.1f}%")
    health = view["health"] or {}
    parts += [f"{count} {name.replace('_', ' ')}" for name, count in health.items()]
    return " · ".join(parts) or "No health report yet."
