"""TFLite's integer arithmetic of scales, under the name by which the lowerings know it."""

from arenite.converters.graph.quantized_arithmetic import (
    INTEGER_RANGE,
    NONE,
    RELU,
    RELU6,
    RELU_N1_TO_1,
    SAME,
    VALID,
    activation_range,
    conv_padding,
    quantize_multiplier,
    round_half_away,
)

__all__ = [
    "INTEGER_RANGE",
    "NONE",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "SAME",
    "VALID",
    "activation_range",
    "conv_padding",
    "quantize_multiplier",
    "round_half_away",
]
