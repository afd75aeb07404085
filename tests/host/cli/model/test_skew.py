"""Tests of ``arenite skew``: pipelines that agree, pipelines that differ, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.tflite.image import image_bytes
from tests.host.cli.conftest import Arenite
from tests.host.small_graphs import classifier, save

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

STEPS = """
[preprocessing.source]
kind = "image"
[[preprocessing.steps]]
do = "resize"
width = 12
height = 12
[[preprocessing.steps]]
do = "normalise"
divide = 127.5
mean = 1.0
"""
PIPELINE = """
import numpy as np
from PIL import Image

def right(path):
    return np.asarray(Image.open(path).resize((12, 12), Image.Resampling.BILINEAR)) / 127.5 - 1

def wrong(path):
    return np.asarray(Image.open(path).resize((12, 12), Image.Resampling.NEAREST)) / 127.5 - 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder of the test, with two pictures, preprocessing steps and a training pipeline."""
    rng = np.random.default_rng(0)
    for name in ("cat/a.png", "dog/b.png"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        Image.fromarray(rng.integers(0, 256, (40, 30, 3), np.uint8)).save(path)
    (tmp_path / "steps.toml").write_text(STEPS)
    (tmp_path / "training_code.py").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_with_preprocessing_is_compared_with_a_pipeline(folder: Path, arenite: Arenite) -> None:
    run = arenite("skew", "steps.toml", "--data", "data", "--pipeline", "training_code:right", "--json")
    result = json.loads(run.out)
    assert (run.code, result["schema"], result["agrees"], result["samples"]) == (0, "arenite.skew/1", True, 2)
    assert [s["step"] for s in result["steps"]] == ["1 resize", "normalise", "the pipeline as a whole"]
    wrong_run = arenite("skew", "steps.toml", "--data", "data", "--pipeline", "training_code:wrong")
    assert wrong_run.code == 1 and "method nearest" in " ".join(wrong_run.out.split())


def test_the_preprocessing_that_an_image_records_is_compared(folder: Path, arenite: Arenite) -> None:
    record = {"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 12, "height": 12}]}
    Path("model.tflite").write_bytes(image_bytes(classifier(), None, extra={"preprocessing": record}))
    assert arenite("skew", "model.tflite", "--data", "data/cat/a.png").code == 0


def test_mistakes_raise_an_error(folder: Path, arenite: Arenite) -> None:
    save(classifier(), folder / "plain.tflite")
    (folder / "bad.toml").write_text("[preprocessing]\nsteps = 3\n")
    for words, problem in (
        (("plain.tflite", "--data", "data"), "records no preprocessing"),
        (("bad.toml", "--data", "data"), "is not a list"),
        (("steps.toml", "--data", "nowhere"), "does not exist"),
        (("steps.toml", "--data", "data", "--pipeline", "training_code:none"), "Cannot import"),
        (("missing.toml", "--data", "data"), "Cannot read missing.toml"),
    ):
        arenite("skew", *words).refused(2, problem)
