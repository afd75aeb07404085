"""Small dense networks for scripts that train with NumPy alone: an optimizer, and the float TFLite model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor

_OPTIONS = {"weights_format": 0, "keep_num_dims": False, "asymmetric_quantize_inputs": False}


class Adam:
    """The optimizer Adam (D. Kingma and J. Ba, 2015) for the arrays ``parts``, which it changes in place."""

    def __init__(self, parts: Sequence[np.ndarray], rate: float) -> None:
        self.rate = rate
        self._parts, self._step = parts, 0
        self._moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]

    def update(self, slopes: Sequence[np.ndarray]) -> None:
        """Change each part against its slope, an array of the same shape."""
        self._step += 1
        for part, slope, (mean, square) in zip(self._parts, slopes, self._moments, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            part -= (
                self.rate
                * (mean / (1 - 0.9**self._step))
                / (np.sqrt(square / (1 - 0.999**self._step)) + 1e-8)
            )


def dense_model(layers: Sequence[np.ndarray], *, softmax: bool = False) -> Model:
    """Return a float model of dense layers, for inputs of shape [1, values].

    ``layers`` has the weights [outputs, inputs] and the bias [outputs] of each layer, one after the other. Each layer
    but the last ends with a ReLU. With ``softmax``, the outputs are probabilities.
    """
    tensors: list[Tensor] = []
    ops: list[Op] = []

    def tensor(name: str, shape: tuple[int, ...], data: np.ndarray | None = None) -> int:
        tensors.append(Tensor(len(tensors), name, shape, "float32", None, data))
        return len(tensors) - 1

    x = first = tensor("features", (1, layers[0].shape[1]))
    count = len(layers) // 2
    for k in range(count):
        weights, bias = (part.astype(np.float32) for part in layers[2 * k : 2 * k + 2])
        inputs = (
            x,
            tensor(f"weights_{k}", weights.shape, weights),
            tensor(f"bias_{k}", bias.shape, bias),
        )
        x = tensor(f"values_{k}", (1, len(bias)))
        options = {**_OPTIONS, "fused_activation_function": int(k < count - 1)}
        ops.append(Op(k, "FULLY_CONNECTED", inputs, (x,), options, "FullyConnectedOptions", 1))
    if softmax:
        logits, x = x, tensor("scores", tensors[x].shape)
        ops.append(Op(count, "SOFTMAX", (logits,), (x,), {"beta": 1.0}, "SoftmaxOptions", 1))
    return Model((Subgraph("main", tuple(tensors), tuple(ops), (first,), (x,)),))
