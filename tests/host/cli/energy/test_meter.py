"""Tests of ``arenite meter``: meter profiles, a recording from a simulated instrument on a pseudo-terminal, and the
firmware of a logger."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arenite.host.energy.meters.csv_file import read_csv
from arenite.profiles.meters import meter_names
from tests.host.cli.conftest import Arenite
from tests.host.energy.meters import waveform
from tests.host.energy.meters.sim_ina_logger import SimInaLogger
from tests.host.energy.meters.sim_ppk2 import SimPpk2


def test_list_has_all_meters(arenite: Arenite) -> None:
    assert [m["name"] for m in arenite("meter", "list", "--json").json["meters"]] == meter_names()
    text_run = arenite("meter", "list")
    assert text_run.code == 0 and all(name in text_run.out for name in meter_names())


def test_show_has_ranges_and_sources(arenite: Arenite) -> None:
    actual = arenite("meter", "show", "otii-arc", "--json").json
    assert actual["schema"] == "arenite.meter/1" and actual["ranges"][0]["offset_a"] == 50e-9
    text_run = arenite("meter", "show", "otii-arc")
    assert "4,000" in text_run.out and "0.5 to 5 V" in text_run.out and "qoitech.com" in text_run.err


@pytest.mark.slow
def test_a_recording_agrees_with_the_instrument(arenite: Arenite, tmp_path: Path) -> None:
    truth = waveform.make(4)
    path = tmp_path / "trace.csv"
    with SimInaLogger(truth, 4) as sim:
        run = arenite(
            *("meter", "record", "ina-logger", "--port", sim.port, "-o", path, "--seconds", 1.5, "--json")
        )
    assert run.code == 0, run.err
    actual = run.json
    assert actual["schema"] == "arenite.recording/1" and actual["kind"] == "measured"
    assert actual["samples"] > 100 and actual["lost_samples"] > 0
    recording = read_csv(path)
    assert len(recording) == actual["samples"] and recording.marks is not None
    assert recording.energy_j() == pytest.approx(actual["energy_j"], rel=1e-4)
    assert recording.supply_v == pytest.approx(truth.volts, rel=1e-3)


@pytest.mark.slow
def test_the_text_output_has_the_limit_of_error(arenite: Arenite, tmp_path: Path) -> None:
    truth = waveform.make(2)
    path = tmp_path / "trace.csv"
    with SimPpk2(truth, 2) as sim:
        run = arenite(
            *(
                "meter",
                "record",
                "ppk2",
                "--port",
                sim.port,
                "-o",
                path,
                "--seconds",
                0.5,
                "--supply",
                truth.volts,
            )
        )
    assert run.code == 0, run.err
    assert "limit of error" in run.out and "mean current" in run.out
    assert read_csv(path, supply_v=truth.volts).rate_hz == pytest.approx(100_000, rel=0.01)


@pytest.mark.slow
def test_an_interrupted_recording_is_saved(tmp_path: Path) -> None:
    truth = waveform.make(4)
    path = tmp_path / "trace.csv"
    with SimInaLogger(truth, 4) as sim:
        command = [sys.executable, "-m", "arenite.host.cli.main", "meter", "record", "ina-logger"]
        process = subprocess.Popen(
            [*command, "--port", sim.port, "-o", str(path), "--seconds", "60"],
            stderr=subprocess.PIPE,
            text=True,
        )
        # The process reads from the instrument as soon as the simulation has sent data.
        assert sim.sent_all.wait(60)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0 and "the samples recorded so far are saved" in stderr
    assert len(read_csv(path)) > 100


def test_the_project_of_a_logger_is_written_and_replaced(arenite: Arenite, tmp_path: Path) -> None:
    folder = tmp_path / "logger"
    run = arenite(
        *("meter", "firmware", "--sensor", "ina228", "--board", "nucleo_f411re", "-o", folder),
        *("--shunt", 10, "--address", "0x45", "--mark-pin", "D2", "--mark-pin", "D3"),
    )
    assert run.code == 0 and "pio run" in run.out
    config = (folder / "src" / "config.h").read_text("utf-8")
    for line in ("METER_CHIP 228", "METER_ADDRESS 0x45", "METER_SHUNT_UOHM 10000000", "METER_MARKS 2"):
        assert f"#define {line}\n" in config
    second_project = arenite(
        *("meter", "firmware", "--sensor", "ina219", "--board", "nucleo_f411re", "-o", folder, "--json")
    ).json
    assert second_project["schema"] == "arenite.meter-firmware/1" and second_project["directory"] == str(
        folder
    )
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert set(second_project["files"]) == files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "pk2"), "no meter profile"),
        (("record", "pk2", "-o", "x.csv"), "no meter 'pk2'"),
        (("record", "ppk2", "--port", "/dev/ttyACM0", "--supply", 12, "-o", "x.csv"), "supplies 0.8 to 5 V"),
        (("firmware", "--sensor", "ina226", "--board", "qemu_riscv32", "-o", "x"), "is emulated"),
        (
            ("firmware", "--sensor", "ina226", "--board", "pico", "--address", "forty", "-o", "x"),
            "not an I2C address",
        ),
        (
            (
                "firmware",
                "--sensor",
                "ina226",
                "--board",
                "pico",
                "--mark-pin",
                "D2",
                "--mark-pin",
                "D2",
                "-o",
                "x",
            ),
            "given twice",
        ),
    ],
)
def test_invalid_arguments_raise_an_error(
    arenite: Arenite, arguments: tuple[object, ...], message: str
) -> None:
    arenite("meter", *arguments).refused(2, message)


def test_a_missing_port_raises_an_error(arenite: Arenite, tmp_path: Path) -> None:
    run = arenite("meter", "record", "ppk2", "--port", tmp_path / "none", "-o", tmp_path / "x.csv")
    run.refused(3, "no serial port")
    assert not (tmp_path / "x.csv").exists()
