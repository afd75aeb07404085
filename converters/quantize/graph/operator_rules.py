"""The quantization rules of each operator: TFLite's 8-bit and 16x8 specification as a table.

Kinds:
    weights  symmetric constant weights; the bias is int32 (int64 for int16 activations) with scale input * weights
    same     moves or selects values of one input: the outputs have the quantization of the input
    join     moves or selects values of several inputs: all inputs have the quantization of the output
    compare  compares inputs, which have the same quantization; the output is bool
    read     the input has any quantization; the output holds indices
    free     the output has its own quantization
    fixed    the kernel requires a certain quantization of the output (``FIXED_QUANTIZATION``)
    lstm     see ``lstm.py``
    state    reads or assigns a resource variable: all of its operators have one type and one quantization

A line of the table is an operator, its kind, and the numbers of bits of the activations (8 or 16) for which LiteRT has
an integer kernel. LiteRT has no integer kernel for an operator that is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.graph.model import Quantization

_TABLE = """
CONV_2D weights 8 16
DEPTHWISE_CONV_2D weights 8 16
FULLY_CONNECTED weights 8 16
TRANSPOSE_CONV weights 8 16

RESHAPE same 8 16
SQUEEZE same 8 16
EXPAND_DIMS same 8 16
TRANSPOSE same 8 16
SLICE same 8 16
STRIDED_SLICE same 8 16
GATHER same 8 16
GATHER_ND same 8 16
TILE same 8 16
SPLIT same 8 16
SPLIT_V same 8 16
UNPACK same 8 16
REVERSE_V2 same 8 16
BATCH_TO_SPACE_ND same 8 16
SPACE_TO_BATCH_ND same 8 16
DEPTH_TO_SPACE same 8
SPACE_TO_DEPTH same 8
BROADCAST_TO same 8 16
MIRROR_PAD same 8 16
PAD same 8 16
MAX_POOL_2D same 8 16
AVERAGE_POOL_2D same 8 16
RESIZE_NEAREST_NEIGHBOR same 8 16
RESIZE_BILINEAR same 8 16
REDUCE_MAX same 8 16
REDUCE_MIN same 8 16
TOPK_V2 same 8 16

CONCATENATION join 8 16
PACK join 8 16
PADV2 join 8 16
MAXIMUM join 8 16
MINIMUM join 8 16
SELECT join 8 16
SELECT_V2 join 8 16

EQUAL compare 8 16
NOT_EQUAL compare 8 16
GREATER compare 8 16
GREATER_EQUAL compare 8 16
LESS compare 8 16
LESS_EQUAL compare 8 16
ARG_MAX read 8
ARG_MIN read 8

ADD free 8 16
SUB free 8 16
MUL free 8 16
DIV free 8 16
SQUARED_DIFFERENCE free 8
BATCH_MATMUL free 8 16
MEAN free 8 16
ABS free 8 16
RELU free 8 16
RELU6 free 8 16
RELU_N1_TO_1 free 8
RELU_0_TO_1 free 8
LEAKY_RELU free 8 16
PRELU free 8 16
ELU free 8
GELU free 8 16
HARD_SWISH free 8
EXP free 8 16
LOG free 8 16
RSQRT free 8 16
SQRT free 8 16

SOFTMAX fixed 8 16
LOGISTIC fixed 8 16
TANH fixed 8 16
LOG_SOFTMAX fixed 8
L2_NORMALIZATION fixed 8

UNIDIRECTIONAL_SEQUENCE_LSTM lstm 8

