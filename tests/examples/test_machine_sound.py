"""The example of machine sounds measures the application: most faults are told from a healthy fan."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.build.prepare import prepare
from arenite.models.training.machine_sounds import SIZES

SCRIPT = Path(__file__).parents[2] / "examples" / "machine_sound.py"


@pytest.mark.slow
def test_faults_are_heard(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=1800
    )
    assert run.returncode == 0, run.stderr
    lines = re.findall(
        r"  ([\w ]+): .* statistics ([\d.]+), .* statistics ([\d.]+), .* head ([\d.]+)", run.stdout
    )
    areas = {name: tuple(map(float, numbers)) for name, *numbers in lines}
    assert len(areas) == 6
    for name, (in_float, int8, head) in areas.items():
        assert (
            head > (0.6 if name == "rattle" else 0.9)
            and abs(head - int8) < 0.01
            and abs(head - in_float) < 0.01
        )
    day = re.search(r"(\d) of 5 faults of the day are heard .*; (\d+) other alarms", run.stdout)
    assert day is not None and int(day[1]) >= 3 and int(day[2]) <= 1
    prepared = prepare(tmp_path / "fan.tflite")
    graph = prepared.model.main
    assert graph.tensors[graph.inputs[0]].shape == (1, 640)
    assert [graph.tensors[op.outputs[0]].shape[-1] for op in graph.ops] == list(SIZES[1:])
    assert (tmp_path / "day.wav").stat().st_size > 200 * 32000
