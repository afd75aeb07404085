"""Tests that the published schemas are valid and complete, accept the output of the commands and reject damaged output.

The tests of the command line also validate every JSON result that they read (``Run.json`` in tests/host/cli).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from arenite.host.cli.main import main
from tests.docs.pages import ROOT
from tests.docs.schemas import file_name, problems, schemas
from tests.host.small_graphs import classifier, save

BOARD = "qemu_mps2_an386"
#: Names of the JSON formats that occur only in files, not in the output of a command.
FILE_FORMATS = {
    "anomaly",
    "decision",
    "gate",
    "image",
    "observations",
    "plan",
    "postprocessing",
    "preprocessing",
    "project",
    "sizes",
    "app-sizes",
}


@pytest.mark.parametrize("name", schemas())
def test_a_schema_is_valid_and_every_key_is_described(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema") and schema["$id"] == name
    assert "schema" in schema["required"] and f"`{_constant(schema)}`" in _page()
    assert undescribed(schema) == []


def test_every_format_in_the_sources_is_published() -> None:
    texts = [
        p.read_text("utf-8")
        for folder in ("host", "models", "converters", "firmware")
        for p in (ROOT / folder).rglob("*.py")
    ]
    names = {name for text in texts for name in re.findall(r'"(arenite\.[a-z-]+/\d+)"', text)}
    output_formats = {
        name for name in names if name.split("/")[0].removeprefix("arenite.") not in FILE_FORMATS
    }
    assert {file_name(name) for name in output_formats} == set(schemas())
    assert all(f"../schemas/{name}" in _page() for name in schemas())


@pytest.mark.slow
def test_the_output_of_commands_fits_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save(classifier(), tmp_path / "small.tflite")
    project = tmp_path / "project"
    for command in (
        ["fit", model, "--all"],
        ["fit", model, model, "--board", BOARD],
        ["inspect", model],
        ["convert", model, "-o", tmp_path / "image.tflite"],
        ["firmware", model, "--board", BOARD, "-o", project],
        ["pareto", model, "--board", BOARD],
        ["library", f"small={model}", "-o", tmp_path / "library"],
        ["boards"],
        ["boards", "--udev"],
        ["boards", "--ports"],
        ["zoo", "list"],
        ["meter", "list"],
        ["meter", "show", "ppk2"],
        ["meter", "firmware", "--sensor", "ina226", "--board", "nucleo_f411re", "-o", tmp_path / "logger"],
        ["duty", "--rate", "0.1", "--service", "120", "--active-mw", "36", "--sleep-uw", "15"],
        ["train", "--list"],
        ["doctor"],
        ["reset", "--board", "esp32dev", "--print", "/dev/ttyUSB0"],
        ["camera", "--source", "synthetic", "--model", model, "--frames", "20", "--budget", "latency=1000ms"],
    ):
        assert problems(run_json(capsys, *command)) == [], command


@pytest.mark.slow
@pytest.mark.qemu
def test_measured_results_fit_their_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save(classifier(), tmp_path / "small.tflite")
    project = tmp_path / "project"
    for command in (
        ["bench", model, "--board", BOARD, "--samples", "2", "--keep", project, "--health"],
        ["bench", model, "--board", BOARD, "--samples", "2", "--protocol", "mlperf"],
        ["build", project],
        ["fit", project],
        ["flash", project],
        ["flash", project, "--print"],
        ["energy", model, "--board", "nucleo_l4r5zi"],
        [
            "mlperf",
            model,
            "--board",
            BOARD,
            "--task",
            "kws01",
            "--mode",
            "performance",
            "-o",
            tmp_path / "out",
        ],
        ["bench", "history"],
    ):
        assert problems(run_json(capsys, *command)) == [], command


def test_a_damaged_result_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save(classifier(), tmp_path / "small.tflite")
    fit = run_json(capsys, "fit", model, "--board", BOARD)
    damaged = copy.deepcopy(fit)
    del damaged["boards"][0]["ram"]["needed"]
    assert any("needed" in line for line in problems(damaged))
    damaged = copy.deepcopy(fit)
    damaged["boards"][0]["latency_ms"]["kind"] = "guessed"
    assert problems(damaged)
    assert problems({"schema": "arenite.energy/1", "supply_v": "3.3"})
    assert problems({**fit, "schema": "arenite.bench/1"})


def run_json(capsys: pytest.CaptureFixture[str], *command: object) -> dict[str, Any]:
    """Run the command with --json and return its output."""
    capsys.readouterr()
    code = main([*map(str, command), "--json"])
    output = capsys.readouterr()
    assert code in (0, 1, 3) and output.out, output.err
    result = json.loads(output.out)
    assert isinstance(result, dict)
    return result


def undescribed(node: Mapping[str, Any], path: str = "$") -> list[str]:
    """Return the paths of properties without a description."""
    paths = []
    for key, value in node.get("properties", {}).items():
        if key != "schema" and "description" not in value:
            paths.append(f"{path}.{key}")
        paths += undescribed(value, f"{path}.{key}")
    for child in [
        node.get("items"),
        node.get("additionalProperties"),
        *node.get("oneOf", []),
        *node.get("anyOf", []),
    ]:
        if isinstance(child, dict):
            paths += undescribed(child, f"{path}[]")
    return paths


def _constant(schema: Mapping[str, Any]) -> str:
    """Return the name and version of the format, such as arenite.bench/1."""
    return str(schema["properties"]["schema"]["const"])


def _page() -> str:
    """Return the text of the page that lists the schemas."""
    return (ROOT / "docs/reference/json.md").read_text("utf-8")
