"""Applications whose models are trained: the image is made once, and again when its record or its training changes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import arenite
from arenite.converters.anomaly.head import KEY as ANOMALY_KEY
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import ToolError
from arenite.host.app.applications import application_image
from arenite.host.app.trained_applications import RECIPES, trained_image
from arenite.host.build.prepare import prepare
from arenite.host.cli.firmware.app import app
from arenite.models.training.application_recipe import ApplicationRecipe, FloatModel
from arenite.models.training.autoencoder import train_autoencoder
from arenite.models.training.dense import dense_model

RECORD = """\
[preprocessing.source]
kind = "imu"
axes = 2
rate = 10
window = 4
hop = 2

[anomaly]
input = 0
hop = 2
"""


class SmallTraining:
    """A real but small recipe that counts its trainings."""

    def __init__(self) -> None:
        self.count = 0

    def train(self, spec: Preprocessing, progress: bool) -> FloatModel:
        self.count += 1
        x = np.random.default_rng(0).normal(0, 1, (200, 8)).astype(np.float32)
        return FloatModel(dense_model(train_autoencoder(x, (8, 4, 8), 2)), x)

    @property
    def recipe(self) -> ApplicationRecipe:
        return ApplicationRecipe(self.train, lambda _: np.zeros((8, 2), np.int16), (), b"first")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SmallTraining:
    training = SmallTraining()
    monkeypatch.setitem(RECIPES, "small", training.recipe)
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    return training


def test_a_model_is_trained_once(small: SmallTraining, tmp_path: Path) -> None:
    record = tmp_path / "small.toml"
    record.write_text(RECORD)
    image = trained_image("small", record, progress=False)
    prepared = prepare(image)
    assert prepared.extra[ANOMALY_KEY]["hop"] == 2 and "decision" not in prepared.extra
    assert prepared.model.main.tensors[prepared.model.main.inputs[0]].dtype == "int8"
    assert trained_image("small", record, progress=False) == image and small.count == 1


def test_another_record_or_training_gives_another_image(
    small: SmallTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "small.toml"
    record.write_text(RECORD)
    images = {trained_image("small", record, progress=False)}
    record.write_text(RECORD.replace("hop = 2\n\n", "hop = 4\n\n"))
    images.add(trained_image("small", record, progress=False))
    monkeypatch.setitem(RECIPES, "small", replace(small.recipe, key=b"second"))
    images.add(trained_image("small", record, progress=False))
    assert len(images) == small.count == 3


def test_data_that_cannot_be_downloaded_are_told(
    small: SmallTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip finds no package index, as on a computer without a network."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ToolError, match="The model of the application gestures cannot be trained") as caught:
        application_image("gestures", progress=False)
    assert "aeon" in caught.value.problem and caught.value.hint
    assert not list((tmp_path / "cache").rglob("*.tflite"))


@pytest.mark.slow
@pytest.mark.qemu
# The last bits of the weights depend on the processor that trains, so one fault more or less may be heard.
@pytest.mark.parametrize(("name", "starts"), [("gestures", 20), ("machine_sounds", 3)])
def test_one_command_trains_and_plays_the_example(name: str, starts: int, tmp_path: Path) -> None:
    try:
        application_image(name, progress=False)
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    command = [name, "--board", "qemu_mps2_an386", "-o", str(tmp_path / "app"), "--play", "example"]
    result = CliRunner().invoke(app, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    match = re.search(r"(\d+) of (\d+) events are those of this computer", result.output)
    assert match is not None and match[1] == match[2] and "were lost" not in result.output
    assert len(re.findall(r"^\[[\d.]+ s\] (?!.*ended)", result.output, re.MULTILINE)) >= starts
    arenite.app(name, tmp_path / "real", board="pico" if name == "gestures" else "nano33ble")
    assert (tmp_path / "real" / "src" / "main.c").is_file()
