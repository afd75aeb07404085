"""``convert --auto`` uses the cheapest recipe that loses at most the limit, and shows what it tried."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from arenite.converters.quantize.remedies.remedy_search import RemedyResult
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError
from arenite.host.cli.model.convert import convert as convert_command
from arenite.host.conversion.convert import Conversion, convert
from arenite.host.conversion.request import ConversionRequest
from tests.converters.quantize import trained_models
from tests.docs.schemas import problems
from tests.fuzz.comparison import compare
from tests.host.small_graphs import classifier, save


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a trained classifier, a wider classifier whose accuracy is lost in int8, and samples.

    In the wider classifier, a channel of layer 0 has large values, and so sets the scale, but only zero weights in
    layer 1. The layers after layer 1 have most of the weights, so they are cheaper in int8.
    """
    folder = tmp_path_factory.mktemp("auto")
    x, y = trained_models.samples(300, 5)
    first, *others = trained_models.train(*trained_models.samples(2000, 1), (32, 24, 64, 64))
    first = np.vstack([first, np.full((1, first.shape[1]), 100, np.float32)])
    second = np.hstack([others[0], np.zeros((len(others[0]), 1), np.float32)])
    (folder / "wide.tflite").write_bytes(trained_models.dense_net([first, second, *others[1:]]))
    (folder / "trained.tflite").write_bytes(trained_models.classifier())
    np.savez(folder / "data.npz", x=x, y=y)
    np.savez(folder / "unlabeled.npz", x=x)
    return folder


def request(folder: Path, source: str = "wide", data: str = "data") -> ConversionRequest:
    """Return a request for the conversion of a model of ``folder`` with --auto."""
    return ConversionRequest(str(folder / f"{source}.tflite"), calibration=folder / f"{data}.npz", auto=True)


def remedy_of(conversion: Conversion) -> RemedyResult:
    """Return the recipes that --auto tried, and which of them it chose."""
    assert conversion.calibrated is not None and conversion.calibrated.auto is not None
    return conversion.calibrated.auto


def command(folder: Path, *options: str) -> Result:
    """Run ``arenite convert --auto --json`` on the wider classifier, with further options."""
    arguments = [str(folder / "wide.tflite"), "--auto", "-o", str(folder / "out.tflite"), "--json", *options]
    return CliRunner().invoke(convert_command, arguments, standalone_mode=False)


def int16_operators(image: bytes) -> list[str]:
    """Return the names of the operators with an int16 output, without QUANTIZE."""
    graph = parse(image).main
    return [
        op.name for op in graph.ops if op.name != "QUANTIZE" and graph.tensors[op.outputs[0]].dtype == "int16"
    ]


@pytest.mark.parametrize("data", ["data", pytest.param("unlabeled", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_only_the_layers_whose_error_in_int8_costs_accuracy_become_int16(folder: Path, data: str) -> None:
    conversion = convert(request(folder, data=data))
    remedy = remedy_of(conversion)
    assert remedy.tried[0].label == "int8" and remedy.tried[0].drop > 0.5
    assert conversion.scores is not None and conversion.scores.lost <= 0.005 and remedy.met
    assert int16_operators(conversion.image) == ["FULLY_CONNECTED"] * 2
    chosen = remedy.tried[remedy.chosen]
    all_int16 = next(t for t in remedy.tried if t.int16_layers is None)
    assert chosen.is_exact and chosen.int16_layers == (0, 1)
    assert chosen.cost is not None and all_int16.cost is not None
    assert chosen.cost.instructions < all_int16.cost.instructions
    assert chosen.weight_bytes < all_int16.weight_bytes
    assert f"'{chosen.label}' loses" in remedy.reason and "times the instructions" in remedy.reason


@pytest.mark.slow
def test_the_firmware_of_a_mixed_image_gives_the_bytes_of_litert(folder: Path) -> None:
    model = parse(convert(request(folder)).image)
    assert not [str(mismatch) for mismatch in compare([model], runs=4, seed=1)]


@pytest.mark.slow
def test_a_model_that_int8_does_not_hurt_stays_int8(folder: Path) -> None:
    conversion = convert(replace(request(folder, "trained"), max_drop=0.01))
    plain = convert(replace(request(folder, "trained"), auto=False))
    assert [t.label for t in remedy_of(conversion).tried] == ["int8"]
    assert parse(conversion.image).main.ops == parse(plain.image).main.ops


def test_better_rounding_is_tried_before_int16(folder: Path) -> None:
    given = replace(request(folder, "trained"), recipe="int8_per_tensor", max_drop=0.0, metric="r2")
    labels = [t.label for t in remedy_of(convert(given)).tried]
    assert labels[0] == "int8_per_tensor"
    assert labels.index("int8, gptq, biases corrected") < labels.index("int16 in all layers")


@pytest.mark.slow
def test_the_best_recipe_is_written_if_none_meets_the_limit(folder: Path) -> None:
    result = command(
        folder, "--calibration", str(folder / "unlabeled.npz"), "--max-drop", "0", "--metric", "r2"
    )
    assert result.exception is None and result.return_value == 1 and (folder / "out.tflite").exists()
    report = json.loads(result.stdout)
    auto = report["calibration"]["auto"]
    assert not auto["met"] and auto["reason"].startswith(f"None of {len(auto['tried'])} recipes")
    drops = [t["drop"] for t in auto["tried"]]
    assert drops[auto["chosen"]] <= min(drops) + 1e-4
    assert report["score"]["max_drop"] == {"limit": 0.0, "met": False}


@pytest.mark.slow
def test_the_output_shows_what_was_tried(folder: Path) -> None:
    result = command(folder, "--calibration", str(folder / "data.npz"))
    assert result.exception is None and result.return_value == 0
    report: dict[str, Any] = json.loads(result.stdout)
    assert problems(report) == []
    assert report["score"]["max_drop"] == {"limit": 0.005, "met": True}
    entry = report["calibration"]["auto"]["tried"][report["calibration"]["auto"]["chosen"]]
    assert entry["cost"]["instructions"]["kind"] == "estimated" and entry["kernels"] == "reference"
    arguments = [str(folder / "wide.tflite"), "--auto", "--calibration", str(folder / "data.npz")]
    page, image = str(folder / "report.html"), str(folder / "out.tflite")
    text = CliRunner().invoke(
        convert_command, [*arguments, "--html", page, "-o", image], standalone_mode=False
    )
    assert "Recipes tried for a loss of at most 0.5 points" in text.stdout
    assert "Recipes tried" in Path(page).read_text("utf-8")


def test_options_that_do_not_go_together_are_refused(folder: Path) -> None:
    given = request(folder)
    for changes, words in (
        ({"recipe": "dynamic"}, "float activations"),
        ({"calibration": None, "test": folder / "data.npz"}, "real inputs"),
        ({"calibration": Path("random")}, "--calibration random only shows sizes"),
        ({"source": str(save(classifier(), folder / "int8.tflite"))}, "quantized already"),
    ):
        with pytest.raises(UsageError, match=words):
            convert(replace(given, **changes))  # type: ignore[arg-type]
    result = command(folder, "--calibration", str(folder / "data.npz"), "--budget", "drop=1%")
    assert isinstance(result.exception, UsageError) and "both choose the recipe" in str(result.exception)
