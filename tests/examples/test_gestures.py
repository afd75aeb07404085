"""The example of gestures trains its model, and the application finds the events of this computer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ToolError
from arenite.host.app.generate import generate_app
from arenite.host.app.play import play
from arenite.host.app.sensor_stream import IMU
from arenite.host.build.prepare import prepare
from arenite.models.datasets.motions import recordings
from arenite.profiles.boards import load_board

SCRIPT = Path(__file__).parents[2] / "examples" / "gestures.py"


@pytest.mark.slow
@pytest.mark.qemu
def test_gestures_are_learned_and_found_on_the_device(tmp_path: Path) -> None:
    try:
        recordings(progress=False)
    except ToolError as error:
        if "Could not download" not in error.problem:
            raise
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    accuracy = re.search(r"int8 accuracy on 520 windows .*: ([\d.]+)%", run.stdout)
    assert accuracy is not None and float(accuracy[1]) >= 97
    events = re.search(
        r"(\d+) motions other than standing: (\d+) events start, (\d+) of them name .* slept in (\d+) of (\d+)",
        run.stdout,
    )
    assert events is not None
    motions, starts, right, gated, windows = map(int, events.groups())
    assert right >= motions - 2 and starts - right <= 3 and 0 < gated < windows
    application = generate_app(
        prepare(tmp_path / "gesture.tflite"), load_board("qemu_mps2_an386"), tmp_path / "app", sensor=IMU
    )
    day = np.load(tmp_path / "day.npy")
    assert np.array_equal(np.loadtxt(tmp_path / "day.csv", delimiter=","), day)
    playback = play(application, day)
    assert playback.is_equal and sum(event.is_start for event in playback.events) == starts
