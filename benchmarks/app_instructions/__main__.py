"""Measure the costs in profiles/instructions.json: ``python -m benchmarks.app_instructions [BOARD ...]``.

It builds random layers and about 80 applications for each emulated board, counts their instructions in the emulator,
and fits the costs of each kind of work (fit.py). It takes about ten minutes for a board. Run it after a
change of the kernels, the front ends, the decision or the sources of applications.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arenite.converters.decision.record import Decision, Gate
from arenite.files import write_atomic
from arenite.firmware.sizes.instructions import PATH
from arenite.profiles.boards import Board, load_board
from benchmarks.app_instructions.fit import fit_applications, fit_kernels
from benchmarks.app_instructions.measure import Stages, measure_layers, measure_stages
from benchmarks.app_instructions.random_layers import GROUPS
from benchmarks.app_instructions.sample_settings import chosen_settings, gate_settings, random_settings
from benchmarks.app_sizes import app_boards

_SOURCE = (
    "fitted to layers and applications on emulated boards, instructions counted by QEMU: "
    "python -m benchmarks.app_instructions"
)
_SEEDS = (11, 12)


def _applications(board: Board, folder: Path) -> Iterator[Stages]:
    """Yield the measured applications of a board."""
    for name, (record, decision, sensor, classes, _) in chosen_settings().items():
        yield measure_stages(board, record, decision, sensor, classes, None, folder / name)
    for name, (record, hop, sensor, classes, hops) in random_settings().items():
        decision = Decision(threshold=0.99, release=0.5, smooth="mean", hops=hops, hop=hop)
        yield measure_stages(board, record, decision, sensor, classes, None, folder / name)
    for name, (record, hop, sensor, block, channels) in gate_settings().items():
        decision = Decision(threshold=0.99, release=0.5, smooth="mean", hops=3, hop=hop)
        gate = Gate(threshold=1.0, release=0.5, block=block, unit="counts", channels=channels, hang_blocks=2)
        yield measure_stages(board, record, decision, sensor, 4, gate, folder / name)


def measured_costs(board: Board, folder: Path) -> dict[str, Any]:
    """Return the costs of a board's core."""
    layers = []
    for seed in _SEEDS:
        for number, (kinds, count) in enumerate(GROUPS):
            place = folder / f"layers-{seed}-{number}"
            place.mkdir()
            layers += measure_layers(board, kinds, count, seed, place)
    kernels, largest = fit_kernels(layers)
    rest = fit_applications(list(_applications(board, folder / "apps")))
    return {"kernels": kernels, **rest, "largest": {**rest["largest"], **largest}}


def main(argv: list[str] | None = None) -> int:
    names = sys.argv[1:] if argv is None else argv
    boards = [load_board(name) for name in names] or app_boards()
    for board in boards:
        with tempfile.TemporaryDirectory(prefix="arenite-") as name:
            costs = measured_costs(board, Path(name))
        cores = json.loads(PATH.read_text())["cores"] if PATH.is_file() else {}
        table = {
            "schema": "arenite.instructions/1",
            "source": _SOURCE,
            "cores": dict(sorted({**cores, board.core: costs}.items())),
        }
        write_atomic(PATH, json.dumps(table, indent=1) + "\n")
        print(f"{board.name}: measured", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
