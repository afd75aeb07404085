"""Random FULLY_CONNECTED operators."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.cases.conv_2d import (
    bias_for,
    constant_weights,
    int4_scales,
    output_quant,
    takes_int4,
    weights_quant,
)
from tests.fuzz.graph_builder import ACTIVATIONS, GraphBuilder, f32

#: Scales with short mantissas, so that sums fall exactly halfway between two outputs.
_ROUND = (0.5, 0.25, 1.0, 0.75, 3.0, 0.125, 1.5, 6.0)


@case("FULLY_CONNECTED")
def fully_connected(b: GraphBuilder) -> None:
    rng = b.rng
    x = b.pick(("int8", "int8", "int16"))
    shape = b[x].shape
    # With ``flatten``, the layer reads the whole input as one vector. With ``keep``, the output has the dimensions of
    # the input except the last. With ``ties``, sums fall halfway between two outputs. ``computed`` weights are an input
    # of the graph instead of a constant.
    flatten = len(shape) == 1 or rng.random() < 0.3
    keep = not flatten and rng.random() < 0.5
    depth = int(np.prod(shape)) if flatten else shape[-1]
    batches = b[x].elements // depth
    units = int(rng.integers(1, 17))
    dtype = b[x].dtype
    ties = rng.random() < 0.25
    if ties and not any(x in op.outputs for op in b.ops):
        x = b.input(shape, dtype, Quantization((float(rng.choice(_ROUND)),), (b[x].zero_point,)))
    computed = rng.random() < 0.1
    wq = weights_quant(b, units, 0)
    if ties:
        wq = Quantization(tuple(float(s) for s in rng.choice(_ROUND, len(wq.scale))), wq.zero_point)
    int4 = takes_int4(b, x) and not computed and not ties and not any(wq.zero_point)
    if int4:
        wq = int4_scales(wq)
    if computed:  # per tensor, so that later operators may read the same input
        wq = Quantization(wq.scale[:1], (0,))
    if not wq.per_axis and rng.random() < 0.5 and not int4:
        wq = Quantization(wq.scale, (int(rng.integers(-128, 128)),))
    if computed:
        weights = b.input((units, depth), "int8", wq)
    else:
        largest = 3 if ties else 127
        values = rng.integers(-largest, largest + 1, (units, depth))
        weights = constant_weights(b, values, wq, int4)
    inputs = [x, weights]
    has_bias = rng.random() < 0.8
    if has_bias:
        inputs.append(bias_for(b, x, wq, units))
    elif rng.random() < 0.5:
        inputs.append(-1)
    yq = output_quant(b, dtype, x, wq, depth)
    if ties:
        product_scale = b[x].scale * float(rng.choice(_ROUND)) * 2.0 ** int(rng.integers(0, 6))
        largest_scale = max(wq.scale) * (1 if dtype == "int8" else 16)  # scaled sums stay within 32 bits
        yq = Quantization((f32(product_scale * largest_scale),), yq.zero_point)
    y = b.tensor((*shape[:-1], units) if keep else (batches, units), dtype, yq)
    activation = int(rng.choice(ACTIVATIONS))
    b.op(
        "FULLY_CONNECTED",
        inputs,
        [y],
        "FullyConnectedOptions",
        version=7 if dtype == "int16" else 4,
        keep_num_dims=keep,
        fused_activation_function=activation,
    )
