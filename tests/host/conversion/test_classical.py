"""Convert classical models (trees and linear models of scikit-learn in ONNX files): no framework is needed, trees need
no samples, and wrong options give clear errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import arenite
from arenite.converters.importers import environments
from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.onnx_ml import onnx_writer
from arenite.converters.importers.onnx_ml.import_model import import_classical
from arenite.converters.quantize.scoring.model_runner import RealValueRunner
from arenite.errors import ModelError, UnsupportedModelError, UsageError
from arenite.host.cli.main import cli

MODELS = Path(__file__).parents[2] / "converters" / "importers" / "onnx_ml" / "models"


@pytest.fixture(autouse=True)
def no_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a framework's environment is used."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a classical model needs no framework")

    monkeypatch.setattr(environments, "environment", refuse)


def test_trees_are_converted_without_samples(tmp_path: Path) -> None:
    report = arenite.convert(MODELS / "forest.onnx", tmp_path / "m.tflite", boards="nucleo_l4r5zi")
    assert report.met and report.model is not None
    assert any("10 trees" in note for note in report.notes)
    assert arenite.fit(report.model, "nucleo_l4r5zi").fits


def test_no_number_of_weights_is_printed_for_trees(tmp_path: Path) -> None:
    run = CliRunner().invoke(cli, ["convert", str(MODELS / "forest.onnx"), "-o", str(tmp_path / "m.tflite")])
    assert run.exit_code == 0 and "10 trees" in run.output
    assert "0 weights" not in run.output


def test_labelled_samples_give_a_score(tmp_path: Path) -> None:
    data = np.load(MODELS / "forest.npz")
    report = arenite.convert(
        MODELS / "forest.onnx", tmp_path / "m.tflite", test={"x": data["x"], "y": data["answers"]}
    )
    assert report.score_before == report.score_after == 1.0


def test_converting_a_converted_model_does_not_change_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tflite", tmp_path / "b.tflite"
    arenite.convert(MODELS / "forest_names.onnx", first)
    arenite.convert(first, second)
    assert first.read_bytes() == second.read_bytes()
    assert b"virginica" in first.read_bytes()


def test_a_library_of_trees_has_integer_features_and_outputs(tmp_path: Path) -> None:
    arenite.convert(MODELS / "forest.onnx", tmp_path / "m.tflite", features="int16")
    arenite.library({"wine": tmp_path / "m.tflite"}, tmp_path / "library")
    header = (tmp_path / "library/src/wine_model.h").read_text()
    assert "static inline int16_t *wine_model_input_0(void)" in header
    assert "static inline int32_t *wine_model_output_0(void)" in header


def test_a_linear_model_with_a_scaler_is_quantized_with_samples(tmp_path: Path) -> None:
    data = np.load(MODELS / "logistic.npz")
    samples = {"x": data["x"], "y": data["answers"]}
    report = arenite.convert(MODELS / "logistic.onnx", tmp_path / "m.tflite", calibration=samples)
    assert report.score_before == 1.0 and report.score_after is not None and report.score_after >= 0.98
    assert not any("scaler" in note for note in report.notes)


@pytest.mark.parametrize("name", ["perceptron", "perceptron_binary", "logistic_binary"])
def test_a_pipeline_with_a_scaler_keeps_its_answers_in_int8(name: str, tmp_path: Path) -> None:
    """The largest features are 2,800 to 130,000 times as large as the smallest."""
    data = np.load(MODELS / f"{name}.npz")
    half = len(data["x"]) // 2
    report = arenite.convert(
        MODELS / f"{name}.onnx",
        tmp_path / "m.tflite",
        calibration={"x": data["x"][:half]},
        test={"x": data["x"][half:], "y": data["answers"][half:]},
        recipe="int8",
    )
    assert report.score_before == 1.0 and report.score_after is not None and report.score_after >= 0.99
    (note,) = (n for n in report.notes if "float32" in n)
    assert "without scaling by the caller" in note


def test_the_library_of_a_pipeline_takes_the_features_as_they_are(tmp_path: Path) -> None:
    data = np.load(MODELS / "perceptron_binary.npz")
    arenite.convert(MODELS / "perceptron_binary.onnx", tmp_path / "m.tflite", calibration=data["x"])
    arenite.library({"cancer": tmp_path / "m.tflite"}, tmp_path / "library")
    header = (tmp_path / "library/src/cancer_model.h").read_text()
    assert "static inline float *cancer_model_input_0(void)" in header


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recipe": "int16x8"}, "tree ensemble"),
        ({"features": "int32"}, "--features"),
        ({"features": "int16", "test": {"x": np.full((4, 13), 0.5, np.float32)}}, "whole numbers"),
        ({"features": "int8", "test": {"x": np.full((4, 13), 500, np.float32)}}, "whole numbers"),
    ],
)
def test_options_that_do_not_fit_trees_are_explained(options: dict, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        arenite.convert(MODELS / "forest.onnx", tmp_path / "m.tflite", **options)
    assert not (tmp_path / "m.tflite").exists()


def test_the_option_features_is_refused_for_other_models_than_trees(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fully connected"):
        arenite.convert(MODELS / "logistic.onnx", calibration="random", features="int16")


@pytest.mark.parametrize(
    ("kind", "norm", "problem", "hint"),
    [
        ("Normalizer", "L1", "norm L1", "sum of its absolute values"),
        ("Normalizer", "MAX", "norm MAX", "largest of its absolute values"),
        ("Gather", "", "IsolationForest", "export_sklearn"),
    ],
)
def test_a_step_that_is_not_supported_says_what_to_do_instead(
    kind: str, norm: str, problem: str, hint: str, tmp_path: Path
) -> None:
    weights, columns = onnx_writer.tensor("w", np.ones((4, 2), np.float32)), np.arange(4)
    if kind == "Normalizer":
        first = onnx_writer.node(kind, ["X"], ["h"], {"norm": norm})
    else:
        first = onnx_writer.node(kind, ["X", "columns"], ["h"], {"axis": 1}, "")
    nodes = [first, onnx_writer.node("MatMul", ["h", "w"], ["y"], {}, "")]
    outputs = [onnx_writer.value_info(12, "y", (1, 2))]
    constants = [weights, onnx_writer.tensor("columns", columns)]
    # Another operator of the machine learning domain makes it a classical model.
    nodes.insert(0, onnx_writer.node("Scaler", ["X"], ["s"], {"offset": np.zeros(4), "scale": np.ones(4)}))
    (tmp_path / "m.onnx").write_bytes(onnx_writer.model(nodes, 4, outputs, constants))
    with pytest.raises(UnsupportedModelError, match=problem) as error:
        arenite.convert(tmp_path / "m.onnx", calibration="random")
    assert hint in error.value.hint


@pytest.mark.parametrize("name", ["m.pkl", "m.pickle", "m.joblib", "m.skops"])
def test_pickles_are_refused_and_skl2onnx_is_named(name: str, tmp_path: Path) -> None:
    """The file would run a program if it was loaded."""
    path = tmp_path / name
    path.write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR.")
    with pytest.raises((UsageError, ModelError), match=r"pickle|skops") as error:
        arenite.convert(path)
    assert "to_onnx" in error.value.hint
    assert not (tmp_path / "ran").exists()


def test_the_command_line_has_the_option_features(tmp_path: Path) -> None:
    target = tmp_path / "m.tflite"
    command = ["convert", str(MODELS / "forest.onnx"), "-o", str(target), "--features", "int8", "--json"]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert result.exception is None, result.output
    assert json.loads(result.stdout)["schema"] == "arenite.convert/1"
    report = CliRunner().invoke(cli, ["inspect", str(target), "--json"], standalone_mode=False)
    assert [op["op"] for op in json.loads(report.stdout)["operators"]] == ["ARENITE_TREE_ENSEMBLE"]


def scores_of(flatbuffer: bytes, samples: np.ndarray, *, reference: bool) -> np.ndarray:
    """Return the outputs for each sample: real values [samples][outputs]. ``reference`` selects the reference
    kernels."""
    runner = RealValueRunner(flatbuffer, reference=reference)
    return np.array([runner.run([row[None]])[0].reshape(-1) for row in samples])


def recipe_name(report: arenite.ConversionReport) -> str:
    """Return the name of the recipe that a conversion used."""
    calibrated = report.conversion.calibrated
    assert calibrated is not None
    return calibrated.recipe.name


def test_a_classifier_gets_int16_activations_if_int8_changes_a_class(tmp_path: Path) -> None:
    """Some samples lie so close to the border between two classes that their scores differ by less than a step of
    int8."""
    source = str(MODELS / "logistic.onnx")
    model = import_classical(source, ImportOptions())
    assert model.is_classifier
    data = np.load(MODELS / "logistic.npz")
    low, high = (data["x"][data["answers"] == k][0] for k in (0, 1))
    # Samples on the line from a sample of class 0 to a sample of class 1.
    line = (low + np.linspace(0, 1, 4001)[:, None] * (high - low)).astype(np.float32)
    difference = np.diff(scores_of(model.flatbuffer, line, reference=False)[:, :2], axis=1)[:, 0]
    close = [int(np.abs(difference - d).argmin()) for d in (0.003, -0.003, 0.004, -0.004)]
    samples = np.concatenate([data["x"], line[close]])
    expected = scores_of(model.flatbuffer, samples, reference=False).argmax(axis=1)

    report = arenite.convert(source, tmp_path / "m.tflite", calibration=samples)
    assert recipe_name(report) == "int16x8"
    (note,) = (n for n in report.notes if "class for" in n)
    assert "int16 activations for none" in note and "--recipe int8" in note
    image = (tmp_path / "m.tflite").read_bytes()
    np.testing.assert_array_equal(scores_of(image, samples, reference=True).argmax(axis=1), expected)
    arenite.convert(source, tmp_path / "int8.tflite", calibration=samples, recipe="int8")
    int8 = scores_of((tmp_path / "int8.tflite").read_bytes(), samples, reference=True).argmax(axis=1)
    assert (int8 != expected).any()


def test_a_classifier_gets_int16_if_int8_keeps_its_classes_by_a_small_margin(tmp_path: Path) -> None:
    data = np.load(MODELS / "logistic.npz")
    ranked = np.sort(data["scores"], axis=1)
    close = data["x"][ranked[:, -1] - ranked[:, -2] > 0.15]
    report = arenite.convert(MODELS / "logistic.onnx", tmp_path / "m.tflite", calibration=close)
    assert recipe_name(report) == "int16x8"
    (note,) = (n for n in report.notes if "the best two classes differ by 0.1" in n)
    assert "int8 keeps the source's class for all" in note and "--recipe int8" in note


def test_a_classifier_keeps_int8_if_no_class_can_change_easily(tmp_path: Path) -> None:
    data = np.load(MODELS / "logistic.npz")
    # Samples that are not close to the border between two classes: one score is much larger than all others.
    ranked = np.sort(data["scores"], axis=1)
    distinct = data["x"][ranked[:, -1] - ranked[:, -2] > 0.35]
    report = arenite.convert(MODELS / "logistic.onnx", tmp_path / "m.tflite", calibration=distinct)
    assert recipe_name(report).startswith("int8")
    assert any("keeps the source's class for all" in note for note in report.notes)


def test_a_regressor_gets_int8(tmp_path: Path) -> None:
    source = MODELS / "perceptron_regressor.onnx"
    assert not import_classical(str(source), ImportOptions()).is_classifier
    samples = np.load(MODELS / "perceptron_regressor.npz")["x"]
    report = arenite.convert(source, tmp_path / "m.tflite", calibration=samples)
    assert recipe_name(report).startswith("int8")
    assert not any("class for" in note for note in report.notes)