READ_VARIABLE state 8 16
ASSIGN_VARIABLE state 8 16
"""

#: The quantization of the output that the kernels require, by operator and type.
FIXED_QUANTIZATION: dict[tuple[str, str], Quantization] = {
    ("SOFTMAX", "int8"): Quantization((1 / 256,), (-128,)),
    ("LOGISTIC", "int8"): Quantization((1 / 256,), (-128,)),
    ("TANH", "int8"): Quantization((1 / 128,), (0,)),
    ("L2_NORMALIZATION", "int8"): Quantization((1 / 128,), (0,)),
    ("LOG_SOFTMAX", "int8"): Quantization((16 / 256,), (127,)),
    ("SOFTMAX", "int16"): Quantization((1 / 32768,), (0,)),
    ("LOGISTIC", "int16"): Quantization((1 / 32768,), (0,)),
    ("TANH", "int16"): Quantization((1 / 32768,), (0,)),
}

#: The inputs that stay int8 if activations are int16: (operator, position).
ALWAYS_INT8 = frozenset({("PRELU", 1)})


@dataclass(frozen=True)
class WeightsRule:
    """The positions of an operator's activations (``value``), weights and bias, and the axis of the weights' output
    channels."""

    value: int
    weights: int
    bias: int
    axis: int
    #: Types of activations for which LiteRT's reference kernel accepts int4 weights.
    int4: tuple[str, ...] = ()
    hybrid: bool = False  # whether LiteRT accepts int8 weights with float32 activations


WEIGHTS: dict[str, WeightsRule] = {
    "CONV_2D": WeightsRule(0, 1, 2, 0, ("int8",), True),
    "DEPTHWISE_CONV_2D": WeightsRule(0, 1, 2, 3, ("int8",), True),
    "FULLY_CONNECTED": WeightsRule(0, 1, 2, 0, ("int8",), True),
    "TRANSPOSE_CONV": WeightsRule(2, 1, 3, 0),
}


@dataclass(frozen=True)
class OperatorRule:
    """The kind of an operator (see above) and the types of activations that its integer kernels support."""

    kind: str
    types: tuple[str, ...]  # types of activations


RULES: dict[str, OperatorRule] = {
    name: OperatorRule(kind, tuple(f"int{bits}" for bits in types))
    for name, kind, *types in (line.split() for line in _TABLE.splitlines() if line.strip())
}

#: The first operator versions with integer kernels, from LiteRT's op_version.cc: (int8, int16, int4 weights).
VERSIONS: dict[str, tuple[int, int, int]] = {
    "CONV_2D": (3, 4, 7),
    "DEPTHWISE_CONV_2D": (3, 5, 6),
    "FULLY_CONNECTED": (4, 7, 10),
    "TRANSPOSE_CONV": (2, 3, 2),
    "ADD": (2, 4, 2),
    "SUB": (2, 5, 2),
    "MUL": (2, 4, 2),
    "DIV": (2, 2, 2),
    "AVERAGE_POOL_2D": (2, 3, 2),
    "MAX_POOL_2D": (2, 3, 2),
    "SOFTMAX": (2, 3, 2),
    "LOGISTIC": (2, 3, 2),
    "TANH": (2, 3, 2),
    "CONCATENATION": (2, 3, 2),
    "MEAN": (2, 3, 2),
    "PAD": (2, 3, 2),
    "PADV2": (2, 3, 2),
    "LEAKY_RELU": (2, 2, 2),
    "MAXIMUM": (2, 3, 2),
    "MINIMUM": (2, 3, 2),
    "STRIDED_SLICE": (2, 4, 2),
    "TRANSPOSE": (2, 4, 2),
    "SLICE": (2, 4, 2),
    "RESIZE_BILINEAR": (3, 4, 3),
    "RESIZE_NEAREST_NEIGHBOR": (3, 4, 3),
    "BATCH_MATMUL": (2, 3, 2),
    "QUANTIZE": (2, 3, 2),
    "DEQUANTIZE": (2, 3, 6),
}


def version(name: str, dtype: str, weights: str, current: int) -> int:
    """Return the version of an integer operator, which is at least ``current``, its version in the float model.
    ``dtype`` is the type of the activations, ``weights`` the type of the weights."""
    low8, low16, low4 = VERSIONS.get(name, (1, 1, 1))
    return max(current, low4 if weights == "int4" else low16 if dtype == "int16" else low8)
