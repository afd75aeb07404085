"""Run the energy mode: measure five windows of at least ten seconds and ten inferences with a meter, and report the
median.

Each window is a separate recording. If a digital input of the meter is connected to the device's pin, the pin's falling
edges mark the start and end of the window. Otherwise the lines that the device sends over the serial port mark them.
Their delay of a few milliseconds is small compared to ten seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from arenite.errors import DeviceError
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.build.project import Project
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.activity import InferenceWindow
from arenite.host.energy.windows.alignment import align
from arenite.host.energy.windows.find import InferenceWindows
from arenite.host.energy.windows.marks import falling_edges
from arenite.host.energy.windows.result import measure
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.energy_folder import Draw, write_energy
from arenite.host.mlperf.energy_monitor import WARM_UP, EnergyMonitor, TimedRun
from arenite.host.mlperf.energy_window import EnergyWindow
from arenite.host.mlperf.tasks import WINDOW_INFERENCES, WINDOW_S, WINDOWS

EDGES, LINES = "falling edges", "serial timestamps"
#: Seconds recorded before and after each window.
IDLE_MARGIN_S = 0.5
#: A window is planned longer than the rules require by this factor, because inferences and clocks vary a little.
MARGIN = 1.03
#: Two edges mark a window if their distance equals the time between the two serial lines, up to this fraction of it or
#: up to this number of seconds.
NEAR_SHARE, NEAR_S = 0.05, 0.1
#: The maximum difference in seconds between the times of the serial lines and the activity in the recorded current. The
#: delays of USB and of the start of a recording are shorter.
MAX_EDGE_SHIFT_S = 0.2
#: A recording may end this number of seconds before its window, which is at most a thousandth of the window.
MAX_MISSING_S = 0.01
#: The number of windows that may be too short before the measurement fails.
MAX_REPEATS = 10


def measure_windows(
    client: EnergyMonitor,
    meter: Meter,
    inputs: Sequence[bytes],
    window_s: float,
    bit: int | None,
    progress: Callable[[int, int], None],
) -> list[EnergyWindow]:
    """Measure five windows of at least ``window_s`` seconds, each with another input. If there are fewer than five
    inputs, they are used again.

    ``meter`` must be open. ``bit`` is the number of the meter's digital input for the pin, or None to detect it. Raises
    ``DeviceError`` if device or meter fail, or if windows stay too short.
    """
    client.load(inputs[0])
    inference_s = client.timed(WINDOW_INFERENCES, 1).seconds / WINDOW_INFERENCES
    count = max(WINDOW_INFERENCES, math.ceil(window_s * MARGIN / inference_s))
    windows: list[EnergyWindow] = []
    repeats = 0
    while len(windows) < WINDOWS:
        progress(len(windows), WINDOWS)
        window = _measure_window(client, meter, inputs[len(windows) % len(inputs)], count, bit)
        if window.seconds >= window_s:
            windows.append(window)
            continue
        # The device was faster than before, as an emulator on a busy computer can be. Repeat this window with more
        # inferences.
        repeats += 1
        if repeats > MAX_REPEATS:
            raise DeviceError(
                f"Windows of {count} inferences are still shorter than {window_s:g} s.",
                "The device's speed changes too much from run to run. Stop other programs.",
            )
        count = math.ceil(count * max(window_s * MARGIN / window.seconds, 1.1))
    progress(WINDOWS, WINDOWS)
    return windows


def _measure_window(
    client: EnergyMonitor, meter: Meter, data: bytes, count: int, bit: int | None
) -> EnergyWindow:
    client.load(data)
    meter.start()
    time.sleep(IDLE_MARGIN_S)
    run = client.timed(count, WARM_UP)
    time.sleep(IDLE_MARGIN_S)
    trace = meter.stop()
    outputs = client.raw_outputs()
    trace.require(16)
    window, method = _find_bounds(trace, run, bit)
    if window.start_s < trace.time_s[0] or window.end_s > trace.time_s[-1] + MAX_MISSING_S:
        raise DeviceError(
            f"The recording of {trace.seconds:.1f} s does not cover the window of {run.seconds:.1f} s.",
            "Another program or a slow USB hub may delay samples. Try another USB port.",
        )
    return EnergyWindow(run, method, measure(trace, InferenceWindows((window,), method)), outputs)


def _find_bounds(trace: Trace, run: TimedRun, bit: int | None) -> tuple[InferenceWindow, str]:
    """Return the start and end of the window, and the method that found them.

    These are the last two falling edges, as in the official runner, if their distance agrees with the times of the
    serial lines. Otherwise the times of the serial lines are used. They are moved to the activity in the recorded
    current if it is near.
    """
    if trace.marks is not None:
        for input_bit in range(8) if bit is None else (bit,):
            edges = falling_edges(trace, input_bit)
            if len(edges) >= 2:
                length = float(edges[-1] - edges[-2])
                if abs(length - run.seconds) <= max(NEAR_S, NEAR_SHARE * run.seconds):
                    return InferenceWindow(float(edges[-2]), float(edges[-1])), EDGES
    origin = trace.started_s if trace.started_s is not None else run.start_s - IDLE_MARGIN_S
    event = (run.start_s - origin, run.end_s - origin)
    with suppress(DeviceError):
        moved = align(trace, [event]).apply([event])[0]
        near = (
            abs(moved.start_s - event[0]) < MAX_EDGE_SHIFT_S
            and abs(moved.end_s - event[1]) < MAX_EDGE_SHIFT_S
        )
        if (
            near
            and trace.time_s[0] + MAX_EDGE_SHIFT_S < moved.start_s
            and moved.end_s + MAX_EDGE_SHIFT_S < trace.time_s[-1]
        ):
            return moved, LINES
    return InferenceWindow(*event), LINES


def run_energy(
    project: Project,
    client: EnergyMonitor,
    meter: Meter,
    config: MlperfConfig,
    inputs: Sequence[bytes],
    reference: Reference,
    progress: Progress,
    draw: Draw | None,
) -> dict[str, Any]:
    """Measure the windows, compare their last outputs with LiteRT's, and write the results folder. Returns the fields
    of ``arenite.mlperf/1`` that are specific to this mode.

    ``draw`` is a function that returns an SVG of a window for the folder. If it is None, there are no pictures. Raises
    ``DeviceError`` if device or meter fail, and ``UsageError`` if the folder cannot be written.
    """
    windows = measure_windows(
        client,
        meter,
        inputs,
        config.window_s,
        config.mark_input,
        lambda done, total: progress("run", done, total),
    )
    exact = 0
    for k, window in enumerate(windows):
        expected = reference.run(config.samples.inputs[k % len(inputs)])
        exact += window.outputs == b"".join(np.ascontiguousarray(v).tobytes() for v in expected)
    invalid = []
    if project.board.emulated:
        invalid.append(
            "an emulated board draws no current: the figures are those of the device that the meter"
            " is connected to"
        )
    if config.window_s < WINDOW_S:
        invalid.append(f"windows of {config.window_s:g} s, but the rules require {WINDOW_S:g} s")
    if exact != len(windows):
        invalid.append(f"the outputs of {len(windows) - exact} windows differ from LiteRT's")
    energies = np.array([window.uj_per_inference for window in windows])
    write_energy(config.folder(project.board), windows, float(np.median(energies)), invalid, draw)
    p25, median, p75 = (float(v) for v in np.quantile(energies, [0.25, 0.5, 0.75]))
    first = windows[0].result.trace
    notes = [f"Not valid for a submission: {text}." for text in invalid]
    notes += dict.fromkeys(note for window in windows for note in window.result.trace.notes)
    return {
        "samples": len(windows),
        "accuracy": None,
        "bit_exact": exact,
        "energy_uj_per_inference": {"median": median, "p25": p25, "p75": p75, "kind": "measured"},
        "supply_v": float(np.mean([window.result.supply_v for window in windows])),
        "lost_samples": sum(window.result.lost_samples for window in windows),
        "meter": {"name": first.meta.get("meter"), "rate_hz": first.rate_hz, "clock": first.clock},
        "windows": [
            {
                "inferences": window.run.inferences,
                "seconds": window.seconds,
                "energy_uj_per_inference": window.uj_per_inference,
                "average_power_w": window.result.average_power_w,
                "peak_power_w": window.result.peak_power_w,
                "bounds": window.method,
                "lost_samples": window.result.lost_samples,
                "time": "measured",
            }
            for window in windows
        ],
        "notes": notes,
    }
