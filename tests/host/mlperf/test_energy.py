"""Tests of ``arenite mlperf --mode energy`` end to end: windows from the edges of the mark pin, and a meter without
digital inputs."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arenite.host.cli.main import main
from tests.development_models import shared_model
from tests.host.energy.meters.sim_live import ACTIVE_A, LivePpk2, logging_emulator
from tests.host.energy.meters.sim_lpm01a import SimLpm01a
from tests.host.energy.meters.waveform import Waveform
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


class ConstantCurrentMeter(SimLpm01a):
    """A meter with a constant current for 30 seconds, which sends its samples in real time."""

    def __init__(self, amperes: float, volts: float) -> None:
        super().__init__(Waveform(np.array([0.0, 30.0]), np.full(2, amperes), (), volts, amperes, amperes))

    def chunks(self) -> Iterator[bytes]:
        due = time.monotonic()
        for k, chunk in enumerate(super().chunks()):
            due += 0.1 * (k % 2 == 0)  # samples of 0.1 s, then their time mark
            time.sleep(max(0.0, due - time.monotonic()))
            yield chunk


def run(capsys, *arguments: str) -> tuple[int, dict]:
    """Run ``arenite mlperf`` in the energy mode. Return its exit code and its JSON output."""
    code = main(["mlperf", *arguments, "--task", "kws01", "--mode", "energy", "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out)


@pytest.mark.slow
def test_windows_are_between_falling_edges_of_the_pin(tmp_path, capsys, monkeypatch):
    log = logging_emulator(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with LivePpk2(log, between=True) as sim:
        code, result = run(
            capsys, str(shared_model("kws01_int8")), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port,
            "--mark", "--window", "0.5", "-o", str(tmp_path / "r"),
        )  # fmt: skip
        falls = sim.between_falls()
    assert (code, result["schema"], result["mode"], result["bit_exact"]) == (
        0,
        "arenite.mlperf/1",
        "energy",
        5,
    )
    windows = result["windows"]
    assert {w["bounds"] for w in windows} == {"falling edges"}
    # On a busy computer a window can be too short. Then it was repeated, so there can be more intervals than windows.
    # The order of the intervals is that of the windows.
    seconds = np.array([w["seconds"] for w in windows])
    assert len(seconds) == 5 <= len(falls)
    lengths = min(
        itertools.combinations(falls, 5), key=lambda five: float(np.abs(np.array(five) - seconds).sum())
    )
    expected_uj = [t * ACTIVE_A * 3.3e6 / w["inferences"] for t, w in zip(lengths, windows, strict=True)]
    assert [w["energy_uj_per_inference"] for w in windows] == pytest.approx(expected_uj, rel=0.01)
    assert [w["seconds"] for w in windows] == pytest.approx(lengths, rel=0.01)
    assert all(w["inferences"] >= 10 and w["seconds"] >= 0.5 for w in windows)
    median = result["energy_uj_per_inference"]["median"]
    assert median == pytest.approx(np.median(expected_uj), rel=0.01)
    folder = tmp_path / "r" / BOARD / "kws" / "energy"
    text = (folder / "results.txt").read_text()
    # This is the pattern of the official submission checker.
    match = re.search(r"Median energy cost is ([\d\.]+) uJ/inf", text)
    assert match is not None and float(match[1]) == pytest.approx(median, abs=1e-3)
    assert text.count("Energy data for trial") == 5
    assert "NOT VALID" in text and "emulated" in text and "windows of 0.5 s" in text
    entries = json.loads((folder / "results.json").read_text())
    assert [e["infer"]["iterations"] for e in entries] == [w["inferences"] for w in windows]
    assert (folder / "energy_inf_004.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_a_meter_without_inputs_uses_serial_timestamps(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    with ConstantCurrentMeter(12e-3, 3.0) as sim:
        code, result = run(
            capsys, str(model), "--board", BOARD, "--meter", "lpm01a", "--meter-port", sim.port,
            "--supply", "3.0", "--window", "0.3", "-o", str(tmp_path / "r"),
        )  # fmt: skip
    assert (code, result["bit_exact"], result["supply_v"]) == (0, 5, 3.0)
    for window in result["windows"]:
        assert window["bounds"] == "serial timestamps"
        assert window["average_power_w"] == pytest.approx(36e-3, rel=0.01)
        energy_uj = window["average_power_w"] * window["seconds"] * 1e6
        assert window["energy_uj_per_inference"] * window["inferences"] == pytest.approx(energy_uj, rel=1e-6)
        assert window["seconds"] >= 0.3


def test_missing_options_raise_an_error(tmp_path, capsys):
    model = str(save(classifier(), tmp_path / "toy.tflite"))
    arguments = ["mlperf", model, "--board", BOARD, "--task", "kws01", "--mode"]
    assert main([*arguments, "energy"]) == 2
    assert "The energy mode needs a meter." in capsys.readouterr().err
    assert main([*arguments, "performance", "--meter", "ppk2", "--meter-port", str(Path("/dev/null"))]) == 2
    assert "does not use --meter" in capsys.readouterr().err
