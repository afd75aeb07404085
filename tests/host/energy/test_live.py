"""``arenite energy`` from end to end in real time: the current and the mark are those of the emulated board itself."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

from arenite.host.cli.main import main
from tests.development_models import shared_model
from tests.host.energy.meters.sim_live import ACTIVE_A, LivePpk2, logging_emulator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


def usual_length(lengths: list[float]) -> float:
    """Return the length such that half of the total time is in periods of this length or more."""
    ranked = np.sort(lengths)
    total = np.cumsum(ranked)
    return float(ranked[np.searchsorted(total, total[-1] / 2)])


# The timestamps of an emulator on a busy computer may be too late to be believed: then the current itself must do.
@pytest.mark.parametrize(
    ("logic", "methods"), [(True, {"gpio mark"}), (False, {"serial timestamps", "current waveform"})]
)
def test_the_inferences_of_the_board_are_found_and_weighed(tmp_path, capsys, monkeypatch, logic, methods):
    log = logging_emulator(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # Long inferences beside the delays of a busy computer: this core has no SIMD instructions.
    model = str(shared_model("ic01_int8"))
    with LivePpk2(log, logic=logic) as sim:
        where = ["--board", "qemu_mps2_an385", "--meter", "ppk2", "--meter-port", sim.port]
        code = main(["energy", model, *where, "--mark", "--inferences", "8", "--json"])
        lengths = sim.durations()[1:]  # the first was before the recording
    said = json.loads(capsys.readouterr().out)
    if said["window_method"] == "current waveform":
        # An emulator that had to wait for its processor makes one inference long. Periods of current that are much
        # shorter than the usual one are ignored.
        lengths = [length for length in lengths if length >= 0.2 * usual_length(lengths)]
    truth = float(np.median(lengths)) * ACTIVE_A * 3.3 * 1e6
    assert code == 0
    assert said["window_method"] in methods
    assert said["windows"] == len(lengths)
    assert said["inferences"]["count"] == said["inferences"]["bit_exact"] >= 8
    assert said["energy_uj_per_inference"]["median"] == pytest.approx(truth, rel=0.01)
    assert said["sleep_current_a"] == pytest.approx(0.9e-3, rel=0.02)
    assert said["lost_samples"] > 0.015 * said["samples"]
