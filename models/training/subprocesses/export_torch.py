"""Write a trained network as a PyTorch program, ``model.pt2``. This script runs in the environment "torch", where
Arenite is not installed.

Its only argument is the folder of a training: ``job.json`` has the network, and ``weights.npz`` its trained weights.
The program takes pictures in PyTorch's layout (channels first) with a batch of 1.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

_EPSILON = 1e-3  # the default of Keras's batch normalization


class Network(nn.Module):  # type: ignore[misc]
    """A PyTorch module that computes the network which ``Network.to_json()`` describes. Each batch normalization is
    folded into the weights before it."""

    def __init__(self, network: Any, weights: Any) -> None:
        super().__init__()
        self.layers, self.outputs = network["layers"], network["outputs"]
        shapes = network["shapes"]
        for layer in self.layers:
            if layer["kind"] in ("conv", "depthwise", "dense"):
                input_shape = shapes[layer["inputs"][0]]
                kernel, bias = _fold_normalization(layer, weights)
                self.register_buffer(layer["name"] + "_w", torch.tensor(_to_torch_layout(layer, kernel)))
                self.register_buffer(layer["name"] + "_b", torch.tensor(bias))
                layer["pad"] = _padding(input_shape, layer) if len(input_shape) == 3 else None

    def forward(self, x: Any) -> Any:
        values = {"input": x}
        for layer in self.layers:
            y = self._operation(layer, [values[name] for name in layer["inputs"]])
            values[layer["name"]] = _activation(layer["activation"], y)
        outputs = [values[name] for name in self.outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _operation(self, layer: Any, inputs: Any) -> Any:
        kind, x = layer["kind"], inputs[0]
        if kind in ("conv", "depthwise"):
            weight, bias = getattr(self, layer["name"] + "_w"), getattr(self, layer["name"] + "_b")
            (top, bottom), (left, right) = layer["pad"]
            padding = (top, left) if (top, left) == (bottom, right) else (0, 0)
            if padding == (0, 0) and (top, bottom, left, right) != (0, 0, 0, 0):
                x = functional.pad(x, (left, right, top, bottom))
            groups = x.shape[1] if kind == "depthwise" else 1
            return functional.conv2d(x, weight, bias, tuple(layer["stride"]), padding, groups=groups)
        if kind == "dense":
            return functional.linear(
                x, getattr(self, layer["name"] + "_w"), getattr(self, layer["name"] + "_b")
            )
        if kind == "mean":
            return x.mean((2, 3))
        if kind in ("flatten", "reshape"):
            x = x.permute(0, 2, 3, 1) if x.dim() == 4 else x  # the trained weights expect channels last
            return x.reshape(1, -1) if kind == "flatten" else x.reshape(1, *layer["shape"])
        if kind == "add":
            return inputs[0] + inputs[1]
        return x  # a dropout does nothing outside training


def _activation(name: Any, y: Any) -> Any:
    if name == "softmax":
        return functional.softmax(y, -1)
    return {"": lambda v: v, "relu": functional.relu, "relu6": functional.relu6, "sigmoid": torch.sigmoid}[
        name
    ](y)


def _fold_normalization(layer: Any, weights: Any) -> Any:
    """Return the kernel and the bias of ``layer``, with the batch normalization folded into them."""
    kernel = weights[layer["name"] + "/kernel"].astype(np.float64)
    if not layer["normalize"]:
        return kernel.astype(np.float32), weights[layer["name"] + "/bias"]
    gamma, beta, mean, variance = (
        weights[f"{layer['name']}/{k}"].astype(np.float64) for k in ("gamma", "beta", "mean", "variance")
    )
    factor = gamma / np.sqrt(variance + _EPSILON)
    scaled = kernel * (factor[:, None] if layer["kind"] == "depthwise" else factor)
    return scaled.astype(np.float32), (beta - mean * factor).astype(np.float32)


def _to_torch_layout(layer: Any, kernel: Any) -> Any:
    """Return a kernel of Keras in PyTorch's layout: (height, width, in, out) becomes (out, in, height, width), and
    (in, out) becomes (out, in)."""
    axes = {"conv": (3, 2, 0, 1), "depthwise": (2, 3, 0, 1), "dense": (1, 0)}[layer["kind"]]
    return np.ascontiguousarray(kernel.transpose(axes))


def _padding(shape: Any, layer: Any) -> Any:
    """Return the rows (top, bottom) and the columns (left, right) that TensorFlow's "same" padding adds to an input of
    ``shape``."""
    padding = []
    for size, kernel, stride in zip(shape, layer["kernel"], layer["stride"], strict=False):
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        padding.append((total // 2, total - total // 2))
    return padding


def main(folder: Any) -> None:
    network = json.loads((folder / "job.json").read_text("utf-8"))["network"]
    with np.load(folder / "weights.npz") as file:
        model = Network(network, dict(file)).eval()
    shape = tuple(network["input_shape"])
    shape = (shape[2], shape[0], shape[1]) if len(shape) == 3 else shape
    program = torch.export.export(model, (torch.zeros(1, *shape),))
    torch.export.save(program, folder / "model.pt2")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
