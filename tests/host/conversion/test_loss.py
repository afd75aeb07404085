"""A large loss of accuracy is reported in a sentence that names the layer where it begins. ``--max-drop`` decides the
exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.scoring.metrics import Score
from arenite.converters.quantize.scoring.output_scores import OutputScore
from arenite.converters.quantize.sensitivity.layer_errors import LayerError
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError
from arenite.host.cli.model.convert import convert as convert_command
from arenite.host.conversion.convert import convert
from arenite.host.conversion.loss import find_loss
from arenite.host.conversion.request import ConversionRequest
from arenite.host.conversion.scores import Scores
from tests.converters.quantize import trained_models


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> ConversionRequest:
    """Return a request for a classifier in which a channel of layer 0 has large values, and so sets the scale, but only
    zero weights in the next layer."""
    folder = tmp_path_factory.mktemp("loss")
    x, y = trained_models.samples(300, 5)
    first, *others = trained_models.train(*trained_models.samples(2000, 1), (32, 24))
    first = np.vstack([first, np.full((1, first.shape[1]), 100, np.float32)])
    second = np.hstack([others[0], np.zeros((len(others[0]), 1), np.float32)])
    (folder / "wide.tflite").write_bytes(trained_models.dense_net([first, second, *others[1:]]))
    (folder / "trained.tflite").write_bytes(trained_models.classifier())
    np.savez(folder / "data.npz", x=x, y=y)
    return ConversionRequest(
        str(folder / "wide.tflite"), calibration=folder / "data.npz", test=folder / "data.npz"
    )


@pytest.mark.slow
def test_a_large_loss_names_the_layer_and_what_to_try(wide: ConversionRequest) -> None:
    (text,) = [n for n in convert(wide).notes if "points of accuracy" in n]
    assert (
        "The error begins at layer 1 FULLY_CONNECTED" in text
        and "Try --auto" in text
        and "--recipe int16x8" in text
    )


def test_a_small_loss_adds_no_note(wide: ConversionRequest) -> None:
    conversion = convert(replace(wide, source=str(Path(wide.source).with_name("trained.tflite"))))
    assert conversion.scores is not None and conversion.scores.lost < 0.02
    assert not [n for n in conversion.notes if "The error begins" in n or "loses" in n]


@pytest.mark.slow
def test_max_drop_decides_the_exit_code(wide: ConversionRequest, tmp_path: Path) -> None:
    output = tmp_path / "image.tflite"
    arguments = [
        wide.source,
        "--calibration",
        str(wide.calibration),
        "--test",
        str(wide.test),
        "-o",
        str(output),
    ]
    runner = CliRunner()
    for limit, code in (("2", 1), ("100", 0)):
        result = runner.invoke(
            convert_command, [*arguments, "--max-drop", limit, "--json"], standalone_mode=False
        )
        assert result.exception is None and result.return_value == code
        assert output.exists()
    scores = json.loads(result.stdout)["score"]
    assert scores["source"]["value"] - scores["image"]["value"] > 0.02


def test_max_drop_without_samples_for_a_score_is_an_error(wide: ConversionRequest) -> None:
    with pytest.raises(UsageError, match="needs samples for a score"):
        convert(replace(wide, calibration=None, test=None, recipe="float16", max_drop=0.01))


def test_without_classes_the_error_of_the_output_decides() -> None:
    """The lists of numbers are the signal-to-noise ratios of the layers in dB, the number before them that of the
    output."""
    graph = parse(trained_models.classifier()).main

    def scores(metric: str, source: float, image: float, db: float) -> Scores:
        output = OutputScore(0, "out", (1, 8), Score(metric, source, 10), Score(metric, image, 10), db, 0.1)
        return Scores((output,), "samples")

    def sentence(scores: Scores, recipe: Recipe, *db: float) -> str | None:
        loss = find_loss(graph, lambda: errors(*db), scores, recipe)
        return None if loss is None else loss.sentence

    def errors(*db: float) -> list[LayerError]:
        return [LayerError(k, graph.ops[k].name, f"layer{k}", value, 0.1, 0.01) for k, value in enumerate(db)]

    int8 = load_recipe("int8")
    assert sentence(scores("mse", 0.0, 1.0, 35), int8, 40, 38, 36, 35) is None
    mse = scores("mse", 0.0, 1.0, 11)
    text = sentence(mse, int8, 40, 18, 12, 11)
    assert text is not None and "11 dB" in text and "begins at layer 1" in text
    assert "Try --recipe int8," in str(sentence(mse, load_recipe("w4"), 40, 18, 12, 11))
    text = sentence(scores("accuracy", 0.9, 0.8, 25), int8, 40, 38, 26, 25)
    assert text is not None and "90.0% to 80.0%" in text and "begins at layer 2" in text
