"""Measure the costs in profiles/instructions.json: ``python -m benchmarks.app_instructions [BOARD ...]``.

It builds random layers, about 90 applications, 20 that learn and 10 with a camera for each emulated board, counts their
instructions in the emulator, and fits the costs of each kind of work (fit.py, fit_cameras.py). It takes about 15
minutes for a board. Run it after a change of the kernels, the front ends, the decision or the sources of applications.
The option --applications keeps the stored costs of kernels and cameras; --cameras measures only cameras and layers that
run row by row.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arenite.converters.decision.record import Decision, Gate
from arenite.files import write_atomic
from arenite.firmware.sizes.instructions import PATH, CostTable
from arenite.profiles.boards import Board, load_board
from benchmarks.app_instructions.camera_settings import camera_settings
from benchmarks.app_instructions.fit import fit, fit_applications, fit_kernels
from benchmarks.app_instructions.fit_cameras import camera_errors, fit_cameras
from benchmarks.app_instructions.measure import Stages, measure_layers, measure_stages
from benchmarks.app_instructions.measure_cameras import measure_camera
from benchmarks.app_instructions.measure_learning import measure_learning
from benchmarks.app_instructions.measure_rows import measure_rows
from benchmarks.app_instructions.random_layers import GROUPS
from benchmarks.app_instructions.sample_settings import chosen_settings, gate_settings, random_settings
from benchmarks.app_sizes import app_boards

_SOURCE = (
    "fitted to layers and applications on emulated boards, instructions counted by QEMU: "
    "python -m benchmarks.app_instructions"
)
_SEEDS = (11, 12, 13, 14)
#: The random networks whose first layers run row by row.
_NETWORKS = range(24)


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


def measured_kernels(board: Board, folder: Path) -> dict[str, Any]:
    """Return the costs of the kernels of a board's core, and the largest costs that were measured."""
    layers = []
    for seed in _SEEDS:
        for number, (kinds, count) in enumerate(GROUPS):
            place = folder / f"layers-{seed}-{number}"
            place.mkdir()
            layers += measure_layers(board, kinds, count, seed, place)
    kernels, largest = fit_kernels(layers)
    return {"kernels": kernels, "largest": largest}


def with_cameras(board: Board, costs: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return ``costs`` of a core with those of cameras and of layers that run row by row."""
    layers = []
    for seed in _NETWORKS:
        place = folder / f"network-{seed}"
        place.mkdir(parents=True)
        layers += measure_rows(board, seed, place)
    kernels, _ = fit_kernels(layers)
    costs = {**costs, "kernels": dict(sorted({**costs["kernels"], **kernels}.items()))}
    measured = [
        measure_camera(board, *setting, CostTable(**costs), folder / f"camera-{k}")
        for k, setting in enumerate(camera_settings())
    ]
    costs |= fit_cameras(measured, costs["decision"], costs["line"])
    errors = camera_errors(measured, costs)
    print(
        f"{board.name}: largest error of {len(measured)} cameras {max(map(abs, errors)):.2%}", file=sys.stderr
    )
    return costs


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("boards", nargs="*", help="emulated boards; all without names")
    parser.add_argument("--applications", action="store_true", help="keep the stored costs of kernels")
    parser.add_argument(
        "--cameras", action="store_true", help="measure only cameras and layers that run row by row"
    )
    arguments = parser.parse_args(argv)
    for board in [load_board(name) for name in arguments.boards] or app_boards():
        with tempfile.TemporaryDirectory(prefix="arenite-") as name:
            keeps = arguments.applications or arguments.cameras
            known = json.loads(PATH.read_text())["cores"][board.core] if keeps else {}
            if not arguments.cameras:
                known = known or measured_kernels(board, Path(name))
                rest = fit_applications(list(_applications(board, Path(name) / "apps")))
                known = {**known, **rest, "largest": {**known["largest"], **rest["largest"]}}
                known["learning"] = fit(measure_learning(board, Path(name) / "heads"))
            costs = known if arguments.applications else with_cameras(board, known, Path(name) / "cameras")
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
