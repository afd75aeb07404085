"""Read the outline of a Keras model (its inputs, outputs and layers) from the JSON that describes the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arenite.converters.importers.outline.outline import (
    Outline,
    OutlineLayer,
    OutlineTensor,
    Shape,
    integer,
    value_count,
)
from arenite.converters.importers.subprocesses.keras_classes import ClassRefused, check_classes
from arenite.errors import UnsupportedModelError

#: Layers whose output has the shape of their input.
_SAME_SHAPE = frozenset(
    {"Activation", "Softmax", "ReLU", "LeakyReLU", "ELU", "PReLU", "Dropout", "BatchNormalization",
     "LayerNormalization", "GaussianNoise", "ActivityRegularization"}
)  # fmt: skip

#: Layers that are not loaded from files, and for which there is a special error.
_REFUSED_WITH_CAUSE = ("Lambda", "StringLookup", "IntegerLookup", "TextVectorization")

#: The number of matrices of a recurrent layer.
_GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}
_RECURRENT = ("LSTM", "GRU", "SimpleRNN", "RNN")

#: The keys of a layer's configuration with a step in pixels.
_STEPS = ("strides", "dilation_rate")
_MODELS = ("Functional", "Sequential", "Model")


def read_keras(description: dict[str, Any]) -> Outline:
    """Return the outline of the model that ``description``, the JSON object in a Keras file, describes.

    Raises ``KeyError``, ``TypeError``, ``ValueError``, ``AttributeError`` or ``IndexError`` if ``description`` has
    another form than expected.
    """
    config = description["config"]
    layers = {_name(layer): layer for layer in config["layers"]}
    inputs = _inputs(description, config, layers)
    outputs = _outputs(description, config, layers)
    weights = _weights(config["layers"])
    return Outline(
        tuple(part for layer in config["layers"] for part in _layers(layer)),
        inputs,
        outputs,
        None if weights is None else value_count([weights]),
        () if inputs is None else (False,) * len(inputs),
    )


def check_keras_classes(source: str, description: dict[str, Any]) -> None:
    """Raise ``UnsupportedModelError`` for the first layer whose class is not one of Keras, and for Lambda layers.

    Raises the errors of ``read_keras`` if ``description`` has another form than expected.
    """
    for layer in description["config"]["layers"]:
        try:
            check_classes(layer)
        except ClassRefused as refused:
            if refused.name in _REFUSED_WITH_CAUSE:
                continue  # another check says why the layer is refused
            raise UnsupportedModelError(
                f"Layer '{_name(layer)}' of {source} uses the class '{refused.name[:80]}', which is not among the "
                "Keras classes that are loaded from files.",
                "Save the model with model.export() as a SavedModel, which needs no Python code.",
            ) from refused


def _name(layer: dict[str, Any]) -> str:
    return str(layer["config"].get("name") or layer.get("name", ""))


def _layers(layer: dict[str, Any]) -> list[OutlineLayer]:
    """Return ``layer`` and the layers inside of it, if it is a model or a wrapper."""
    config = layer["config"]
    inner = config.get("layers") or [config[key] for key in ("layer", "backward_layer") if config.get(key)]
    steps = {key: _numbers(config[key]) for key in _STEPS if key in config}
    kind = str(layer["class_name"]).rpartition(">")[2]
    outline = OutlineLayer(_name(layer), kind, steps, time_steps=_time_steps(layer, kind))
    return [outline, *(part for each in inner if isinstance(each, dict) for part in _layers(each))]


def _time_steps(layer: dict[str, Any], kind: str) -> int:
    """Return the number of steps over which a recurrent layer loops. Return 0 if it is not known, and for other
    layers."""
    config = layer["config"]
    recurrent = config["layer"]["class_name"] if kind == "Bidirectional" else kind
    shape: Sequence[Any] = (layer.get("build_config") or {}).get("input_shape") or ()
    if recurrent not in _RECURRENT or config.get("unroll") or len(shape) < 2:
        return 0
    return int(shape[1] or 0)


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(
        int(number) for number in (value if isinstance(value, list) else [value]) if number is not None
    )


def _inputs(
    description: dict[str, Any], config: dict[str, Any], layers: dict[str, Any]
) -> tuple[OutlineTensor, ...] | None:
    """Return the inputs in their order, or None if one is not known."""
    if description["class_name"] == "Sequential":
        first = config["layers"][0]
        shape = _batch_shape(first) or config.get("build_input_shape")
        return None if shape is None else (OutlineTensor(_name(first), _shape(shape)),)
    names = _ends(config.get("input_layers"))
    shapes = None if names is None else [_batch_shape(layers[name]) for name in names]
    if names is None or shapes is None or None in shapes:
        return None
    return tuple(OutlineTensor(name, _shape(shape)) for name, shape in zip(names, shapes, strict=True))


def _batch_shape(layer: dict[str, Any]) -> Any:
    return layer["config"].get("batch_shape") or layer["config"].get("batch_input_shape")


def _shape(value: Any) -> Shape:
    return tuple(None if size is None else int(size) for size in value)


def _ends(value: Any) -> list[str] | None:
    """Return the names of the layers in ``input_layers`` or ``output_layers``: one entry such as ["name", 0, 0], a list
    of entries, or a table of entries, which Keras sorts by name. Return None for another structure."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    entries = [value] if value and isinstance(value[0], str) else value
    if not isinstance(entries, list) or not all(
        isinstance(e, list) and isinstance(e[0], str) for e in entries
    ):
        return None
    return [str(entry[0]) for entry in entries]


