"""Write the results folder: ``<results>/<system>/<benchmark>/<mode>`` with results.txt, results.json and log.txt.

The layout, and the lines that the submission checker looks for, are those of github.com/mlcommons/tiny
(tools/submission) and of its published results (github.com/mlcommons/tiny_results_v1.3).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from arenite.files import write_atomic

_RULE = "-" * 57


def stamped(text: str, when: datetime) -> str:
    """Return ``text`` after the time ``when`` and the prefix that the official runner writes at the start of a line."""
    return f"{when:%m%d.%H%M%S} ulp-mlperf: {text}"


def accuracy_lines(metric: str, value: float, when: datetime) -> list[str]:
    """Return the result line of the accuracy mode, which the submission checker reads. ``value`` is the AUC or the
    top-1 accuracy, 0 to 1."""
    if metric == "auc":
        return [stamped(f"AUC = {value:.3f}", when)]
    return [stamped(f"Top 1% = {100 * value:.1f}", when)]


def performance_lines(windows: Sequence[dict[str, Any]], median: float, when: datetime) -> list[str]:
    """Return the result lines of the performance mode for a real board. Each window has the keys ``inferences`` and
    ``seconds``. ``median`` is the median throughput in inferences per second."""
    figures = [
        (
            f"Runtime: {window['seconds']} sec.",
            f"Throughput: {window['inferences'] / window['seconds']} inf./sec.",
        )
        for window in windows
    ]
    return _window_lines(windows, figures, f"Median throughput is {median:>10.3f} inf./sec.", when)


def emulated_lines(windows: Sequence[dict[str, Any]], median: float, when: datetime) -> list[str]:
    """Return the result lines of the performance mode for an emulated board. Its time is virtual, so no line has the
    form of a throughput that the submission checker would read. ``median`` is in instructions per inference."""
    figures = [
        (
            f"Virtual runtime: {window['seconds']} sec.",
            f"Instructions per inference: {window['instructions']}",
        )
        for window in windows
    ]
    return _window_lines(windows, figures, f"Median is {median:.0f} instructions per inference.", when)


def _window_lines(
    windows: Sequence[dict[str, Any]], figures: Sequence[tuple[str, str]], summary: str, when: datetime
) -> list[str]:
    """Return the lines of each window with its two ``figures``, then ``summary`` between two lines of dashes."""
    lines = []
    for k, (window, (first, second)) in enumerate(zip(windows, figures, strict=True), 1):
        lines += [
            f"Performance results for window {k}",
            f"    # Inferences : {window['inferences']}",
            f"    {first}",
            f"    {second}",
        ]
    return [*lines, *(stamped(text, when) for text in (_RULE, summary, _RULE))]


def write_results(
    folder: Path, lines: Sequence[str], entries: Sequence[dict[str, Any]], log: Sequence[str]
) -> None:
    """Write results.txt (``lines``), results.json (``entries``) and log.txt (``log``), each atomically.

    Raises ``UsageError`` if a file cannot be written.
    """
    write_atomic(folder / "results.txt", "\n".join(lines) + "\n")
    write_atomic(folder / "results.json", json.dumps(list(entries)) + "\n")
    write_atomic(folder / "log.txt", "\n".join(log) + "\n")
