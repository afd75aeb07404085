"""Tests of ``arenite energy`` with each family of meters. The simulated current is independent of the emulated
board."""

from __future__ import annotations

import json
import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.host.cli.main import main
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_lpm01a import SimLpm01a
from tests.host.energy.meters.sim_otii import SimOtii
from tests.host.energy.meters.sim_ppk2 import SimPpk2
from tests.host.energy.meters.sim_scpi import SimDmm
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


def run(capsys, *arguments: str) -> tuple[int, dict]:
    """Run the command; return its exit code and the JSON object on standard output."""
    code = main(["energy", *arguments, "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out)


class NoLogic(SimPpk2):
    """A PPK2 with unconnected digital inputs."""

    def words(self):
        return super().words() & 0x00FFFFFF


class OtherLogic(SimPpk2):
    """A PPK2 with a second input that changes at another rate."""

    def words(self):
        words = super().words()
        return words | ((words >> 18 & 32) >> 5) << 30  # the highest bit of the counter, at the input D6


@contextmanager
def simulated(kind: str, truth: waveform.Waveform, seed: int):
    """Start a simulated instrument; yield the name of the meter, its address and further options."""
    if kind.startswith("ppk2"):
        instrument = {"ppk2": SimPpk2, "ppk2 without logic": NoLogic, "ppk2 with two inputs": OtherLogic}[
            kind
        ]
        with instrument(truth, seed, burst=2) as sim:
            yield "ppk2", sim.port, ()
    elif kind == "lpm01a":
        with SimLpm01a(truth, seed) as sim:
            yield "lpm01a", sim.port, ("--rate", "50000")
    elif kind == "otii":
        with SimOtii(truth, seed) as sim:
            yield "otii", sim.port, ()
    else:
        with SimDmm(truth, seed) as sim:
            yield "scpi", sim.port, ("--rate", "20000")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("ppk2", "gpio mark"),
        ("ppk2 with two inputs", "gpio mark"),
        ("ppk2 without logic", "current waveform"),
        ("lpm01a", "current waveform"),
        ("otii", "gpio mark"),
        ("scpi", "current waveform"),
    ],
)
def test_the_energy_is_within_one_percent_of_the_truth(tmp_path, capsys, kind, method):
    seed = 1
    truth = waveform.make(seed, inferences=14, volts=3.0)
    model = save(classifier(), tmp_path / "toy.tflite")
    with simulated(kind, truth, seed) as (name, address, options):
        code, result = run(
            capsys, str(model), "--board", BOARD, "--meter", name, "--meter-port", address,
            "--supply", "3.0", "--duration", "1.5", *options,
        )  # fmt: skip
    figure = result["energy_uj_per_inference"]
    assert (code, result["schema"], figure["kind"]) == (0, "arenite.energy/1", "measured")
    assert figure["median"] == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert figure["p25"] <= figure["median"] <= figure["p75"]
    assert result["window_method"] == method
    assert result["windows"] == 14
    assert result["lost_samples"] > 0
    assert result["supply_v"] == pytest.approx(3.0)
    assert result["sleep_current_a"] == pytest.approx(truth.sleep_a, rel=0.05, abs=3e-7)
    assert result["peak_current_a"] == pytest.approx(truth.current_a.max(), rel=0.02)
    assert result["inferences"]["bit_exact"] == result["inferences"]["count"] >= 5
    assert result["meter"]["port"] == address
    assert any("emulated" in note for note in result["notes"])


