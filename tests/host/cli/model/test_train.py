"""Tests of ``arenite train``: its lists, and errors, which are raised before data is fetched or a model is trained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arenite.host.cli.main import main
from arenite.models.architectures import ARCHITECTURES
from arenite.models.datasets import DATASETS


def test_the_list_as_json_has_architectures_data_and_recorded_trainings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", "--list", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "arenite.trainings/1"
    assert set(content["architectures"]) == set(ARCHITECTURES)
    assert set(content["data"]) == set(DATASETS)
    assert all(r["kind"] == "measured" for r in content["recorded"])


def test_the_list_as_text_has_architectures_and_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list"]) == 0
    text = capsys.readouterr().out
    for name in ARCHITECTURES:
        assert name in text
    assert "arenite train resnet8 --data mnist" in text


@pytest.mark.parametrize(
    ("arguments", "problem", "hint"),
    [
        ([], "NAME of an architecture or recorded training is missing", "--list"),
        (["dscnn", "--data", "digits"], "The output file is missing", "-o"),
        (["dscnn", "-o", "m.keras"], "Architecture 'dscnn' needs training data", "--data"),
        (["dscn", "-o", "m.keras"], "no architecture and no recorded training 'dscn'", "dscnn"),
        (["dscnn", "--data", "digit", "-o", "m.keras"], "no data set called 'digit'", "digits"),
        (["dscnn", "--data", "none.npz", "-o", "m.keras"], "Cannot read none.npz", "numpy.savez"),
        (["dscnn", "--data", "own.npz", "-o", "m.onnx"], "cannot be written as '.onnx'", ".keras"),
        (["dscnn", "--data", "own.npz", "-o", "m.keras", "--width", "0"], "width of 0", "0.5"),
        (
            ["dscnn", "--data", "own.npz", "-o", "m.keras", "--resolution", "9999"],
            "resolution of 9999",
            "side",
        ),
        (["dscnn", "--data", "own.npz", "-o", "m.keras", "--batch", "0"], "--batch 0", "default of the data"),
        (["detector", "--data", "own.npz", "-o", "m.keras"], "learns to detect", "--list"),
        (["autoencoder", "--data", "own.npz", "-o", "m.keras"], "learns to reconstruct", "--list"),
        (
            ["dscnn", "--data", "motions", "--resolution", "9", "-o", "m.keras"],
            "no resolution",
            "--resolution",
        ),
    ],
)
def test_mistakes_raise_an_error(
    arguments: list[str],
    problem: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("own.npz", x=rng.integers(0, 256, (20, 12, 12, 1), np.uint8), y=np.arange(20) % 2)
    assert main(["train", *arguments]) == 2
    stderr = capsys.readouterr().err
    assert problem in stderr
    assert hint in stderr
    assert "Traceback" not in stderr
    assert [p.name for p in tmp_path.iterdir()] == ["own.npz"]
