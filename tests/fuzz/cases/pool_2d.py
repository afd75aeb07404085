"""Random AVERAGE_POOL_2D and MAX_POOL_2D operators."""

from __future__ import annotations

from tests.fuzz.cases import case
from tests.fuzz.cases.conv_2d import window
from tests.fuzz.graph_builder import ACTIVATIONS, GraphBuilder


def pool(b: GraphBuilder, op_name: str) -> None:
    """Append the pooling operator ``op_name`` with a random window."""
    x = b.pick(("int8", "int8", "int16"), 4)
    n, h, w, c = b[x].shape
    shape = window(b, h, w, dilation=False)
    # Converters keep the scale, because a pool does not rescale.
    y = b.tensor((n, shape["out_h"], shape["out_w"], c), b[x].dtype, b[x].quant)
    activation = int(b.rng.choice(ACTIVATIONS))
    b.op(
        op_name,
        [x],
        [y],
        "Pool2DOptions",
        version=3 if b[x].dtype == "int16" else 2,
        padding=shape["padding"],
        stride_h=shape["stride_h"],
        stride_w=shape["stride_w"],
        filter_height=shape["k_h"],
        filter_width=shape["k_w"],
        fused_activation_function=activation,
    )


@case("AVERAGE_POOL_2D")
def average_pool_2d(b: GraphBuilder) -> None:
    pool(b, "AVERAGE_POOL_2D")


@case("MAX_POOL_2D")
def max_pool_2d(b: GraphBuilder) -> None:
    pool(b, "MAX_POOL_2D")
