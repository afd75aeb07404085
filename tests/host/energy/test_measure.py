"""``arenite energy`` with each family of meters, whose current has nothing to do with when the board infers."""

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
    """Exit code, and the JSON object on standard output."""
    code = main(["energy", *arguments, "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out)


class NoLogic(SimPpk2):
    """A PPK2 whose digital inputs nobody has connected."""

    def words(self):
        return super().words() & 0x00FFFFFF


class OtherLogic(SimPpk2):
    """A PPK2 with a second input that changes, at a rate of its own."""

    def words(self):
        words = super().words()
        return words | ((words >> 18 & 32) >> 5) << 30


@contextmanager
def simulated(kind: str, truth: waveform.Waveform, seed: int):
    """The instrument: meter's name, where it is, and other options."""
    if kind.startswith("ppk2"):
        made = {"ppk2": SimPpk2, "ppk2 without logic": NoLogic, "ppk2 with two inputs": OtherLogic}[kind]
        with made(truth, seed, burst=2) as sim:
            yield "ppk2", sim.port, ()
    elif kind == "lpm01a":
        with SimLpm01a(truth, seed) as sim:
            yield "lpm01a", sim.port, ("--rate", "50000")
    elif kind == "otii":
        with SimOtii(truth, seed) as sim:
            yield "otii", sim.where, ()
    else:
        with SimDmm(truth, seed) as sim:
            yield "scpi", sim.where, ("--rate", "20000")


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
    with simulated(kind, truth, seed) as (name, where, more):
        code, stderr = run(
            capsys, str(model), "--board", BOARD, "--meter", name, "--meter-port", where,
            "--supply", "3.0", "--duration", "1.5", *more,
        )  # fmt: skip
    figure = stderr["energy_uj_per_inference"]
    assert (code, stderr["schema"], figure["kind"]) == (0, "arenite.energy/1", "measured")
    assert figure["median"] == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert figure["p25"] <= figure["median"] <= figure["p75"]
    assert stderr["window_method"] == method
    assert stderr["windows"] == 14
    assert stderr["lost_samples"] > 0
    assert stderr["supply_v"] == pytest.approx(3.0)
    assert stderr["sleep_current_a"] == pytest.approx(truth.sleep_a, rel=0.05, abs=3e-7)
    assert stderr["peak_current_a"] == pytest.approx(truth.current_a.max(), rel=0.02)
    assert stderr["inferences"]["bit_exact"] == stderr["inferences"]["count"] >= 5
    assert stderr["meter"]["port"] == where
    assert any("emulated" in note for note in stderr["notes"])


@pytest.mark.slow
def test_default_options_record_until_there_is_something_to_see(tmp_path, capsys):
    truth = waveform.make(4, inferences=6, volts=3.3)
    model = save(classifier(), tmp_path / "toy.tflite")
    plot, trace = tmp_path / "current.svg", tmp_path / "trace.csv"
    with SimPpk2(truth, 4) as sim:
        code, stderr = run(
            capsys, str(model), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port,
            "--inferences", "5", "--plot", str(plot), "--save", str(trace),
            "--battery", "cr2032", "--every", "60",
        )  # fmt: skip
        assert sim.switched_off.wait(60)
        assert (sim.regulator_mv, sim.mode) == (3300, 2)
    assert code == 0
    assert stderr["energy_uj_per_inference"]["median"] == pytest.approx(truth.per_inference_uj(), rel=0.01)
    assert plot.read_text().count('class="ar-window"') >= 6
    life = stderr["battery"]
    assert (life["kind"], life["name"]) == ("estimated", "cr2032")
    assert life["life_days"] > 0
    # Its own recording gives the same figure again, with no board.
    code, again = run(capsys, "--csv", str(trace), "--board", BOARD)
    assert code == 0
    assert again["model"] is None
    assert again["energy_uj_per_inference"]["median"] == pytest.approx(
        stderr["energy_uj_per_inference"]["median"], rel=1e-3
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
def test_what_does_not_go_together_is_said(capsys, arguments, sentence):
    assert main(["energy", *arguments, "--board", BOARD]) == 2
    assert sentence in capsys.readouterr().err


def test_a_meter_that_is_not_there_is_a_device_error(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    asked = ["energy", str(model), "--board", BOARD, "--meter"]
    assert main([*asked, "ppk2", "--meter-port", "/dev/nothing-here"]) == 3
    assert "There is no serial port /dev/nothing-here." in capsys.readouterr().err
    assert main([*asked, "lpm01a", "--meter-port", str(Path("/dev/null")), "--supply", "5"]) == 2
    assert "An LPM01A cannot give 5 V." in capsys.readouterr().err
    assert main([*asked, "scpi", "--meter-port", "tcp:127.0.0.1:1", "--own-supply"]) == 2
    assert "--own-supply is for a PPK2" in capsys.readouterr().err


class Pulled(SimPpk2):
    """A PPK2 whose cable is pulled half a second after it began to record."""

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

    def __exit__(self, kind, error, trace):
        os.close(self._far)


@pytest.mark.slow
def test_a_meter_that_no_current_flows_through_is_said(tmp_path, capsys):
    truth = waveform.make(4, inferences=6, volts=3.3)
    nothing = replace(truth, current_a=truth.current_a * 1e-5)
    model = save(classifier(), tmp_path / "toy.tflite")
    with NoLogic(nothing, 4, burst=2) as sim:
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
def test_a_meter_that_is_unplugged_is_said(tmp_path, capsys):
    model = save(classifier(), tmp_path / "toy.tflite")
    with Pulled(waveform.make(1, volts=3.3), 1) as sim:
        code = main(
            ["energy", str(model), "--board", BOARD, "--meter", "ppk2", "--meter-port", sim.port, "--json"]
        )
    said = capsys.readouterr()
    assert (code, said.out) == (3, "")
    assert sim.port in said.err and "Traceback" not in said.err
