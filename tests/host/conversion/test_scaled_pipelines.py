"""Pipelines of a scaler and a perceptron of scikit-learn keep their accuracy in int8, with features whose ranges differ
by up to 12 orders of magnitude, and the C code computes what LiteRT computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arenite
from arenite.converters.importers.onnx_ml import onnx_writer
from arenite.converters.tflite.reader import parse
from tests.firmware.engine.litert_exact import assert_exact

datasets = pytest.importorskip("sklearn.datasets")
neural_network = pytest.importorskip("sklearn.neural_network")
preprocessing = pytest.importorskip("sklearn.preprocessing")


def onnx_file(scaler: Any, perceptron: Any) -> bytes:
    """Return the pipeline as an ONNX file, with the operators that skl2onnx writes."""
    if isinstance(scaler, preprocessing.MinMaxScaler):
        offset, scale = -scaler.min_ / scaler.scale_, scaler.scale_
    elif isinstance(scaler, preprocessing.RobustScaler):
        offset, scale = scaler.center_, 1 / scaler.scale_
    else:
        offset, scale = scaler.mean_, 1 / scaler.scale_
    attributes = {"offset": offset.astype(np.float32), "scale": scale.astype(np.float32)}
    nodes, constants = [onnx_writer.node("Scaler", ["X"], ["h0"], attributes)], []
    layers = list(zip(perceptron.coefs_, perceptron.intercepts_, strict=True))
    for k, (weights, bias) in enumerate(layers):
        constants += [
            onnx_writer.tensor(f"w{k}", weights.astype(np.float32)),
            onnx_writer.tensor(f"b{k}", bias.astype(np.float32)),
        ]
        nodes += [
            onnx_writer.node("MatMul", [f"h{k}", f"w{k}"], [f"m{k}"], {}, ""),
            onnx_writer.node("Add", [f"m{k}", f"b{k}"], [f"s{k}"], {}, ""),
        ]
        kind = "Relu" if k < len(layers) - 1 else "Softmax"
        nodes.append(onnx_writer.node(kind, [f"s{k}"], [f"h{k + 1}"], {}, ""))
    output = f"h{len(layers)}"
    outputs = [onnx_writer.value_info(12, output, (1, layers[-1][1].size))]
    return onnx_writer.model(nodes, len(offset), outputs, constants)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_int8_keeps_the_accuracy_of_pipelines(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    x, y = datasets.make_classification(
        1500, 12, n_informative=8, n_redundant=2, n_classes=3, class_sep=1.5, random_state=seed
    )
    factors = 10.0 ** rng.uniform(-6, 6, 12)
    x = ((x + rng.uniform(-20, 20, 12)) * factors).astype(np.float32)
    scaler = (
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(),
        preprocessing.RobustScaler(),
    )[seed % 3].fit(x[:1000])
    perceptron = neural_network.MLPClassifier((24, 12), max_iter=250, random_state=seed)
    perceptron.fit(scaler.transform(x[:1000]), y[:1000])
    (tmp_path / "m.onnx").write_bytes(onnx_file(scaler, perceptron))
    report = arenite.convert(
        tmp_path / "m.onnx",
        tmp_path / "m.tflite",
        calibration={"x": x[:500]},
        test={"x": x[1000:], "y": y[1000:]},
        recipe="int8",
    )
    accuracy = perceptron.score(scaler.transform(x[1000:]), y[1000:])
    assert report.score_before is not None and report.score_after is not None
    assert abs(report.score_before - accuracy) <= 0.004 and accuracy > 0.8
    assert report.score_after >= accuracy - 0.01
    image = parse((tmp_path / "m.tflite").read_bytes())
    assert_exact([(image, [row[None]]) for row in x[1000:1010]])
