"""Build a Keras model from the description of a network. This module runs in the environment "tensorflow", where
Arenite is not installed."""

from typing import Any

from keras import Model, initializers, layers

_ACTIVATIONS = {
    "relu": lambda name: layers.ReLU(name=name),
    "relu6": lambda name: layers.ReLU(6.0, name=name),
    "sigmoid": lambda name: layers.Activation("sigmoid", name=name),
    "softmax": lambda name: layers.Activation("softmax", name=name),
}


def build(network: Any) -> Any:
    """Return the Keras model of ``network``, which is the result of ``Network.to_json()`` in
    ``arenite.models.architectures.network``."""
    input_layer = layers.Input(tuple(network["input_shape"]), name="input")
    values = {"input": input_layer}
    for layer in network["layers"]:
        x = [values[name] for name in layer["inputs"]]
        y = _operation(layer)(x if layer["kind"] == "add" else x[0])
        if layer["normalize"]:
            y = layers.BatchNormalization(momentum=0.9, name=layer["name"] + "_bn")(y)
        if layer["activation"]:
            y = _ACTIVATIONS[layer["activation"]](layer["name"] + "_act")(y)
        values[layer["name"]] = y
    outputs = [values[name] for name in network["outputs"]]
    name = f"{network['architecture']}_w{round(network['width'] * 100)}"
    return Model(input_layer, outputs[0] if len(outputs) == 1 else outputs, name=name)


def _operation(layer: Any) -> Any:
    kind, name, bias = layer["kind"], layer["name"], not layer["normalize"]
    kernel, stride, padding = tuple(layer["kernel"]), tuple(layer["stride"]), layer["padding"]
    if kind == "conv":
        initial_bias = initializers.Constant(layer["bias"])
        return layers.Conv2D(
            layer["filters"], kernel, stride, padding, use_bias=bias, bias_initializer=initial_bias, name=name
        )
    if kind == "depthwise":
        return layers.DepthwiseConv2D(kernel, stride, padding, use_bias=bias, name=name)
    if kind == "dense":
        return layers.Dense(layer["filters"], use_bias=bias, name=name)
    if kind == "reshape":
        return layers.Reshape(tuple(layer["shape"]), name=name)
    if kind == "dropout":
        return layers.Dropout(layer["rate"], name=name)
    return {"mean": layers.GlobalAveragePooling2D, "flatten": layers.Flatten, "add": layers.Add}[kind](
        name=name
    )
