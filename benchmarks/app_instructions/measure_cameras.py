"""Count the instructions of applications with a camera, from inference to inference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

from arenite.converters.graph.model import Model
from arenite.errors import DeviceError
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.instructions import CostTable, inference_count
from arenite.firmware.sizes.targets import target_of
from arenite.host.app.camera.camera_file import CAMERA_FILE, camera_records
from arenite.host.app.camera.generate import CameraApp, generate_camera_app
from arenite.host.app.emulated_run import run_with_file
from arenite.host.build.library import lower_models
from arenite.host.flash.build import direct_build
from arenite.profiles.board import Board
from benchmarks.app_instructions.camera_settings import camera_model

#: Inferences that are measured, and instructions per tick of the board's timer.
_INFERENCES, _PER_TICK = 5, 5 / 8
_LINE = re.compile(r"\[.*\] scores (\d+) .*")
#: The line of scores tells the ticks of its frame too.
_TEXT, _WITH_TICKS = 'console_text("scores");', 'console_text("scores ");\n    console_number(ticks);'


@dataclass(frozen=True)
class CameraStages:
    """A measured application: the instructions of the mean frame, the predicted ones of its inference, and its lines of
    scores."""

    application: CameraApp
    inference: float
    busy: float
    scores: tuple[str, ...]


def measure_camera(
    board: Board,
    model: Model,
    rate: int,
    hop: int,
    table: CostTable,
    folder: Path,
) -> CameraStages:
    """Build an application that tells the ticks of each frame, and run it. ``table`` has the costs of its kernels."""
    folder.mkdir(parents=True)
    prepared = camera_model(folder / "seen.tflite", model, rate, hop)
    application = generate_camera_app(prepared, board, folder / "app")
    report = application.directory / "lib/app/camera_report.c"
    text = report.read_text()
    assert _TEXT in text
    report.write_text(text.replace(_TEXT, _WITH_TICKS))
    rng = np.random.default_rng(1)
    settings = application.settings
    frames = [
        rng.integers(0, 256, settings.height * settings.row_bytes, np.uint8)
        for _ in range(_INFERENCES * settings.hop)
    ]
    lines = list(
        run_with_file(
            direct_build(application.directory), board, CAMERA_FILE, camera_records(frames, settings)
        )
    )
    scores = tuple(line for line in lines if _LINE.fullmatch(line))
    if len(scores) != _INFERENCES:
        raise DeviceError(
            f"{len(scores)} frames were answered, expected {_INFERENCES}.", "Look at its lines."
        )
    ticks = [int(match[1]) for line in scores if (match := _LINE.fullmatch(line))]
    generated = lower_models({"seen": prepared}, Target.for_core(board.core, "balanced"))[0]
    inference, _ = inference_count(generated, table, target_of(board).core, "balanced")
    # Nothing was awake before the first frame.
    return CameraStages(application, inference.usual, mean(ticks[1:]) * _PER_TICK, scores)
