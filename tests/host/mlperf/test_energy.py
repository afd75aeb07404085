"""``arenite mlperf --mode energy`` end to end: the board's own edges in real time, and a meter without inputs."""

from __future__ import annotations

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


class Steady(SimLpm01a):
    """The same current for half a minute, sample by sample as it is taken."""

    def __init__(self, amperes: float, volts: float) -> None:
        super().__init__(Waveform(np.array([0.0, 30.0]), np.full(2, amperes), (), volts, amperes, amperes))

    def pieces(self) -> Iterator[bytes]:
        due = time.monotonic()
        for k, piece in enumerate(super().pieces()):
            due += 0.1 * (k % 2 == 0)  # a tenth of a second of samples, then its time mark
            time.sleep(max(0.0, due - time.monotonic()))
            yield piece


def run(capsys, *arguments: str) -> tuple[int, dict]:
    code = main(["mlperf", *arguments, "--task", "kws01", "--mode", "energy", "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out)


@pytest.mark.slow
def test_windows_lie_between_the_falling_edges_of_the_pin(tmp_path, capsys, monkeypatch):
    log = logging_emulator(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with LivePpk2(log, between=True) as sim:
        code, stderr = run(
            capsys, str(shared_model("kws01_int8")), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port,
            "--mark", "--window", "0.5", "-o", str(tmp_path / "r"),
        )  # fmt: skip
        # A window that was too short on a busy computer was repeated.
        lengths = [seconds for seconds in sim.between_falls() if seconds >= 0.5][-5:]
    assert (code, stderr["schema"], stderr["mode"], stderr["bit_exact"]) == (
        0,
        "arenite.mlperf/1",
        "energy",
        5,
    )
    windows = stderr["windows"]
    assert {w["bounds"] for w in windows} == {"falling edges"}
    truth = [t * ACTIVE_A * 3.3e6 / w["inferences"] for t, w in zip(lengths, windows, strict=True)]
    assert [w["energy_uj_per_inference"] for w in windows] == pytest.approx(truth, rel=0.01)
    assert [w["seconds"] for w in windows] == pytest.approx(lengths, rel=0.01)
    assert all(w["inferences"] >= 10 and w["seconds"] >= 0.5 for w in windows)
    median = stderr["energy_uj_per_inference"]["median"]
    assert median == pytest.approx(np.median(truth), rel=0.01)
    folder = tmp_path / "r" / BOARD / "kws" / "energy"
    text = (folder / "results.txt").read_text()
    # The pattern is that of the official submission checker.
    found = re.search(r"Median energy cost is ([\d\.]+) uJ/inf", text)
    assert found is not None and float(found[1]) == pytest.approx(median, abs=1e-3)
    assert text.count("Energy data for trial") == 5
    assert "NOT VALID" in text and "emulated" in text and "windows of 0.5 s" in text
    entries = json.loads((folder / "results.json").read_text())
    assert [e["infer"]["iterations"] for e in entries] == [w["inferences"] for w in windows]
    assert (folder / "energy_inf_004.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_a_meter_without_inputs_goes_by_the_lines_of_the_port(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    with Steady(12e-3, 3.0) as sim:
        code, stderr = run(
            capsys, str(model), "--board", BOARD, "--meter", "lpm01a", "--meter-port", sim.port,
            "--supply", "3.0", "--window", "0.3", "-o", str(tmp_path / "r"),
        )  # fmt: skip
    assert (code, stderr["bit_exact"], stderr["supply_v"]) == (0, 5, 3.0)
    for window in stderr["windows"]:
        assert window["bounds"] == "serial timestamps"
        assert window["average_power_w"] == pytest.approx(36e-3, rel=0.01)
        whole = window["average_power_w"] * window["seconds"] * 1e6
        assert window["energy_uj_per_inference"] * window["inferences"] == pytest.approx(whole, rel=1e-6)
        assert window["seconds"] >= 0.3


def test_what_is_missing_is_said(tmp_path, capsys):
    model = str(save(classifier(), tmp_path / "toy.tflite"))
    asked = ["mlperf", model, "--board", BOARD, "--task", "kws01", "--mode"]
    assert main([*asked, "energy"]) == 2
    assert "The energy mode needs a meter." in capsys.readouterr().err
    assert main([*asked, "performance", "--meter", "ppk2", "--meter-port", str(Path("/dev/null"))]) == 2
    assert "takes no meter" in capsys.readouterr().err