@pytest.mark.slow
def test_the_default_options_record_long_enough(tmp_path, capsys):
    truth = waveform.make(4, inferences=6, volts=3.3)
    model = save(classifier(), tmp_path / "toy.tflite")
    plot, trace = tmp_path / "current.svg", tmp_path / "trace.csv"
    with SimPpk2(truth, 4) as sim:
        code, result = run(
            capsys, str(model), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port,
            "--inferences", "5", "--plot", str(plot), "--save", str(trace),
            "--battery", "cr2032", "--every", "60",
        )  # fmt: skip
        assert sim.switched_off.wait(60)
        assert (sim.regulator_mv, sim.mode) == (3300, 2)
    assert code == 0
    assert result["energy_uj_per_inference"]["median"] == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert plot.read_text().count('class="ar-window"') >= 6
    life = result["battery"]
    assert (life["kind"], life["name"]) == ("estimated", "cr2032")
    assert life["life_days"] > 0
    # The saved recording gives the same figure without a board.
    code, from_recording = run(capsys, "--csv", str(trace), "--board", BOARD)
    assert code == 0
    assert from_recording["model"] is None
    assert from_recording["energy_uj_per_inference"]["median"] == pytest.approx(
        result["energy_uj_per_inference"]["median"], rel=1e-3
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--csv", "x.csv", "--meter", "ppk2"], "A recording cannot be combined with a meter."),
        ([], "There is no model to measure."),
        (["m.tflite", "--plot", "a.svg"], "An estimate has no recording."),
        (["m.tflite", "--meter", "ppk2", "--plot", "a.png"], "a.png is neither .svg nor .html."),
        (["m.tflite", "--battery", "cr2032"], "The battery life needs --battery"),
        (["--csv", "nothing-here.csv"], "Cannot read nothing-here.csv"),
    ],
)
def test_incompatible_options_raise_an_error(capsys, arguments, sentence):
    assert main(["energy", *arguments, "--board", BOARD]) == 2
    assert sentence in capsys.readouterr().err


def test_a_missing_meter_raises_an_error(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    arguments = ["energy", str(model), "--board", BOARD, "--meter"]
    assert main([*arguments, "ppk2", "--meter-port", "/dev/nothing-here"]) == 3
    assert "There is no serial port /dev/nothing-here." in capsys.readouterr().err
    assert main([*arguments, "lpm01a", "--meter-port", str(Path("/dev/null")), "--supply", "5"]) == 2
    assert "An LPM01A cannot give 5 V." in capsys.readouterr().err
    assert main([*arguments, "scpi", "--meter-port", "tcp:127.0.0.1:1", "--own-supply"]) == 2
    assert "--own-supply is for a PPK2" in capsys.readouterr().err


class UnpluggedPpk2(SimPpk2):
    """A PPK2 whose cable is pulled half a second after the recording began."""

    def __init__(self, truth, seed):
        super().__init__(truth, seed)
        self.pulled = False

    def received(self, data):
        super().received(data)
        if data == b"\x06" and not self.pulled:
            self.pulled = True
            threading.Timer(0.5, self.pull).start()

    def pull(self):
        self.halt()
        self._closing.set()
        self._listener.join()
        os.close(self._near)

    def __exit__(self, error_type, error, trace):
        os.close(self._far)


@pytest.mark.slow
def test_a_meter_without_current_raises_an_error(tmp_path, capsys):
    truth = waveform.make(4, inferences=6, volts=3.3)
    almost_no_current = replace(truth, current_a=truth.current_a * 1e-5)
    model = save(classifier(), tmp_path / "toy.tflite")
    with NoLogic(almost_no_current, 4, burst=2) as sim:
        code = main(
            [
                "energy",
                str(model),
                "--board",
                BOARD,
                "--meter",
                "ppk2",
                "--meter-port",
                sim.port,
                "--duration",
                "1",
            ]
        )
    assert code == 3
    assert "measured no current" in capsys.readouterr().err


@pytest.mark.slow
def test_an_unplugged_meter_raises_an_error(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    with UnpluggedPpk2(waveform.make(1, volts=3.3), 1) as sim:
        code = main(
            ["energy", str(model), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port, "--json"]
        )
    captured = capsys.readouterr()
    assert (code, captured.out) == (3, "")
    assert sim.port in captured.err and "Traceback" not in captured.err