def _outputs(
    description: dict[str, Any], config: dict[str, Any], layers: dict[str, Any]
) -> tuple[OutlineTensor, ...] | None:
    """Return the outputs. Only the last dimension of their shapes is correct. Return None if one is not known."""
    if description["class_name"] == "Sequential":
        order = list(config["layers"])
        while order and order[-1]["class_name"] in _SAME_SHAPE:
            order.pop()
        if not order or order[-1]["class_name"] != "Dense":
            return None
        return (OutlineTensor("", (int(order[-1]["config"]["units"]),)),)
    names = _ends(config.get("output_layers"))
    outputs = []
    for name in names or ():
        layer, visited = layers[name], {name}
        while layer["class_name"] in _SAME_SHAPE:
            previous = _previous(layer)
            if previous not in layers or previous in visited:
                return None
            visited.add(previous)
            layer = layers[previous]
        if layer["class_name"] != "Dense":
            return None
        outputs.append(OutlineTensor(name, (int(layer["config"]["units"]),)))
    return tuple(outputs) or None


def _previous(layer: dict[str, Any]) -> str:
    """Return the name of the layer whose output ``layer`` reads, or ""."""
    entry = (layer.get("inbound_nodes") or [None])[0]
    if isinstance(entry, dict):  # Keras 3
        history = entry["args"][0]["config"]["keras_history"] if isinstance(entry["args"][0], dict) else [""]
        return str(history[0])
    return str(entry[0][0]) if entry else ""  # Keras 2


def _weights(layers: list[dict[str, Any]]) -> int | None:
    """Return the number of weights after the normalization layers are merged into others, or None if a layer's number
    is not known."""
    total = 0
    for layer in layers:
        kind, config = layer["class_name"], layer["config"]
        shape = (layer.get("build_config") or {}).get("input_shape")
        if kind in _MODELS:
            inner = _weights(config["layers"])
            if inner is None:
                return None
            total += inner
        elif kind == "Embedding":
            total += integer(config["input_dim"]) * integer(config["output_dim"])
        elif kind in ("Dense", "Conv1D", "Conv2D", "DepthwiseConv2D"):
            if not shape or config.get("data_format") == "channels_first":
                return None
            area = 1
            for size in _numbers(config.get("kernel_size", [])):
                area *= size
            inputs = integer(shape[-1])
            channels = inputs // integer(config.get("groups") or 1)
            filters = integer(config.get("depth_multiplier", 1)) if kind == "DepthwiseConv2D" else 0
            outputs = inputs * filters or integer(config.get("filters") or config["units"])
            per_output = area * (1 if kind == "DepthwiseConv2D" else channels)
            total += outputs * (per_output + bool(config.get("use_bias", True)))
        elif kind in _GATES and shape:
            units, gates = integer(config["units"]), _GATES[kind]
            biases = 2 if kind == "GRU" and config.get("reset_after", True) else 1
            total += (
                gates * units * (integer(shape[-1]) + units + biases * bool(config.get("use_bias", True)))
            )
        elif kind not in _SAME_SHAPE - {"PReLU", "LayerNormalization"} and kind not in _WITHOUT_WEIGHTS:
            return None
    return total


_WITHOUT_WEIGHTS = frozenset(
    {"InputLayer", "Flatten", "Reshape", "Permute", "Concatenate", "Add", "Multiply", "Subtract", "Average", "Maximum",
     "Minimum", "MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D", "GlobalAveragePooling1D",
     "GlobalAveragePooling2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "ZeroPadding1D", "ZeroPadding2D",
     "Cropping1D", "Cropping2D", "UpSampling1D", "UpSampling2D", "Rescaling", "SpatialDropout1D", "SpatialDropout2D"}
)  # fmt: skip
