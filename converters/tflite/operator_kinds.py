"""The numbers of inputs and outputs of TFLite's operators, and their options tables.

Each line of ``_KINDS`` describes one operator: name, options table (``-`` if it has none), number of inputs, number of
outputs, and the positions of inputs that may be absent (-1). A number is ``n``, ``low-high`` or ``low+``. The source is
the ``Prepare`` function of LiteRT's kernels and ``register.cc``. Operators that are not listed are not checked for
these properties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_KINDS = """
ABS - 1 1
ADD AddOptions 2 1
ARG_MAX ArgMaxOptions 2 1
ARG_MIN ArgMinOptions 2 1
ASSIGN_VARIABLE - 2 0
AVERAGE_POOL_2D Pool2DOptions 1 1
BATCH_MATMUL BatchMatMulOptions 2 1
BATCH_TO_SPACE_ND - 3 1
BROADCAST_TO - 2 1
CALL_ONCE CallOnceOptions 0 0
CAST - 1 1
CEIL - 1 1
CONCATENATION ConcatenationOptions 1+ 1
CONV_2D Conv2DOptions 2-3 1 2
COS - 1 1
CUMSUM CumsumOptions 2 1
DEPTHWISE_CONV_2D DepthwiseConv2DOptions 2-3 1 2
DEPTH_TO_SPACE DepthToSpaceOptions 1 1
DEQUANTIZE - 1 1
DIV DivOptions 2 1
ELU - 1 1
EQUAL - 2 1
EXP - 1 1
EXPAND_DIMS - 2 1
FILL - 2 1
FLOOR - 1 1
FLOOR_DIV - 2 1
FLOOR_MOD - 2 1
FULLY_CONNECTED FullyConnectedOptions 2-5 1-2 2,3,4
GATHER GatherOptions 2 1
GATHER_ND - 2 1
GELU GeluOptions 1 1
GREATER - 2 1
GREATER_EQUAL - 2 1
HARD_SWISH - 1 1
IF IfOptions 1+ 0+
L2_NORMALIZATION L2NormOptions 1 1
LEAKY_RELU LeakyReluOptions 1 1
LESS - 2 1
LESS_EQUAL - 2 1
LOG - 1 1
LOGICAL_AND - 2 1
LOGICAL_NOT - 1 1
LOGICAL_OR - 2 1
LOGISTIC - 1 1
LOG_SOFTMAX - 1 1
MAXIMUM - 2 1
MAX_POOL_2D Pool2DOptions 1 1
MEAN ReducerOptions 2 1
MINIMUM - 2 1
MIRROR_PAD MirrorPadOptions 2 1
MUL MulOptions 2 1
NEG - 1 1
NOT_EQUAL - 2 1
ONE_HOT OneHotOptions 4 1
PACK PackOptions 1+ 1
PAD - 2 1
PADV2 - 3 1
POW - 2 1
PRELU - 2 1
QUANTIZE - 1 1
READ_VARIABLE - 1 1
REDUCE_ALL ReducerOptions 2 1
REDUCE_ANY ReducerOptions 2 1
REDUCE_MAX ReducerOptions 2 1
REDUCE_MIN ReducerOptions 2 1
REDUCE_PROD ReducerOptions 2 1
RELU - 1 1
RELU6 - 1 1
RELU_0_TO_1 - 1 1
RELU_N1_TO_1 - 1 1
RESHAPE ReshapeOptions 1-2 1
RESIZE_BILINEAR ResizeBilinearOptions 2 1
RESIZE_NEAREST_NEIGHBOR ResizeNearestNeighborOptions 2 1
REVERSE_V2 - 2 1
ROUND - 1 1
RSQRT - 1 1
SELECT - 3 1
SELECT_V2 - 3 1
SHAPE ShapeOptions 1 1
SIN - 1 1
SLICE - 3 1
SOFTMAX SoftmaxOptions 1 1
SPACE_TO_BATCH_ND - 3 1
SPACE_TO_DEPTH SpaceToDepthOptions 1 1
SPLIT SplitOptions 2 1+
SPLIT_V SplitVOptions 3 1+
SQRT - 1 1
SQUARE - 1 1
SQUARED_DIFFERENCE - 2 1
SQUEEZE SqueezeOptions 1 1
STRIDED_SLICE StridedSliceOptions 4 1
SUB SubOptions 2 1
SUM ReducerOptions 2 1
SVDF SVDFOptions 5 1 3
TANH - 1 1
TILE - 2 1
TOPK_V2 - 2 2
TRANSPOSE - 2 1
TRANSPOSE_CONV TransposeConvOptions 3-4 1 3
UNIDIRECTIONAL_SEQUENCE_LSTM UnidirectionalSequenceLSTMOptions 20-24 1 1,5,9,10,11,12,16,17,20,21,22,23
UNPACK UnpackOptions 1 1+
VAR_HANDLE VarHandleOptions 0 1
WHILE WhileOptions 0+ 0+
ZEROS_LIKE - 1 1
"""

#: The upper limit that stands for "no limit" in ``low+``.
UNLIMITED = 1 << 30


@dataclass(frozen=True)
class OperatorKind:
    """The properties of one operator that the reader checks. The limits are inclusive."""

    options: str  # the name of the options table; "" if the kernel reads none
    inputs: tuple[int, int]  # lowest and highest number of inputs
    outputs: tuple[int, int]  # lowest and highest number of outputs
    optional: frozenset[int]  # positions of inputs that may be absent


def _span(text: str) -> tuple[int, int]:
    """Return the lowest and the highest number for ``n``, ``low-high`` or ``low+``."""
    if text.endswith("+"):
        return int(text[:-1]), UNLIMITED
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def _kind(fields: Sequence[str]) -> OperatorKind:
    options, inputs, outputs, *optional = fields
    absent = frozenset(int(p) for p in optional[0].split(",")) if optional else frozenset()
    return OperatorKind("" if options == "-" else options, _span(inputs), _span(outputs), absent)


OPERATOR_KINDS: dict[str, OperatorKind] = {
    line.split()[0]: _kind(line.split()[1:]) for line in _KINDS.strip().splitlines()
}
