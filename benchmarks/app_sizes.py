"""Measure the sizes of the sources of applications: ``python -m benchmarks.app_sizes``.

It generates small applications of every kind on every board with an application, compiles them for speed and for size,
and stores the sizes in ``profiles/app_sizes/``. ``arenite fit --app`` adds them up. Run it after any change to the
sources of applications, features or decisions.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from arenite.firmware.app.project import supported
from arenite.firmware.sizes.app_measure import measure_apps, write_table
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.generate import generate_app
from arenite.profiles.boards import Board, all_boards
from tests.host.app.cascade.cascade_models import GATE as SOUND_GATE
from tests.host.app.cascade.cascade_models import motion_pair, sound_pair
from tests.host.app.motion_models import GATE, motion_model
from tests.host.app.sound_models import DECISION, LABELS, MICRO, SOUND, sound_model

#: Features and decisions with different generated code.
SOUNDS = {"audio": SOUND, "micro": MICRO}
DECISIONS = {
    "mean": DECISION,
    "exponential": replace(DECISION, smooth="exponential", factor=0.4, hops=1),
}


def app_boards() -> list[Board]:
    """Return the boards that applications can be predicted for."""
    return [board for board in all_boards() if board.emulated and supported(board, "microphone")]


def sample_apps(board: Board, folder: Path) -> list[Path]:
    """Write an application of every kind for ``board``, and return their folders."""
    paths = []
    for sound_name, sound in SOUNDS.items():
        for decision_name, decision in DECISIONS.items():
            for optimise in ("balanced", "flash"):
                place = folder / f"{board.name}-{sound_name}-{decision_name}-{optimise}"
                place.mkdir(parents=True)
                prepared = sound_model(place / "sampled.tflite", decision, sound, LABELS)
                generate_app(prepared, board, place / "app", optimise=optimise)
                paths.append(place / "app")
    for is_raw, gate in ((False, None), (False, GATE), (True, None)):
        for optimise in ("balanced", "flash"):
            place = folder / f"{board.name}-motion-{is_raw}-{gate is not None}-{optimise}"
            place.mkdir(parents=True)
            prepared = motion_model(place / "sampled.tflite", is_raw=is_raw, gate=gate)
            generate_app(prepared, board, place / "app", sensor="imu", optimise=optimise)
            paths.append(place / "app")
    return paths + sample_cascades(board, folder)


def sample_cascades(board: Board, folder: Path) -> list[Path]:
    """Write a cascade of every kind for ``board``, and return their folders."""
    kinds = [*SOUNDS, "imu"]
    both = (False, True)
    rows = [
        (kind, is_shared, has_gate, "balanced") for kind in kinds for is_shared in both for has_gate in both
    ]
    rows += [(kind, True, False, "flash") for kind in kinds]  # functions of models with the same features
    paths = []
    for kind, is_shared, has_gate, optimise in rows:
        place = folder / f"{board.name}-cascade-{kind}-{is_shared}-{has_gate}-{optimise}"
        place.mkdir(parents=True)
        if kind == "imu":
            models = motion_pair(place, is_shared, has_gate)
        else:
            models = sound_pair(place, is_shared, SOUND_GATE if has_gate else None, SOUNDS[kind])
        sensor = "imu" if kind == "imu" else "microphone"
        generate_cascade(*models, board, place / "app", sensor=sensor, optimise=optimise)
        paths.append(place / "app")
    return paths


def main() -> int:
    for board in app_boards():
        with tempfile.TemporaryDirectory(prefix="arenite-") as name:
            folder = Path(name)
            write_table(
                board.name, measure_apps(board.name, sample_apps(board, folder / "apps"), folder / "s")
            )
        print(f"{board.name}: measured", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
