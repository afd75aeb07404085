"""Run the performance mode: time five windows of at least ten seconds and ten inferences, and report the median.

On an emulated board the seconds are virtual, and every instruction takes the same time. The result is then the number
of instructions per inference, as ``arenite bench`` counts them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from arenite.errors import DeviceError
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.build.project import Project
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.folder import emulated_lines, performance_lines, stamped, write_results
from arenite.host.mlperf.tasks import WINDOW_INFERENCES, WINDOW_S, WINDOWS

WARM_UP = 10
#: A window is planned longer than the rules require by this factor, because inferences differ a little in time.
_MARGIN = 1.02


@dataclass(frozen=True)
class PerformanceWindow:
    """One window, timed by the device's own clock. ``outputs`` has the output bytes of its last inference."""

    inferences: int
    microseconds: int
    outputs: bytes

    @property
    def us_per_inference(self) -> float:
        return self.microseconds / self.inferences

    @property
    def valid(self) -> bool:
        """Whether the window is as long as the rules require."""
        return self.microseconds >= WINDOW_S * 1e6 and self.inferences >= WINDOW_INFERENCES


def measure_windows(
    client: MonitorClient, inputs: Sequence[bytes], progress: Callable[[int, int], None]
) -> list[PerformanceWindow]:
    """Measure five windows, each with another input. If there are fewer than five inputs, they are used again.

    Raises ``DeviceError`` if the device's clock stops or goes backwards.
    """
    client.load(inputs[0])
    inference_us = client.infer(1, 1).microseconds
    count = WINDOW_INFERENCES
    if inference_us > 0:
        count = max(count, math.ceil(WINDOW_S * 1e6 * _MARGIN / inference_us))
    windows: list[PerformanceWindow] = []
    while len(windows) < WINDOWS:
        progress(len(windows), WINDOWS)
        client.load(inputs[len(windows) % len(inputs)])
        run = client.infer(count, WARM_UP)
        if run.microseconds <= 0:
            raise DeviceError(
                f"The device counted {run.microseconds} µs for {count} inferences.",
                "Its clock does not run. Flash the firmware again.",
            )
        window = PerformanceWindow(count, run.microseconds, client.raw_outputs())
        if not window.valid:
            # The window is shorter than the first inference suggested. Repeat all windows with more inferences in each.
            count = math.ceil(count * max(WINDOW_S * 1e6 * _MARGIN / window.microseconds, 1.1))
            windows.clear()
            continue
        windows.append(window)
    progress(WINDOWS, WINDOWS)
    return windows


def median_us(windows: Sequence[PerformanceWindow]) -> float:
    """Return the microseconds per inference of the median window."""
    return statistics.median(w.us_per_inference for w in windows)


def run_performance(
    project: Project,
    client: MonitorClient,
    config: MlperfConfig,
    inputs: Sequence[bytes],
    reference: Reference,
    progress: Progress,
) -> dict[str, Any]:
    """Measure the windows, compare their last outputs with LiteRT's, and write the results folder. Returns the fields
    of ``arenite.mlperf/1`` that are specific to this mode."""
    board, emulator = project.board, project.board.emulator
    windows = measure_windows(client, inputs, lambda done, total: progress("run", done, total))
    exact, rows = 0, []
    for k, window in enumerate(windows):
        expected = reference.run(config.samples.inputs[k % len(inputs)])
        exact += window.outputs == b"".join(np.ascontiguousarray(v).tobytes() for v in expected)
        row: dict[str, Any] = {"inferences": window.inferences, "seconds": window.microseconds / 1e6}
        if emulator is not None:
            row["instructions"] = round(emulator.instructions_in_us(window.microseconds) / window.inferences)
        rows.append(row)
    now, median = datetime.now(), median_us(windows)
    instructions = latency = throughput = None
    if emulator is not None:
        counted = sorted(row["instructions"] for row in rows)
        instructions = {"median": counted[len(counted) // 2], "min": counted[0], "max": counted[-1]}
        lines = emulated_lines(rows, instructions["median"], now)
        lines.append("NOT VALID for a submission: an emulated board, whose time is virtual.")
    else:
        microseconds = [w.us_per_inference for w in windows]
        latency = {
            "median": round(median, 1),
            "min": round(min(microseconds), 1),
            "max": round(max(microseconds), 1),
        }
        throughput = {"median": 1e6 / median, "unit": "inferences per second"}
        lines = performance_lines(rows, 1e6 / median, now)
    if exact != len(windows):
        lines.append(f"NOT VALID: the outputs of {len(windows) - exact} windows differ from LiteRT's.")
    entries = [
        {
            "infer": {"iterations": w.inferences, "elapsed_time": w.microseconds, "warmups": WARM_UP},
            "mode": "p",
            "virtual_time": emulator is not None,
        }
        for w in windows
    ]
    write_results(config.folder(board), lines, entries, [stamped(line, now) for line in lines])
    return {
        "samples": len(windows),
        "accuracy": None,
        "bit_exact": exact,
        "inference": {"instructions": instructions, "latency_us": latency, "throughput": throughput},
        "windows": [{**row, "time": "virtual" if emulator else "measured"} for row in rows],
        "notes": [],
    }
