"""Fit the costs of each kind of work to measured instructions, with non-negative least squares of relative errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from arenite.converters.processing.imu.plan import ImuPlan
from arenite.firmware.sizes.front_end_work import row_work
from arenite.firmware.sizes.instructions import total
from arenite.host.app.headroom import line_work
from arenite.host.app.loop_schedule import Schedule, window_counts
from arenite.host.app.sensor_file import block_of
from benchmarks.app_instructions.measure import WINDOWS, Layer, Stages
from benchmarks.estimates.non_negative import non_negative

#: Instructions per tick of the board's timer, per millisecond and per second.
PER_TICK, PER_MILLISECOND, PER_SECOND = 5 / 8, 15625.0, 15625000.0
#: Instructions that the program that measures takes more than the shipped one in each turn of its loop, and those that
#: the port takes for a character after its line was printed: counted in the disassembly.
OWN_TURN, SENT = 6.0, 21.0
#: The first guess of the loop's costs, whose schedule depends on them a little.
_LOOP = {
    "sleep": 120.0, "record": 200.0, "arrived sample": 0.0, "arrived value": 0.0, "read": 0.0, "read sample": 15.0,
    "read value": 25.0, "feed": 220.0, "window": 0.0,
}  # fmt: skip
_MIN_LAYERS = 3
#: The signal that the loop hears, and the seconds after which its windows are usual ones: then the front end knows the
#: noise in the background.
_HEARD, _START_S = "5", 1
#: The kernel whose instructions depend on its inputs.
_SOFTMAX = "ar_softmax_s8"

Costs = dict[str, float]


def fit(rows: Sequence[Layer]) -> Costs:
    """Return the costs of each kind of work with the smallest relative errors."""
    names = sorted({name for work, _ in rows for name in work})
    a = np.array([[work.get(name, 0.0) / count for name in names] for work, count in rows])
    costs = non_negative(a, np.ones(len(rows)))
    return {n: float(f"{c:.6g}") for n, c in zip(names, costs, strict=True) if c > 0}


def largest_error(rows: Sequence[Layer], costs: Mapping[str, float]) -> float:
    """Return the largest relative error of the costs."""
    return max(abs(total(costs, work) / count - 1) for work, count in rows)


def fit_kernels(
    layers: Iterable[tuple[str, Mapping[str, float], float]],
) -> tuple[dict[str, Costs], dict[str, Costs]]:
    """Return the costs of each kernel, and the largest ones of those that depend on the inputs."""
    by_kernel: dict[str, list[Layer]] = {}
    for kernel, work, count in layers:
        by_kernel.setdefault(kernel, []).append((work, count))
    kernels = {k: fit(rows) for k, rows in sorted(by_kernel.items()) if len(rows) >= _MIN_LAYERS}
    most = max((n / work["value"] for work, n in by_kernel.get(_SOFTMAX, [])), default=0.0)
    return kernels, {_SOFTMAX: {"value": most}} if most else {}


def _windows(stages: Stages) -> np.ndarray:
    """Return the instructions of feed for each window of the signal that the loop hears, after the first one."""
    calls = np.array(stages.lines["F"][_HEARD])
    window = (np.cumsum(calls[:, 1]) - 1) // stages.application.settings.hop
    counts = np.bincount(window, weights=calls[:, 0] * PER_TICK)
    return counts[: int(calls[:, 1].sum()) // stages.application.settings.hop]


def _calls(stages: Stages, signal: str) -> tuple[float, float]:
    """Return the instructions and the number of calls of feed, from one window to the next."""
    calls, hop = stages.lines["F"][signal], stages.application.settings.hop
    taken = np.cumsum([count for _, count in calls])
    windows = int(taken[-1] // hop)
    last = int(np.searchsorted(taken, windows * hop)) + 1
    return sum(ticks for ticks, _ in calls[:last]) * PER_TICK / windows, last / windows


def front_end_rows(stages: Stages) -> tuple[str, Mapping[str, float], float, float]:
    """Return the front end of an application, its work for a window, and its instructions: usual ones and the most."""
    s, plan = stages.application.settings, stages.plan
    counts = {signal: _calls(stages, signal) for signal in stages.lines["F"] if signal != _HEARD}
    feeds = counts["1"][1]
    rows = 1 if isinstance(plan, ImuPlan) else s.hop // plan.step
    kind, work = row_work(plan, rows, feeds)
    if stages.gate_block is not None:
        work |= {"gate feed": feeds, "gate sample": s.hop, "gate value": s.hop * s.channels}
        work["gate block"] = s.hop / stages.gate_block
    if kind != "motion":
        heard = _windows(stages)
        return kind, work, float(np.mean(heard[-(-_START_S * s.rate // s.hop) :])), float(np.max(heard))
    # Signal 0 is digital silence, which no sensor gives.
    usual = float(np.mean([count for signal, (count, _) in counts.items() if signal != "0"]))
    return kind, work, usual, max(count for count, _ in counts.values())


def fit_loop(measured: Sequence[Stages]) -> Costs:
    """Return the costs of the loop's parts: what a window takes besides its features, inference and decision."""
    costs = dict(_LOOP)
    for _ in range(3):
        rows, rests, totals = [], [], []
        for stages in measured:
            s, lines = stages.application.settings, stages.lines
            if "B" not in lines or str(WINDOWS) not in lines["B"]:
                continue  # a board that cannot keep up runs several windows before it looks at their number
            features = float(np.mean(_windows(stages)[:WINDOWS]))
            model = sum(float(np.median([n for (n,) in lines[k]["4"]])) for k in "ID") * PER_TICK
            busy = lines["B"][str(WINDOWS)][0][0] * PER_TICK / WINDOWS
            record = block_of(s.rate, s.channels)
            schedule = Schedule(s.rate, s.channels, s.window, s.hop, record, PER_MILLISECOND, PER_SECOND)
            counts = window_counts(schedule, costs, features / s.hop, model, WINDOWS)
            rows.append([float(np.mean([c.get(name, 0.0) for c in counts])) for name in costs])
            rests.append(busy - features - model)
            totals.append(busy)
        weights = 1 / np.array(totals)
        fitted = non_negative(np.array(rows) * weights[:, None], np.array(rests) * weights)
        costs = dict(zip(costs, map(float, fitted), strict=True))
    return {**costs, "sleep": costs["sleep"] - OWN_TURN}


