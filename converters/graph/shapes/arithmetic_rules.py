"""Shape rules of operators that compute: elementwise operators, convolutions, pooling, matrix products, reductions and
recurrent layers.

Each rule returns the shapes of the operator's outputs. Source: the ``Prepare`` function of each of LiteRT's kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.shapes.rule import (
    Shape,
    ShapeContext,
    axis_of,
    broadcast,
    elements,
    require,
    require_rank,
    rule,
    single_value,
)

_SAME_PADDING = 0


@rule(
    "ABS", "CAST", "CEIL", "COS", "CUMSUM", "DEQUANTIZE", "ELU", "EXP", "FLOOR", "GELU", "HARD_SWISH",
    "L2_NORMALIZATION", "LEAKY_RELU", "LOG", "LOGICAL_NOT", "LOGISTIC", "LOG_SOFTMAX", "NEG", "QUANTIZE",
    "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "REVERSE_V2", "ROUND", "RSQRT", "SIGN", "SIN",
    "SOFTMAX", "SQRT", "SQUARE", "TANH", "ZEROS_LIKE",
)  # fmt: skip
def unary(s: ShapeContext) -> Sequence[Shape]:
    return [s.shape(0)]


@rule(
    "ADD", "DIV", "EQUAL", "FLOOR_DIV", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND",
    "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL", "NOT_EQUAL", "POW", "SQUARED_DIFFERENCE", "SUB",
)  # fmt: skip
def binary(s: ShapeContext) -> Sequence[Shape]:
    return [broadcast(s.shape(0), s.shape(1))]


@rule("PRELU")
def prelu(s: ShapeContext) -> Sequence[Shape]:
    out = broadcast(s.shape(0), s.shape(1))
    require(out == s.shape(0), f"alpha {list(s.shape(1))} is larger than the input {list(s.shape(0))}")
    return [out]


@rule("SELECT_V2")
def select_v2(s: ShapeContext) -> Sequence[Shape]:
    return [broadcast(s.shape(0), s.shape(1), s.shape(2))]


@rule("SELECT")
def select(s: ShapeContext) -> Sequence[Shape]:
    condition, x, y = s.shape(0), s.shape(1), s.shape(2)
    require(x == y, f"inputs {list(x)} and {list(y)} differ")
    fits_input = condition == x or (elements(condition) == 1 and len(condition) <= 1)
    fits_rows = len(condition) == 1 and len(x) > 0 and condition[0] == x[0]
    require(
        fits_input or fits_rows,
        f"the condition {list(condition)} fits neither the input {list(x)} nor its rows",
    )
    return [x]


def _steps(size: int, window: int, stride: int, dilation: int, padding: int) -> int:
    """Return the number of window positions along one dimension (``ComputeOutSize`` of LiteRT's padding.h)."""
    if padding == _SAME_PADDING:
        return (size + stride - 1) // stride
    reach = (window - 1) * dilation + 1
    require(reach <= size, f"a window of {reach} does not fit into {size} without padding")
    return (size + stride - reach) // stride


def _slide(s: ShapeContext, height: int, width: int, *, dilated: bool) -> tuple[int, int]:
    """Return (output height, output width) of a window of ``height`` x ``width`` that slides over input 0.

    ``dilated`` says whether the operator has dilation factors.
    """
    o = s.option
    x = s.shape(0)
    dilation = (o("dilation_h_factor", 1), o("dilation_w_factor", 1)) if dilated else (1, 1)
    require(min(height, width, *x[1:3]) > 0, f"the input {list(x)} or the window {height}x{width} is empty")
    return (
        _steps(x[1], height, o("stride_h"), dilation[0], o("padding")),
        _steps(x[2], width, o("stride_w"), dilation[1], o("padding")),
    )


def _check_bias(s: ShapeContext, position: int, count: int) -> None:
    """Raise ``ShapeProblem`` if there is a bias at input ``position`` that does not have ``count`` values."""
    if s.has_input(position):
        bias = s.shape(position)
        require(
            elements(bias) == count,
            f"the bias {list(bias)} does not have one value per output channel ({count})",
        )


@rule("CONV_2D")
def conv_2d(s: ShapeContext) -> Sequence[Shape]:
    x, w = s.shape(0), s.shape(1)
    require_rank(x, 4, "the input")
    require_rank(w, 4, "the weights")
    require(w[3] > 0 and x[3] % w[3] == 0, f"{x[3]} input channels are not a multiple of the weights' {w[3]}")
    groups = x[3] // w[3]
    require(groups > 0 and w[0] % groups == 0, f"{w[0]} output channels do not divide into {groups} groups")
    _check_bias(s, 2, w[0])
    return [(x[0], *_slide(s, w[1], w[2], dilated=True), w[0])]


@rule("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(s: ShapeContext) -> Sequence[Shape]:
    x, w = s.shape(0), s.shape(1)
    require_rank(x, 4, "the input")
    require_rank(w, 4, "the weights")
    require(w[0] == 1, f"the weights {list(w)} do not begin with 1")
    require(
        x[3] > 0 and w[3] > 0 and w[3] % x[3] == 0,
        f"{w[3]} output channels are not a multiple of the input's {x[3]}",
    )
    _check_bias(s, 2, w[3])
    return [(x[0], *_slide(s, w[1], w[2], dilated=True), w[3])]


@rule("TRANSPOSE_CONV")
def transpose_conv(s: ShapeContext) -> Sequence[Shape]:
    w, x = s.shape(1), s.shape(2)
    require_rank(x, 4, "the input")
    require_rank(w, 4, "the weights")
    require(x[3] == w[3], f"the input has {x[3]} channels, the weights {w[3]}")
    out = tuple(s.ints(0))
    require_rank(out, 4, "the output shape")
    require(
        min(out) > 0 and out[0] == x[0] and out[3] == w[0],
        f"output shape {list(out)} does not fit the inputs",
    )
    steps = (
        _steps(out[1], w[1], s.option("stride_h"), 1, s.option("padding")),
        _steps(out[2], w[2], s.option("stride_w"), 1, s.option("padding")),
    )
    require(
        steps == x[1:3], f"the output shape {list(out)} needs an input of {list(steps)}, not {list(x[1:3])}"
    )
    _check_bias(s, 3, w[0])
    return [out]


@rule("AVERAGE_POOL_2D", "MAX_POOL_2D")
def pool_2d(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    require_rank(x, 4, "the input")
    return [(x[0], *_slide(s, s.option("filter_height"), s.option("filter_width"), dilated=False), x[3])]


@rule("FULLY_CONNECTED")
def fully_connected(s: ShapeContext) -> Sequence[Shape]:
    x, w = s.shape(0), s.shape(1)
    require_rank(w, 2, "the weights")
    units, depth = w
    require(
        depth > 0 and elements(x) % depth == 0,
        f"the input {list(x)} is not a multiple of the weights' {depth} columns",
    )
    _check_bias(s, 2, units)
    if s.option("keep_num_dims", False):
        require(bool(x) and x[-1] == depth, f"the input {list(x)} does not end in {depth}")
        return [(*x[:-1], units)]
    return [(elements(x) // depth, units)]


@rule("BATCH_MATMUL")
def batch_matmul(s: ShapeContext) -> Sequence[Shape]:
    x, y = s.shape(0), s.shape(1)
    require(min(len(x), len(y)) >= 2, f"inputs {list(x)} and {list(y)} need 2 dimensions at least")
    rows, inner = (x[-1], x[-2]) if s.option("adj_x", False) else (x[-2], x[-1])
    inner_y, columns = (y[-1], y[-2]) if s.option("adj_y", False) else (y[-2], y[-1])
    require(inner == inner_y, f"inputs {list(x)} and {list(y)} cannot be multiplied")
    return [(*broadcast(x[:-2], y[:-2]), rows, columns)]


@rule("MEAN", "SUM", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def reduce(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    if not x:
        return [()]
    axes = {axis_of(a, len(x)) for a in s.ints(1)}
    if s.option("keep_dims", False):
        return [tuple(1 if i in axes else d for i, d in enumerate(x))]
    return [tuple(d for i, d in enumerate(x) if i not in axes)]


@rule("ARG_MAX", "ARG_MIN")
def arg_extreme(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    axis = axis_of(single_value(s.ints(1), "the axis"), len(x))
    return [x[:axis] + x[axis + 1 :]]


@rule("TOPK_V2")
def top_k(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    k = single_value(s.ints(1), "k")
    require(bool(x) and 0 <= k <= x[-1], f"k is {k} for an input of {list(x)}")
    return [(*x[:-1], k)] * 2


@rule("SVDF")
def svdf(s: ShapeContext) -> Sequence[Shape]:
    x, feature, time, state = s.shape(0), s.shape(1), s.shape(2), s.shape(4)
    for shape, name in ((x, "the input"), (feature, "the feature weights"), (time, "the time weights")):
        require_rank(shape, 2, name)
    filters, rank = feature[0], s.option("rank")
    require(feature[1] == x[1], f"the feature weights {list(feature)} do not fit the input {list(x)}")
    require(
        time[0] == filters, f"the time weights {list(time)} do not have a row for each of {filters} filters"
    )
    require(rank > 0 and filters % rank == 0, f"{filters} filters do not divide into rank {rank}")
    expected = (x[0], time[1] * filters)
    require(state == expected, f"the state {list(state)} is not {list(expected)}")
    _check_bias(s, 3, filters // rank)
    return [(x[0], filters // rank)]


@rule("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(s: ShapeContext) -> Sequence[Shape]:
    x = s.shape(0)
    require_rank(x, 3, "the input")
    cells, outputs = s.shape(4)[0] if s.shape(4) else 0, s.shape(8)[-1] if s.shape(8) else 0
    batch = x[1] if s.option("time_major", False) else x[0]
    # The positions follow LiteRT's lstm_shared.h: input weights (1 to 4), recurrent weights (5 to 8), peephole weights
    # (9 to 11), gate biases (12 to 15), projection (16, 17), state (18, 19) and layer normalization (20 to 23).
    expected: dict[int, Shape] = dict.fromkeys((1, 2, 3, 4), (cells, x[2]))
    expected |= dict.fromkeys((5, 6, 7, 8), (cells, outputs))
    expected |= dict.fromkeys((9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23), (cells,))
    expected |= {16: (outputs, cells), 17: (outputs,), 18: (batch, outputs), 19: (batch, cells)}
    for position, shape in expected.items():
        if s.has_input(position):
            require(
                s.shape(position) == shape, f"input {position} {list(s.shape(position))} is not {list(shape)}"
            )
    require(s.has_input(16) or outputs == cells, f"{outputs} outputs of {cells} cells need a projection")
    return [(*x[:2], outputs)]
