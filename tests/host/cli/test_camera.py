"""Tests of the command ``arenite camera``: the JSON record, errors, and the end of a run."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.development_models import shared_model
from tests.host.cli.conftest import Arenite

SIZE = ("--width", 320, "--height", 192)


def test_the_record_has_every_documented_key(arenite: Arenite) -> None:
    run = arenite("camera", "--source", "synthetic", *SIZE, "--frames", 12, "--pace", "file", "--json")
    assert run.code == 0, run
    record = run.json
    assert record["schema"] == "arenite.camera/1"
    assert Path(record["model"]["path"]).is_file()
    assert len(record["model"]["sha256"]) == 64 and record["model"]["runtime"] == "litert-cpu"
    assert record["frames"] | {"by": 0} == {
        "captured": 12, "served": 12, "dropped": 0, "late": 0, "errors": 0, "reconnects": 0, "by": 0,
    }  # fmt: skip
    for stage in ("capture", "preprocess", "invoke", "postprocess", "total"):
        assert (
            0
            < record["stage_ms"][stage]["p50"]
            <= record["stage_ms"][stage]["p95"]
            <= record["stage_ms"][stage]["p99"]
        )
    # The input has 128x128x3 float32 values. The default model, a face detector, has 896 boxes of 17 float32 values.
    input_bytes = 128 * 128 * 3 * 4
    assert input_bytes <= record["bytes_written_per_frame"] <= input_bytes + 4096 + 896 * 17 * 4
    assert record["fps"] > 0 and 0 < record["duty_cycle"] <= 1 and record["cold_start_ms"] > 0
    assert record["power_w"]["kind"] in ("measured", "estimated") and record["power_w"]["value"] > 0
    # A short run takes a few milliseconds, and "seconds" is rounded to one.
    energy_mj = record["energy_mj_per_frame"]["value"] * 12
    least, most = (record["power_w"]["value"] * (record["seconds"] * 1e3 + error) for error in (-0.51, 0.51))
    assert least - 0.01 <= energy_mj <= most + 0.01
    assert set(record["temperature_c"]) == {"start", "end", "max"}
    assert record["governor"] == []


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
def test_invalid_arguments_raise_an_error(arenite: Arenite, arguments: tuple[str, ...], message: str) -> None:
    arenite("camera", *arguments, "--json").refused(2, message)


@pytest.mark.parametrize("option", ["fps", "duration", "jitter", "timeout", "soak", "memory-budget", "qps"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_nan_and_infinity_raise_an_error(arenite: Arenite, option: str, value: str) -> None:
    run = arenite("camera", "--source", "synthetic", f"--{option}", value)
    assert run.code == 2 and f"--{option}" in run.err and "Traceback" not in run.err


SECRET = "sand-and-pressure"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("--token", SECRET), "ARENITE_TOKEN"),
        ((f"--token={SECRET}",), "--token-file"),
        (("--mqtt", f"mqtt://user:{SECRET}@127.0.0.1:1/cam"), "ARENITE_MQTT"),
    ],
)
def test_a_secret_in_the_list_of_processes_is_reported(
    arenite: Arenite, arguments: tuple[str, ...], remedy: str
) -> None:
    run = arenite("camera", "--source", "nothing", *arguments)
    assert run.code == 2 and "in the list of processes" in run.err and remedy in run.err
    assert SECRET not in run.err


def test_a_token_on_the_command_line_is_refused(arenite: Arenite) -> None:
    arguments = ("--source", "synthetic", *SIZE, "--frames", 1, "--dashboard", "127.0.0.1:0")
    arenite("camera", *arguments, "--token", SECRET).refused(2, "takes only the word auto")


def test_a_generated_token_is_printed(arenite: Arenite) -> None:
    arguments = ("--source", "synthetic", *SIZE, "--frames", 4, "--pace", "file")
    run = arenite("camera", *arguments, "--dashboard", "0.0.0.0:0", "--token", "auto")
    assert run.code == 0 and re.search(r"/\?token=\S{24}\n", run.err)


def test_a_secret_in_the_address_of_a_source_is_not_printed(
    arenite: Arenite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"rtsp://user:{SECRET}@127.0.0.1:1/x"
    (tmp_path / "sources").write_text(f"\n{address}\n\n")
    from_file = arenite("camera", "--source-file", tmp_path / "sources")
    monkeypatch.setenv("ARENITE_SOURCE", f"{address}\n")
    from_environment = arenite("camera")
    visible = arenite("camera", "--source", address)
    for run in (from_file, from_environment, visible):
        assert run.code != 0 and "127.0.0.1:1/x" in run.err and SECRET not in run.err + run.out
    assert "processes" not in from_file.err + from_environment.err
    assert "list of processes. Set ARENITE_SOURCE, or use --source-file" in visible.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"\n \n", "names no source"),
        (b"\xff\xfe", "is not text"),
        (b"x\n" * 40_000, "longer than"),
    ],
)
def test_a_bad_source_file_is_refused(
    arenite: Arenite, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "sources").write_bytes(content)
    arenite("camera", "--source-file", tmp_path / "sources").refused(2, message)


def test_source_and_source_file_exclude_each_other(arenite: Arenite, tmp_path: Path) -> None:
    arenite("camera", "--source", "photos", "--source-file", tmp_path / "s").refused(2, "exclude each other")


def test_a_secret_in_a_file_or_in_the_environment_causes_no_warning(
    arenite: Arenite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    assert "processes" not in arenite("camera", "--source", "nothing", "--token", "auto").err
    assert "processes" not in arenite("camera", "--source", "nothing", "--token-file", tmp_path / "token").err
    monkeypatch.setenv("ARENITE_TOKEN", SECRET)
    monkeypatch.setenv("ARENITE_MQTT", f"mqtt://user:{SECRET}@127.0.0.1:1/cam")
    assert "processes" not in arenite("camera", "--source", "nothing").err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"", "is empty"),
        (b"\n" + SECRET.encode(), "is empty"),
        (b"\xff\xfe" * 9, "cannot be read"),
        (b"x" * 2000, "longer than 1024 bytes"),
        (b"short\n", "only 5 characters"),
    ],
)
def test_a_bad_token_file_is_refused(
    arenite: Arenite, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    arguments = ("--source", "synthetic", *SIZE, "--frames", 1, "--dashboard", "127.0.0.1:0")
    arenite("camera", *arguments, "--token-file", path).refused(2, message)


def test_token_and_token_file_exclude_each_other(arenite: Arenite, tmp_path: Path) -> None:
    arenite("camera", "--token", "auto", "--token-file", tmp_path / "t").refused(2, "exclude each other")


def test_the_dashboard_uses_the_token_of_the_file(arenite: Arenite, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\nsecond line\n")
    arguments = ("--source", "synthetic", *SIZE, "--frames", 4, "--pace", "file")
    run = arenite("camera", *arguments, "--dashboard", "0.0.0.0:0", "--token-file", tmp_path / "token")
    assert run.code == 0 and "with your token" in run.err and SECRET not in run.err + run.out


def test_answers_and_a_timeline_are_written_to_files(arenite: Arenite, tmp_path: Path) -> None:
    lines, trace = tmp_path / "answers.jsonl", tmp_path / "trace.json"
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--frames", 8, "--pace", "file", "--output", lines,
        "--timeline", trace, "--overlap",
    )  # fmt: skip
    assert run.code == 0 and "8 frames served" in run.out
    answers = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [answer["number"] for answer in answers] == list(range(8))
    assert any(event.get("name") == "invoke" for event in json.loads(trace.read_text()))


def test_several_cameras_have_their_own_records(arenite: Arenite) -> None:
    # No camera counts as late on a busy computer, so every set has a frame of each.
    record = arenite(
        "camera", "--source", "synthetic", "--source", "synthetic", *SIZE, "--frames", 20, "--json",
        "--timeout", 60_000,
    ).json  # fmt: skip
    assert [camera["source"] for camera in record["cameras"]] == ["synthetic"] * 2
    assert all(camera["used"] >= 9 for camera in record["cameras"])
    assert set(record["last_answer"]) == {"0", "1"}


def test_models_above_the_memory_budget_are_reloaded(arenite: Arenite) -> None:
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--frames", 4, "--pace", "file", "--json",
        "--also", "efficientnet-lite0", "--memory-budget", 11,
    )  # fmt: skip
    assert run.code == 0, run
    memory = run.json["memory"]
    assert memory["evictions"] > 0 and memory["used"] <= memory["budget"]
    assert all(
        model_memory["reloads"] > 0 and model_memory["reload_ms"] > 0
        for model_memory in memory["models"].values()
    )


@pytest.mark.slow
def test_a_short_scenario_is_measured_and_not_valid(arenite: Arenite) -> None:
    run = arenite(
        "camera", "--source", "synthetic", *SIZE, "--model", "visual_wake_words", "--json",
        "--scenario", "single-stream", "--duration", 0.5, "--motion",
    )  # fmt: skip
    assert "A scenario does not use --motion." in run.json["notes"]
    scenario = run.json["scenario"]
    assert scenario["valid"] is False and any("600" in reason for reason in scenario["reasons"])
    assert scenario["queries"] > 10 and scenario["query_latency_ms"]["p50"] > 0
    assert run.json["frames"]["served"] == scenario["samples"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["single-stream", "offline", "server"])
def test_the_record_of_a_scenario_covers_only_the_measured_run(arenite: Arenite, name: str) -> None:
    record = arenite(
        "camera", "--source", "synthetic", *SIZE, "--model", "visual_wake_words", "--json",
        "--scenario", name, "--duration", 0.3,
    ).json  # fmt: skip
    scenario = record["scenario"]
    assert record["seconds"] == pytest.approx(scenario["duration_s"], abs=0.01)
    assert record["fps"] == pytest.approx(scenario["samples"] / scenario["duration_s"], rel=0.05)
    assert record["frames"]["by"] == {"model": scenario["samples"]}
    assert record["energy_mj_per_frame"]["value"] == pytest.approx(
        record["power_w"]["value"] * 1e3 * scenario["duration_s"] / scenario["samples"], rel=0.05
    )
    assert record["bytes_written_per_frame"] > 0 and 0 < record["duty_cycle"] <= 1


def test_an_invalid_model_file_is_repaired_with_a_note(arenite: Arenite) -> None:
    model = shared_model("person_detect_int8")
    record = arenite("camera", "--source", "synthetic", *SIZE, "--model", model, "--frames", 3, "--json").json
    assert record["frames"]["served"] == 3 and record["model"]["path"] == str(model)
    assert any("repaired" in note and "quantized_dimension" in note for note in record["notes"]), record[
        "notes"
    ]


@pytest.mark.slow
def test_the_exit_code_is_1_if_a_budget_was_exceeded(arenite: Arenite, tmp_path: Path) -> None:
    sensor = tmp_path / "sys/class/hwmon/hwmon0"
    sensor.mkdir(parents=True)
    for name, value in {
        "name": "ina3221",
        "in1_label": "VDD_IN",
        "in1_input": 5000,
        "curr1_input": 1200,
    }.items():
        (sensor / name).write_text(f"{value}\n")
    for budget, code, verdicts in (
        ("power=7W,latency=10s", 0, [True, True]),
        ("power=5W", 1, [False]),
        ("latency=0.001ms", 1, [False]),
    ):
        run = arenite(
            "camera", "--source", "synthetic", *SIZE, "--duration", 1.2, "--root", tmp_path, "--json",
            "--budget", budget,
        )  # fmt: skip
        assert (run.code, [limit["kept"] for limit in run.json["budget"]]) == (code, verdicts), run


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


def test_standard_output_has_only_the_answers() -> None:
    command = [*CAMERA, "--frames", "3", "--output", "-"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0 and "3 frames served" in process.stderr
    assert [json.loads(line)["number"] for line in process.stdout.splitlines()] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("entry", [(284, 3, 1000, 332), (277, 3, 1, 2048)])
def test_a_damaged_picture_causes_no_messages_of_packages(
    entry: tuple[int, int, int, int], tmp_path: Path
) -> None:
    """``entry`` replaces an entry of a TIFF directory: its tag, type, count and value."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    stream = io.BytesIO()
    image.new("RGB", (8, 8)).save(stream, "TIFF")
    data = bytearray(stream.getvalue())
    begin = data.index(struct.pack("<H", entry[0]), struct.unpack_from("<I", data, 4)[0])
    struct.pack_into("<HHII", data, begin, *entry)
    (tmp_path / "damaged.png").write_bytes(data)
    command = [sys.executable, "-m", "arenite.host.cli.main", "camera", "--source", str(tmp_path), "--json"]
    process = subprocess.run([*command, "--frames", "1"], capture_output=True, text=True, timeout=60)
    for text in ("PIL", "per pixel", "BytesIO"):
        assert text not in process.stderr


@pytest.mark.slow
def test_a_closed_standard_output_is_no_failure() -> None:
    for shell in ('"$@" --frames 2 | true; exit ${PIPESTATUS[0]}', '"$@" --frames 2 >&-'):
        process = subprocess.run(
            ["bash", "-c", shell, "bash", *CAMERA], capture_output=True, text=True, timeout=60
        )
        assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.slow
def test_a_signal_ends_a_scenario() -> None:
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
