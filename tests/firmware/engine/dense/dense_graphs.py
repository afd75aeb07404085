"""Build graphs of one fully connected layer."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Model, Quantization
from tests.fuzz.graph_builder import GraphBuilder

_OUT = Quantization((0.4,), (-9,))


def fully_connected(
    depth: int,
    units: int,
    *,
    batches: int = 1,
    dtype: str = "int8",
    in_scale: float = 0.05,
    weight_scales: tuple[float, ...] = (0.01,),
    weight_zero: int = 0,
    out_quant: Quantization = _OUT,
    weights: np.ndarray | None = None,
    activation: int = 0,
    bias: bool = True,
    bias_dtype: str = "",
    quantized_bias_type: int = 0,
) -> Model:
    """Return a model of one FULLY_CONNECTED layer.

    ``weights`` is an array [units][depth]; None: random weights. ``weight_scales`` has one scale, or one per unit, and
    ``weight_zero`` is the zero point of the weights. With the dtype int16, ``out_quant`` is replaced by a scale that is
    200 times as fine, with the zero point 0.
    """
    b = GraphBuilder(np.random.default_rng(2))
    if dtype == "int16":
        out_quant = Quantization((out_quant.scale[0] / 200,), (0,))
    x = b.input((batches, depth), dtype, Quantization((in_scale,), (0 if dtype == "int16" else -4,)))
    if weights is None:
        weights = b.rng.integers(-128, 128, (units, depth))
    zeros = (weight_zero,) * len(weight_scales)
    inputs = [x, b.const(weights, "int8", Quantization(weight_scales, zeros))]
    if bias:
        quant = Quantization(tuple(float(np.float32(in_scale * s)) for s in weight_scales), (0,) * len(zeros))
        name = bias_dtype or ("int64" if dtype == "int16" else "int32")
        inputs.append(b.const(b.rng.integers(-5000, 5000, units), name, quant))
    y = b.tensor((batches, units), dtype, out_quant)
    b.op(
        "FULLY_CONNECTED",
        inputs,
        [y],
        "FullyConnectedOptions",
        version=11,
        fused_activation_function=activation,
        quantized_bias_type=quantized_bias_type,
    )
    return b.build()
