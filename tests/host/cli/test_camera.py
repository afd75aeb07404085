"""``arenite camera`` from the command line: the contract's record, what is refused, how it ends."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.development_models import shared_model
from tests.host.cli.conftest import Arenite

SIZE = ("--width", 320, "--height", 192)


def test_the_record_has_every_key_that_others_rely_on(arenite: Arenite) -> None:
    run = arenite("camera", "--source", "synthetic", *SIZE, "--frames", 12, "--pace", "file", "--json")
    assert run.code == 0, run
    made = run.json
    assert made["schema"] == "arenite.camera/1"
    assert Path(made["model"]["path"]).is_file()
    assert len(made["model"]["sha256"]) == 64 and made["model"]["runtime"] == "litert-cpu"
    assert made["frames"] | {"by": 0} == {
        "captured": 12, "served": 12, "dropped": 0, "late": 0, "errors": 0, "reconnects": 0, "by": 0,
    }  # fmt: skip
    for stage in ("capture", "preprocess", "invoke", "postprocess", "total"):
        assert (
            0
            < made["stage_ms"][stage]["p50"]
            <= made["stage_ms"][stage]["p95"]
            <= made["stage_ms"][stage]["p99"]
        )
    image = 128 * 128 * 3 * 4
    assert image <= made["bytes_written_per_frame"] <= image + 4096 + 896 * 17 * 4
    assert made["fps"] > 0 and 0 < made["duty_cycle"] <= 1 and made["cold_start_ms"] > 0
    assert made["power_w"]["kind"] in ("measured", "estimated") and made["power_w"]["value"] > 0
    assert math.isclose(
        made["energy_mj_per_frame"]["value"],
        made["power_w"]["value"] * 1e3 * made["seconds"] / 12,
        rel_tol=0.05,
    )
    assert set(made["temperature_c"]) == {"start", "end", "max"}
    assert made["governor"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "power=5A"), "expected a number with w or mw"),
        (("--source", "/dev/video97"), "/dev/video97"),
        (("--source", "nothing"), "There is no source 'nothing'"),
        (("--model", "nothing"), "no model 'nothing'"),
        (("--source", "synthetic", "--window", "0,0,5000,10"), "is not inside frames"),
        (("--source", "synthetic", "--dashboard", "0.0.0.0:0"), "token"),
        (("--source", "synthetic", "--cascade", "blazeface"), "->"),
        (("--source", "synthetic", "--ladder", "blazeface", "--also", "blazeface"), "together"),
        (("--source", "synthetic", "--runtime", "nothing"), "no runtime 'nothing'"),
        (
            ("--source", "synthetic", "--power-source", "nothing", "--frames", "5000"),
            "No power source 'nothing'",
        ),
        (("--source", "synthetic", "--host", "nothing", "--frames", "5000"), "nothing"),
        (("--source", "synthetic", "--output", "/nowhere/at/all"), "/nowhere/at/all"),
        (("--source", "synthetic", "--mqtt", "http://x"), "mqtt"),
        (("--source", "synthetic", "--pin", "one"), "one"),
        (("--source", "synthetic", "--source", "photos", "--pace", "file"), "Leave out --pace file"),
        (("--source", "synthetic", "--runtime-option", "fast"), "not a runtime option"),
        (("--source", "synthetic", "--runtime-option", "signature=none"), "no signature 'none'"),
        (("--source", "synthetic", "--output", "-"), "both write to standard output"),
        (("--source", "synthetic", "--also", "vww", "--cache"), "--cache does not work with --also"),
    ],
)
def test_what_cannot_be_done_is_said(arenite: Arenite, arguments: tuple[str, ...], message: str) -> None:
    arenite("camera", *arguments, "--json").refused(2, message)


@pytest.mark.parametrize("option", ["fps", "duration", "jitter", "timeout", "soak", "memory-budget", "qps"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_what_is_no_number_is_refused(arenite: Arenite, option: str, value: str) -> None:
    found = arenite("camera", "--source", "synthetic", f"--{option}", value)
    assert found.code == 2 and f"--{option}" in found.err and "Traceback" not in found.err


def test_lines_of_every_frame_and_a_timeline(arenite: Arenite, tmp_path: Path) -> None:
    lines, trace = tmp_path / "answers.jsonl", tmp_path / "trace.json"
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--frames", 8, "--pace", "file", "--output", lines,
        "--timeline", trace, "--overlap",
    )  # fmt: skip
    assert run.code == 0 and "8 frames served" in run.out
    made = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [each["number"] for each in made] == list(range(8))
    assert any(event.get("name") == "invoke" for event in json.loads(trace.read_text()))


def test_several_cameras_are_told_apart(arenite: Arenite) -> None:
    made = arenite(
        "camera", "--source", "synthetic", "--source", "synthetic", *SIZE, "--frames", 20, "--json"
    ).json
    assert [each["source"] for each in made["cameras"]] == ["synthetic"] * 2
    assert all(each["used"] >= 9 for each in made["cameras"])
    assert set(made["last_answer"]) == {"0", "1"}


def test_several_models_in_little_memory_are_loaded_again(arenite: Arenite) -> None:
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--frames", 4, "--pace", "file", "--json",
        "--also", "efficientnet-lite0", "--memory-budget", 11,
    )  # fmt: skip
    assert run.code == 0, run
    memory = run.json["memory"]
    assert memory["evictions"] > 0 and memory["used"] <= memory["budget"]
    assert all(each["reloads"] > 0 and each["reload_ms"] > 0 for each in memory["models"].values())


@pytest.mark.slow
def test_a_short_scenario_is_measured_and_not_valid(arenite: Arenite) -> None:
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--model", "visual_wake_words", "--json",
        "--scenario", "single-stream", "--duration", 0.5, "--motion",
    )  # fmt: skip
    assert "A scenario does not use --motion." in run.json["notes"]
    made = run.json["scenario"]
    assert made["valid"] is False and any("600" in reason for reason in made["reasons"])
    assert made["queries"] > 10 and made["query_latency_ms"]["p50"] > 0
    assert run.json["frames"]["served"] == made["samples"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["single-stream", "offline", "server"])
def test_the_record_of_a_scenario_is_of_the_run_that_counts(arenite: Arenite, name: str) -> None:
    made = arenite(
        "camera", "--source", "synthetic", *SIZE, "--model", "visual_wake_words", "--json",
        "--scenario", name, "--duration", 0.3,
    ).json  # fmt: skip
    ran = made["scenario"]
    assert made["seconds"] == pytest.approx(ran["duration_s"], abs=0.01)
    assert made["fps"] == pytest.approx(ran["samples"] / ran["duration_s"], rel=0.05)
    assert made["frames"]["by"] == {"model": ran["samples"]}
    assert made["energy_mj_per_frame"]["value"] == pytest.approx(
        made["power_w"]["value"] * 1e3 * ran["duration_s"] / ran["samples"], rel=0.05
    )
    assert made["bytes_written_per_frame"] > 0 and 0 < made["duty_cycle"] <= 1


def test_a_file_that_the_runtime_refuses_is_repaired_and_a_note_says_so(arenite: Arenite) -> None:
    model = shared_model("person_detect_int8")
    made = arenite("camera", "--source", "synthetic", *SIZE, "--model", model, "--frames", 3, "--json").json
    assert made["frames"]["served"] == 3 and made["model"]["path"] == str(model)
    assert any("repaired" in note and "quantized_dimension" in note for note in made["notes"]), made["notes"]


@pytest.mark.slow
def test_a_budget_that_was_exceeded_is_exit_code_1(arenite: Arenite, tmp_path: Path) -> None:
    sensor = tmp_path / "sys/class/hwmon/hwmon0"
    sensor.mkdir(parents=True)
    for name, value in {
        "name": "ina3221",
        "in1_label": "VDD_IN",
        "in1_input": 5000,
        "curr1_input": 1200,
    }.items():
        (sensor / name).write_text(f"{value}\n")
    for budget, code, kept in (
        ("power=7W,latency=10s", 0, [True, True]),
        ("power=5W", 1, [False]),
        ("latency=0.001ms", 1, [False]),
    ):
        run = arenite(
            "camera", "--source", "synthetic", *SIZE, "--duration", 1.2, "--root", tmp_path, "--json",
            "--budget", budget,
        )  # fmt: skip
        assert (run.code, [each["kept"] for each in run.json["budget"]]) == (code, kept), run


@pytest.mark.slow
def test_an_estimate_gives_no_verdict(arenite: Arenite, tmp_path: Path) -> None:
    run = arenite(
        "camera",
        "--source",
        "synthetic",
        *SIZE,
        "--frames",
        5,
        "--root",
        tmp_path,
        "--budget",
        "power=1mW",
        "--json",
    )
    assert run.code == 0 and run.json["budget"][0]["kept"] is None


def test_a_soak_is_at_least_two_minutes(arenite: Arenite) -> None:
    arenite("camera", "--source", "synthetic", *SIZE, "--soak", 1, "--json").refused(2, "at least 2 minutes")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_its_summary(end: int, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    command = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--source", "synthetic", "--json"]
    with subprocess.Popen(
        [*command, "--output", str(lines)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            until = time.monotonic() + 60
            while not (lines.exists() and lines.stat().st_size) and time.monotonic() < until:
                time.sleep(0.05)
            os.kill(child.pid, end)
            out, err = child.communicate(timeout=120)
        finally:
            child.kill()
    assert child.returncode == 0, err
    served = json.loads(out)["frames"]["served"]
    assert served == len(lines.read_text().splitlines()) > 0
    assert "Traceback" not in err


CAMERA = (sys.executable, "-m", "arenite.host.cli.main", "camera", "--source", "synthetic", "--width", "320",
          "--height", "192")  # fmt: skip


def test_lines_on_standard_output_are_alone_there() -> None:
    command = [*CAMERA, "--frames", "3", "--output", "-"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and "3 frames served" in ended.stderr
    assert [json.loads(line)["number"] for line in ended.stdout.splitlines()] == [0, 1, 2]


@pytest.mark.slow
def test_a_reader_that_had_enough_and_a_closed_output_are_no_failure() -> None:
    for shell in ('"$@" --frames 2 | true; exit ${PIPESTATUS[0]}', '"$@" --frames 2 >&-'):
        ended = subprocess.run(
            ["bash", "-c", shell, "bash", *CAMERA], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_a_signal_ends_a_scenario_at_once() -> None:
    command = [*CAMERA, "--model", "vww", "--scenario", "offline", "--duration", "120", "--overlap"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stderr is not None
            for line in child.stderr:
                if line.startswith("Offline"):
                    break
            os.kill(child.pid, signal.SIGINT)
            out, err = child.communicate(timeout=120)
        finally:
            child.kill()
    assert (child.returncode, out) == (130, "") and err.splitlines()[-1] == "Interrupted."