def fit_lines(measured: Sequence[Stages]) -> Costs:
    """Return the costs of printing the line of an event."""
    rows = []
    for stages in measured:
        for kind, printed in stages.lines["P"].items():
            for digits, (ticks,) in enumerate(printed, 1):
                work = line_work(stages.application.settings.rate, len("class0"), kind == "0", 10**digits - 1)
                rows.append((work, ticks * PER_TICK))
    costs = fit(rows)
    return {**costs, "character": costs["character"] + SENT}


def fit_decision(measured: Sequence[Stages]) -> Costs:
    """Return the costs of a decision."""
    rows = []
    for stages in measured:
        ticks = [n for counts in stages.lines["D"].values() for (n,) in counts]
        rows.append(({"call": 1.0, "class": float(stages.classes)}, float(np.median(ticks)) * PER_TICK))
    return fit(rows)


def fit_applications(measured: Sequence[Stages]) -> dict[str, Any]:
    """Return the costs of all parts of applications besides the model."""
    usual: dict[str, list[Layer]] = {}
    most: dict[str, list[Layer]] = {}
    for stages in measured:
        kind, work, count, largest = front_end_rows(stages)
        usual.setdefault(kind, []).append((work, count))
        most.setdefault(kind, []).append((work, largest))
    return {
        "front_ends": {kind: fit(rows) for kind, rows in sorted(usual.items())},
        "largest": {kind: fit(rows) for kind, rows in sorted(most.items())},
        "decision": fit_decision(measured),
        "loop": fit_loop(measured),
        "line": fit_lines(measured),
    }
