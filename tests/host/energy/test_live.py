"""``arenite energy`` end to end in real time: current and mark follow the emulated board."""

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
    """Return the length in seconds such that half of the total time is in periods of this length or more."""
    ranked = np.sort(lengths)
    total = np.cumsum(ranked)
    return float(ranked[np.searchsorted(total, total[-1] / 2)])


# On a busy computer the timestamps of an emulator can be too late. Then the windows are found in the current.
@pytest.mark.parametrize(
    ("logic", "methods"), [(True, {"gpio mark"}), (False, {"serial timestamps", "current waveform"})]
)
def test_the_energy_of_the_inferences_is_right(tmp_path, capsys, monkeypatch, logic, methods):
    log = logging_emulator(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    # The inferences are long compared with the delays of a busy computer, because this core has no SIMD instructions,
    # and the kernels are the smallest ones.
    model = str(shared_model("ic01_int8"))
    with LivePpk2(log, logic=logic) as sim:
        board_options = ["--board", "qemu_mps2_an385", "--meter", "ppk2", "--meter-port", sim.port]
        options = ["--optimise", "flash", "--mark", "--inferences", "8", "--json"]
        code = main(["energy", model, *board_options, *options])
        lengths = sim.durations()[1:]  # the first inference was before the recording
    result = json.loads(capsys.readouterr().out)
    if result["window_method"] == "current waveform":
        # An emulator that had to wait for its processor makes one inference long. Periods of current that are much
        # shorter than the usual one are ignored.
        lengths = [length for length in lengths if length >= 0.2 * usual_length(lengths)]
    expected_uj = float(np.median(lengths)) * ACTIVE_A * 3.3 * 1e6
    assert code == 0
    assert result["window_method"] in methods
    assert result["windows"] == len(lengths)
    assert result["inferences"]["count"] == result["inferences"]["bit_exact"] >= 8
    # Without the pin, windows of a busy emulator can be some milliseconds too long.
    tolerance = 0.01 if logic else 0.03
    assert result["energy_uj_per_inference"]["median"] == pytest.approx(expected_uj, rel=tolerance)
    assert result["sleep_current_a"] == pytest.approx(0.9e-3, rel=0.02)
    # The simulated instrument loses 2 % of the samples.
    assert result["lost_samples"] > 0.015 * result["samples"]
