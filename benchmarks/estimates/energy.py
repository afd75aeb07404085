"""Compare energy estimates with published measurements: python -m benchmarks.estimates.energy MODELS [--check].

MODELS is a folder with vww01_int8.tflite, ic01_int8.tflite, kws01_int8.tflite and ad01_int8.tflite, the networks of
MLPerf Tiny. Every estimate runs the network in the emulator. This program writes the tables of
docs/energy-estimates.md. With --check, it only reports whether they are up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.energy.estimate import estimate_energy
from arenite.host.report.generated_tables import DOCS, markdown_table, run
from arenite.profiles.boards import load_board

PAGE = DOCS / "energy-estimates.md"


@dataclass(frozen=True)
class Published:
    """A published result of MLPerf Tiny's closed division: milliseconds and microjoules per inference, measured at the
    board's supply. ``stack`` names the software that ran the model; ``task`` is the network, such as vww01."""

    board: str
    stack: str
    task: str
    ms: float
    uj: float

    @property
    def mw(self) -> float:
        """The average power during an inference, in milliwatts."""
        return self.uj / self.ms


def _rows(board: str, stack: str, **results: tuple[float, float]) -> list[Published]:
    """Return the results of one software on one board. ``results`` has (milliseconds, microjoules) for each task."""
    return [Published(board, stack, task, *values) for task, values in results.items()]


#: The published results, from github.com/mlcommons/tiny_results_v0.5 to v1.3. They were measured at different supply
#: voltages, some of which are not documented.
PUBLISHED = [
    *_rows(
        "nucleo_l4r5zi",
        "TFLM reference, v0.5",
        vww01=(600.6, 24313),
        ic01=(704.2, 29207),
        kws01=(181.9, 7374),
        ad01=(10.05, 416),
    ),
    *_rows(
        "nucleo_l4r5zi",
        "microTVM + CMSIS-NN, v1.0",
        vww01=(301.2, 15531),
        ic01=(389.6, 20236),
        kws01=(99.8, 5230),
        ad01=(8.61, 443),
    ),
    *_rows(
        "nucleo_l4r5zi",
        "X-CUBE-AI 9, v1.2",
        vww01=(88.9, 3895),
        ic01=(165.1, 6919),
        kws01=(43.2, 1820),
        ad01=(5.26, 203),
    ),
    *_rows(
        "nucleo_h7a3zi_q",
        "X-CUBE-AI 9, v1.2",
        vww01=(23.8, 2965),
        ic01=(40.8, 5090),
        kws01=(11.3, 1376),
        ad01=(1.23, 166),
    ),
    *_rows(
        "nucleo_u575zi_q",
        "X-CUBE-AI 10.2, v1.3",
        vww01=(59.3, 1372),
        ic01=(109, 2565),
        kws01=(29.0, 664),
        ad01=(3.2, 77),
    ),
    *_rows(
        "nucleo_u385rg_q",
        "X-CUBE-AI 10.2, v1.3",
        vww01=(98.7, 519),
        ic01=(182, 966),
        kws01=(48.3, 245),
        ad01=(5.4, 32),
    ),
]


def estimates(models: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the estimate of each (board, task), as the record ``arenite.energy/1`` that ``estimate_energy`` returns.
    ``models`` is the folder of the models."""
    prepared = {row.task: prepare(models / f"{row.task}_int8.tflite") for row in PUBLISHED}
    pairs = dict.fromkeys((row.board, row.task) for row in PUBLISHED)
    return {(b, t): estimate_energy(prepared[t], load_board(b), BuildOptions("speed")) for b, t in pairs}


def power_table(energy_by_task: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a Markdown table of published and estimated power. It compares power, because energy also depends on how
    fast the kernels are, and the published results were measured with other kernels."""
    rows = []
    for row in PUBLISHED:
        estimate = energy_by_task[row.board, row.task]
        mw = estimate["average_power_w"] * 1e3
        rows.append(
            [
                f"`{row.board}`",
                row.stack,
                row.task,
                f"{row.mw:.1f}",
                f"{mw:.1f}",
                estimate["per_cycle_pj"]["kind"],
                f"{row.mw / mw:.2f}",
            ]
        )
    head = ["board", "published by", "task", "published mW", "estimated mW", "kind", "published ÷ estimated"]
    return markdown_table(head, rows, (3, 4, 6))


def energy_table(energy_by_task: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a Markdown table of the estimated time and energy per inference with Arenite's kernels: the energy with
    its range, the energy that ``arenite fit`` predicts, and the published result with the least energy."""
    rows = []
    for (board, task), estimate in energy_by_task.items():
        uj = estimate["energy_uj_per_inference"]
        best = min((r for r in PUBLISHED if (r.board, r.task) == (board, task)), key=lambda r: r.uj)
        rows.append(
            [
                f"`{board}`",
                task,
                f"{estimate['duration_ms']['median']:.2f}",
                f"{uj['median']:,.0f}",
                f"{uj['low']:,.0f} to {uj['high']:,.0f}",
                uj["kind"],
                f"{estimate['fit_uj']['value']:,.0f}",
                f"{best.ms:g} / {best.uj:,.0f}",
            ]
        )
    head = ["board", "task", "ms", "µJ", "range", "kind", "`fit` µJ", "best published ms / µJ"]
    return markdown_table(head, rows, (2, 3, 6))


def spread(
    energy_by_task: dict[tuple[str, str], dict[str, Any]], boards: Iterable[str]
) -> tuple[float, float]:
    """Return the smallest and the largest ratio of published to estimated power among the results of ``boards``."""
    selected = set(boards)
    ratios = [
        r.mw / (energy_by_task[r.board, r.task]["average_power_w"] * 1e3)
        for r in PUBLISHED
        if r.board in selected
    ]
    return min(ratios), max(ratios)


def main(arguments: list[str] | None = None) -> int:
    """Write the tables to the page, or check them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    options, rest = parser.parse_known_args(arguments)
    energy_by_task = estimates(options.models)
    for board in dict.fromkeys(row.board for row in PUBLISHED):
        low, high = spread(energy_by_task, [board])
        print(f"{board}: published power is {low:.2f} to {high:.2f} times the estimate", file=sys.stderr)
    return run(PAGE, {"power": power_table(energy_by_task), "energies": energy_table(energy_by_task)}, rest)


if __name__ == "__main__":
    sys.exit(main())
