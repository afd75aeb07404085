"""Tests of the architectures: LiteRT runs every size, and Arenite recognizes the size of a model."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.tflite.reader import load, parse
from arenite.errors import UsageError
from arenite.models.architectures import ARCHITECTURES, network
from arenite.models.architectures.detector import SIZES, STRIDE
from arenite.models.architectures.network import channels
from arenite.models.architectures.random_weights import random_model
from arenite.models.architectures.recognize import NetworkSize, recognize_architecture
from tests.development_models import shared_model

SHAPES = {
    "dscnn": (49, 10, 1),
    "mobilenet_v1": (64, 64, 3),
    "mobilenet_v2": (64, 48, 3),
    "resnet8": (32, 32, 3),
    "autoencoder": (96,),
    "detector": (64, 48, 1),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_litert_runs_the_untrained_network(name: str) -> None:
    shape = SHAPES[name]
    interpreter = Interpreter(model_content=random_model(network(name, shape, 7, 0.25)))
    interpreter.allocate_tensors()
    x = np.random.default_rng(1).random((1, *shape), np.float32)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    outputs = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
    anchors = -(-64 // STRIDE) * -(-48 // STRIDE) * len(SIZES)
    expected = {"autoencoder": [(1, 96)], "detector": [(1, anchors, 4), (1, anchors, 7)]}
    assert [y.shape for y in outputs] == expected.get(name, [(1, 7)])
    assert all(np.isfinite(y).all() and y.std() > 0 for y in outputs)
    if name not in expected:
        assert outputs[0].sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("shape", [(8, 8, 1), (50, 1, 6), (28, 28, 1), (33, 31, 3), (3, 200, 2)])
@pytest.mark.parametrize("name", ["dscnn", "mobilenet_v1", "mobilenet_v2", "resnet8", "detector"])
def test_every_shape_is_a_valid_graph(name: str, shape: tuple[int, ...]) -> None:
    interpreter = Interpreter(model_content=random_model(network(name, shape, 3, 0.25)))
    interpreter.allocate_tensors()


@pytest.mark.slow
@given(
    st.sampled_from(sorted(ARCHITECTURES)),
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    st.integers(2, 20),
)
@settings(max_examples=20, deadline=None)
def test_a_network_is_recognized(name: str, width: float, classes: int) -> None:
    expected = network(name, SHAPES[name], classes, width)
    size = recognize_architecture(parse(random_model(expected)))
    assert size is not None
    assert (size.architecture, size.shape) == (name, SHAPES[name])
    assert size.network().layers == expected.layers


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("kws01_int8", NetworkSize("dscnn", 1.0, (49, 10, 1), 12)),
        ("vww01_int8", NetworkSize("mobilenet_v1", 0.25, (96, 96, 3), 2)),
        ("vww01_float32", NetworkSize("mobilenet_v1", 0.25, (96, 96, 3), 2)),
        ("ic01_int8", NetworkSize("resnet8", 1.0, (32, 32, 3), 10)),
        ("ad01_int8", NetworkSize("autoencoder", 1.0, (640,), 640)),
    ],
)
def test_benchmark_models_of_the_same_architecture_are_recognized(model: str, size: NetworkSize) -> None:
    assert recognize_architecture(load(str(shared_model(model)))) == size


@pytest.mark.parametrize("model", ["person_detect_int8", "sww01_int8"])
def test_models_of_other_architectures_are_not_recognized(model: str) -> None:
    assert recognize_architecture(load(str(shared_model(model)))) is None


@pytest.mark.parametrize(
    ("base", "width", "expected"),
    [(64, 1.0, 64), (64, 0.25, 16), (32, 0.35, 16), (24, 0.35, 8), (16, 0.05, 8)],
)
def test_channels_follow_the_rule_of_mobilenet(base: int, width: float, expected: int) -> None:
    assert channels(base, width) == expected


@given(st.integers(1, 2000), st.floats(0.05, 4.0))
def test_channels_are_multiples_of_8_and_at_least_90_percent(base: int, width: float) -> None:
    count = channels(base, width)
    assert count % 8 == 0
    assert count >= 8
    assert count >= 0.9 * base * width


def test_invalid_arguments_raise_errors_that_name_them() -> None:
    with pytest.raises(UsageError, match="dscn") as error:
        network("dscn", (8, 8, 1), 2)
    assert "dscnn" in error.value.hint
    with pytest.raises(UsageError, match="width of 9"):
        network("dscnn", (8, 8, 1), 2, 9.0)
    with pytest.raises(UsageError, match="takes pictures"):
        network("resnet8", (64,), 2)
