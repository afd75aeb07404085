"""Layers that no microcontroller can run are refused before the framework starts, by their names in the framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.outline import Outline, OutlineLayer
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.outline.refused_layers import check_layers
from arenite.errors import UnsupportedModelError
from tests.converters.importers.outline import source_files as files


def refusal(kind: str, *layers: OutlineLayer) -> str:
    """Return the message with which a source of this kind and these layers is refused."""
    with pytest.raises(UnsupportedModelError) as error:
        check_layers(kind, Outline(layers))
    assert error.value.hint
    return str(error.value)


@pytest.mark.parametrize(
    ("kind", "layer", "words"),
    [
        (source_kinds.KERAS, OutlineLayer("volume", "Conv3D"), "'volume' (Conv3D) computes on volumes"),
        (source_kinds.KERAS_H5, OutlineLayer("twice", "Lambda"), "'twice' (Lambda) contains Python code"),
        (source_kinds.KERAS, OutlineLayer("hash", "Hashing"), "'hash' (Hashing) looks up"),
        (source_kinds.KERAS, OutlineLayer("memory", "LSTM", time_steps=2001), "2001 time steps; at most 2000"),
        (source_kinds.SAVED_MODEL, OutlineLayer("net/while", "StatelessWhile"), "recurrent layers of a SavedModel"),
        (source_kinds.SAVED_MODEL, OutlineLayer("net/sum", "AssignAddVariableOp"), "keeps a value between inferences"),
        (source_kinds.SAVED_MODEL, OutlineLayer("net/cond", "If"), "chooses or repeats operators"),
        (source_kinds.SAVED_MODEL, OutlineLayer("net/rfft", "RFFT"), "computes a spectrum"),
        (source_kinds.TORCH_EXPORT, OutlineLayer("a", "aten.fft_rfft", {}, "Net", "net.py line 3"), "net.py line 3"),
        (source_kinds.TORCH_EXPORT, OutlineLayer("a", "higher_order.cond"), "torch.where"),
        (source_kinds.TORCH_EXPORT, OutlineLayer("a", "aten.max_pool3d"), "volumes"),
        (source_kinds.ONNX, OutlineLayer("/nms", "NonMaxSuppression"), "--postprocessing"),
        (source_kinds.ONNX, OutlineLayer("/q", "QLinearConv"), "float model that it was quantized from"),
        (source_kinds.ONNX, OutlineLayer("/frob", "Frobnicate"), "onnx2tf does not have"),
        (source_kinds.ONNX, OutlineLayer("/vol", "Conv", volume=True), "computes on volumes"),
        (source_kinds.TFLITE_FLOAT32, OutlineLayer("y", "WHILE"), "'y' (WHILE)"),
    ],
)  # fmt: skip
def test_the_error_names_the_layer_and_the_cause(kind: str, layer: OutlineLayer, words: str) -> None:
    text = refusal(kind, OutlineLayer("first", "Relu"), layer)
    assert f"Layer '{layer.name}'" in text and words in text


@pytest.mark.parametrize(
    ("kind", "layer"),
    [
        (source_kinds.KERAS, OutlineLayer("c", "Conv2D", {"strides": (300, 1)})),
        (source_kinds.SAVED_MODEL, OutlineLayer("c", "DepthwiseConv2dNative", {"dilations": (1, 1, 256, 1)})),
        (source_kinds.TORCH_EXPORT, OutlineLayer("c", "aten.conv2d", {"stride": (300,)})),
        (source_kinds.ONNX, OutlineLayer("c", "Conv", {"strides": (1, 256)})),
        (source_kinds.TFLITE_FLOAT32, OutlineLayer("c", "CONV_2D", {"strides": (256, 256)})),
    ],
)
def test_strides_and_dilations_of_convolutions_are_at_most_255(kind: str, layer: OutlineLayer) -> None:
    assert "takes up to 255" in refusal(kind, layer)
    (name,) = layer.steps
    check_layers(kind, Outline((OutlineLayer("c", layer.kind, {name: (255, 1)}),)))
    pooling = {
        "Conv2D": "MaxPooling2D",
        "aten.conv2d": "aten.max_pool2d",
        "Conv": "MaxPool",
        "CONV_2D": "MAX_POOL_2D",
    }
    other = OutlineLayer("p", pooling.get(layer.kind, "MaxPool"), layer.steps)
    check_layers(kind, Outline((other,)))  # pooling, which the hint suggests, may have larger steps


def test_the_message_counts_further_layers_that_are_refused(tmp_path: Path) -> None:
    layers = [OutlineLayer(name, "Conv3D") for name in ("a", "b", "c")]
    assert "The same holds for 2 others, the first of them 'b'." in refusal(source_kinds.KERAS, *layers)
    assert "The same holds for 'b'." in refusal(source_kinds.KERAS, *layers[:2])
    assert "same holds" not in refusal(source_kinds.KERAS, layers[0])


def test_a_keras_layer_of_an_unknown_class_is_named(tmp_path: Path) -> None:
    path = files.keras_file(
        tmp_path / "m.keras", [files.keras_layer("Dense", "good", units=2), files.keras_layer("Mine", "own")]
    )
    with pytest.raises(
        UnsupportedModelError, match=r"Layer 'own' .*m.keras uses the class 'Mine'.* SavedModel"
    ):
        read_outline(str(path), source_kinds.KERAS)
