"""Write an untrained network as a float32 flatbuffer with random weights.

The flatbuffer has the same operators as the trained Keras model after TensorFlow's conversion. So after quantization,
it needs the same memory and instructions as the trained model. The only difference: training can make channels
constant, which are then removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Op, Signature, Subgraph, Tensor
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.models.architectures.network import INPUT, Layer, Network

#: The value of ActivationFunctionType in the TFLite schema for each activation. Softmax and sigmoid are separate
#: operators, so the layer before them has none (0).
_FUSED = {"": 0, "relu": 1, "relu6": 3, "softmax": 0, "sigmoid": 0}
_SAME_PADDING = 0  # Padding in the TFLite schema


def random_model(network: Network, seed: int = 0) -> bytes:
    """Return the flatbuffer of ``network`` for batch 1, with weights from ``numpy.random.default_rng(seed)``."""
    return to_flatbuffer(_ModelBuilder(network, seed).model())


class _ModelBuilder:
    def __init__(self, network: Network, seed: int) -> None:
        self._network = network
        self._random = np.random.default_rng(seed)
        self._tensors: list[Tensor] = []
        self._ops: list[Op] = []
        self._values: dict[str, int] = {}
        self._shapes = {name: (1, *shape) for name, shape in network.shapes().items()}

    def model(self) -> Model:
        network = self._network
        self._values[INPUT] = self._tensor("input", self._shapes[INPUT])
        for layer in network.layers:
            output = self._layer(layer, [self._values[x] for x in layer.inputs])
            self._values[layer.name] = self._activation(layer, output)
        outputs = [self._values[name] for name in network.outputs]
        graph = Subgraph(
            "main", tuple(self._tensors), tuple(self._ops), (self._values[INPUT],), tuple(outputs)
        )
        named_outputs = tuple((f"output_{i}", index) for i, index in enumerate(outputs))
        return Model((graph,), signatures=(Signature("serving_default", 0, (("input", 0),), named_outputs),))

    def _layer(self, layer: Layer, inputs: list[int]) -> int:
        x = inputs[0]
        shape = self._tensors[x].shape
        fused_options = {"fused_activation_function": _FUSED[layer.activation]}
        if layer.kind in ("conv", "depthwise"):
            return self._convolution(layer, x, shape, fused_options)
        if layer.kind == "dense":
            weights = self._weights(layer, (layer.filters, shape[-1]), shape[-1])
            options = fused_options | {
                "weights_format": 0,
                "keep_num_dims": False,
                "asymmetric_quantize_inputs": False,
            }
            return self._op(
                "FULLY_CONNECTED", [x, *weights], self._output_tensor(layer), "FullyConnectedOptions", options
            )
        if layer.kind == "add":
            options = fused_options | {"pot_scale_int16": True}
            return self._op("ADD", inputs, self._output_tensor(layer), "AddOptions", options)
        if layer.kind == "mean":
            axes = self._constant(layer.name + "/axes", np.array([1, 2], np.int32))
            return self._op(
                "MEAN", [x, axes], self._output_tensor(layer), "ReducerOptions", {"keep_dims": False}
            )
        if layer.kind in ("flatten", "reshape"):
            new_shape = self._shapes[layer.name]
            shape_tensor = self._constant(layer.name + "/shape", np.array(new_shape, np.int32))
            return self._op(
                "RESHAPE",
                [x, shape_tensor],
                self._output_tensor(layer),
                "ReshapeOptions",
                {"new_shape": new_shape},
            )
        return x  # a dropout does nothing outside training

    def _convolution(
        self, layer: Layer, x: int, shape: tuple[int, ...], fused_options: Mapping[str, int]
    ) -> int:
        (kh, kw), (sh, sw) = layer.kernel, layer.stride
        options: dict[str, Any] = {
            **fused_options,
            "padding": _SAME_PADDING,
            "stride_h": sh,
            "stride_w": sw,
            "dilation_h_factor": 1,
            "dilation_w_factor": 1,
        }
        if layer.kind == "conv":
            weights = self._weights(layer, (layer.filters, kh, kw, shape[3]), kh * kw * shape[3])
            return self._op("CONV_2D", [x, *weights], self._output_tensor(layer), "Conv2DOptions", options)
        weights = self._weights(layer, (1, kh, kw, shape[3]), kh * kw)
        options["depth_multiplier"] = 1
        return self._op(
            "DEPTHWISE_CONV_2D", [x, *weights], self._output_tensor(layer), "DepthwiseConv2DOptions", options
        )

    def _activation(self, layer: Layer, x: int) -> int:
        """Add the activation of ``layer`` if it is a separate operator. Return the index of its output, or ``x``."""
        if layer.activation == "softmax":
            output = self._tensor(layer.name + "/softmax", self._tensors[x].shape)
            return self._op("SOFTMAX", [x], output, "SoftmaxOptions", {"beta": 1.0})
        if layer.activation == "sigmoid":
            return self._op(
                "LOGISTIC", [x], self._tensor(layer.name + "/sigmoid", self._tensors[x].shape), "", {}
            )
        return x

    def _weights(self, layer: Layer, shape: tuple[int, ...], inputs: int) -> list[int]:
        """Add random weights that keep the variance of values (He et al., 2015), and a random bias. Return the
        indices of both tensors. ``inputs`` is the number of inputs of one output value."""
        values = self._random.normal(0.0, sqrt(2 / inputs), shape).astype(np.float32)
        channels = shape[3] if layer.kind == "depthwise" else shape[0]
        bias = self._random.normal(0.0, 0.05, channels).astype(np.float32)
        return [self._constant(layer.name + "/weights", values), self._constant(layer.name + "/bias", bias)]

    def _constant(self, name: str, values: np.ndarray) -> int:
        return self._add(Tensor(len(self._tensors), name, values.shape, str(values.dtype), data=values))

    def _output_tensor(self, layer: Layer) -> int:
        """Add the output tensor of a layer, and return its index."""
        return self._tensor(layer.name, self._shapes[layer.name])

    def _tensor(self, name: str, shape: tuple[int, ...]) -> int:
        return self._add(Tensor(len(self._tensors), name, tuple(shape), "float32"))

    def _add(self, tensor: Tensor) -> int:
        self._tensors.append(tensor)
        return tensor.index

    def _op(
        self, name: str, inputs: list[int], output: int, options_type: str, options: Mapping[str, Any]
    ) -> int:
        self._ops.append(Op(len(self._ops), name, tuple(inputs), (output,), options, options_type))
        return output
