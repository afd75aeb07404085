"""The example of machine sounds trains its model, and the application hears the faults that this computer hears."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.app.generate import generate_app
from arenite.host.app.play import play
from arenite.host.app.recordings import read_samples
from arenite.host.build.prepare import prepare
from arenite.models.datasets.machine_sounds import FAULTS
from arenite.profiles.boards import load_board

SCRIPT = Path(__file__).parents[2] / "examples" / "machine_sound.py"


@pytest.mark.slow
@pytest.mark.qemu
def test_faults_are_heard_on_the_device(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=1800
    )
    assert run.returncode == 0, run.stderr
    areas = re.search(
        r"all faults: .* statistics ([\d.]+), .* statistics ([\d.]+), .* head ([\d.]+)", run.stdout
    )
    assert areas is not None
    in_float, int8, head = map(float, areas.groups())
    assert head > 0.75 and abs(head - int8) < 0.01 and abs(head - in_float) < 0.01
    day = re.search(r"(\d) of 5 faults of the day are heard; (\d+) other alarms", run.stdout)
    assert day is not None and int(day[1]) >= 2 and int(day[2]) <= 2
    prepared = prepare(tmp_path / "fan.tflite")
    assert [t.shape for t in (prepared.model.main.tensors[i] for i in prepared.model.main.inputs)] == [
        (1, 640)
    ]
    application = generate_app(prepared, load_board("qemu_mps2_an386"), tmp_path / "app")
    playback = play(application, read_samples(tmp_path / "day.wav", application.sensor, application.settings))
    starts = [event for event in playback.events if event.is_start]
    assert playback.is_equal and len(starts) >= int(day[1]) and len(FAULTS) == 5
