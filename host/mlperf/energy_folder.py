"""Write the results folder of the energy mode: results.txt, results.json, log.txt, and a picture of each window.

The lines of results.txt are the lines that the official runner prints and that the submission checker reads
(github.com/mlcommons/tiny, benchmark/runner/main.py and tools/submission/submission_checker.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from arenite.files import write_atomic
from arenite.host.energy.windows.result import EnergyResult
from arenite.host.mlperf.energy_monitor import WARM_UP
from arenite.host.mlperf.energy_window import EnergyWindow
from arenite.host.mlperf.folder import stamped, write_results

#: A function that draws the recorded current of a window and returns an SVG element.
Draw = Callable[[EnergyResult], str]

_RULE = "-" * 57


def write_energy(
    folder: Path,
    windows: Sequence[EnergyWindow],
    median_uj: float,
    invalid: Sequence[str],
    draw: Draw | None,
) -> None:
    """Write the files of the energy mode into ``folder``.

    ``median_uj`` is the median energy per inference in microjoules. ``invalid`` has the reasons why the result cannot
    be submitted. ``draw`` returns the picture of a window; if it is None, there are no pictures. Raises ``UsageError``
    if a file cannot be written.
    """
    now = datetime.now()
    lines = []
    for k, window in enumerate(windows):
        energy = float(window.result.energy_uj[0])
        lines += [
            f"Energy data for trial {k}",
            f"  Elapsed time  : {window.seconds:.3f}",
            f"  Inferences    : {window.run.inferences}",
            f"  Power         : {window.result.average_power_w * 1e3:5.4f} mW.",
            f"  Total Energy  : {energy:.3f} uJ",
            f"  Energy/Inf    : {window.uj_per_inference:.3f} uJ/inf",
        ]
    summary = f"Median energy cost is {median_uj:5.4f} uJ/inf."
    lines += [stamped(text, now) for text in (_RULE, summary, _RULE)]
    lines += [f"NOT VALID for a submission: {text}." for text in invalid]
    entries = [
        {
            "infer": {
                "iterations": window.run.inferences,
                "warmups": WARM_UP,
                "elapsed_time": round(window.seconds * 1e6),
            },
            "mode": "e",
            "power": {
                "joules": float(window.result.energy_uj[0]) * 1e-6,
                "voltage": window.result.supply_v,
                "timestamps_s": [
                    window.result.windows.spans[0].start_s,
                    window.result.windows.spans[0].end_s,
                ],
                "bounds": window.method,
                "samples": len(window.result.trace),
                "lost_samples": window.result.lost_samples,
            },
        }
        for window in windows
    ]
    write_results(folder, lines, entries, [stamped(line, now) for line in lines])
    if draw is not None:
        for k, window in enumerate(windows):
            write_atomic(folder / f"energy_inf_{k:03d}.svg", draw(window.result))
