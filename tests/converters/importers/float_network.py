"""Networks of one float layer whose weights are stored as float32, float16 or int8."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from tests.converters.small_models import Net


def float_net(stored: str = "float32") -> Model:
    """Return a fully connected layer with weights in float32, float16 before a DEQUANTIZE, or int8 (dynamic range)."""
    n = Net(4)
    x = n.tensor((1, 6), "float32", quant=None)
    n.inputs.append(x)
    values = n.rng.standard_normal((3, 6)).astype(np.float32)
    if stored == "int8":
        scale = tuple(float(np.float32(s)) for s in np.abs(values).max(1) / 127)
        q = np.round(values / np.array(scale)[:, None])
        w = n.tensor((3, 6), "int8", data=q, quant=Quantization(scale, (0, 0, 0), 0))
    elif stored == "float16":
        half = n.tensor((3, 6), "float16", data=values, quant=None)
        w = n.op("DEQUANTIZE", [half], (3, 6), "float32", quant=None)
    else:
        w = n.tensor((3, 6), "float32", data=values, quant=None)
    b = n.tensor((3,), "float32", data=[0.1, -0.2, 0.3], quant=None)
    y = n.op("FULLY_CONNECTED", [x, w, b], (1, 3), "float32", options="FullyConnectedOptions", quant=None)
    return n.model([y])
