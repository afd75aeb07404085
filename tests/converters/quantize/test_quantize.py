"""Quantized models have little error in LiteRT's reference kernels, and the firmware generator supports them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Subgraph
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.type_assignment import activation_quantization
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import LayerRule, load_recipe, shipped_recipes
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.int4 import int8_weights, unpack_int4_weights
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UsageError
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.quantize.float_models import FloatNet, classifier, samples_for
from tests.converters.quantize.quantized_runs import quality, quantized, run


def dtypes(graph: Subgraph) -> set[str]:
    """Return the types of all computed tensors."""
    return {graph.tensors[i].dtype for op in graph.ops for i in op.outputs}


@pytest.mark.parametrize(
    ("recipe", "min_db"),
    [
        ("int8", 28), ("int8_per_tensor", 24), ("int8_mse", 28), ("int8_percentile", 28), ("int8_entropy", 12),
        ("int16x8", 38), ("w4", 12), ("w4_mixed", 12), ("float16", 55), ("dynamic", 28), ("weight_only", 38),
    ],
)  # fmt: skip
def test_every_shipped_recipe_has_little_error(recipe: str, min_db: float) -> None:
    assert quality(classifier(), load_recipe(recipe)) > min_db


@pytest.mark.parametrize("recipe", [n for n, r in shipped_recipes().items() if r.needs_observations])
def test_recipes_for_firmware_leave_no_float_tensors(recipe: str) -> None:
    quantized_model, _ = quantized(classifier(), load_recipe(recipe))
    model = parse(quantized_model.flatbuffer)
    dtype = "int16" if recipe == "int16x8" else "int8"
    assert dtypes(model.main) == {dtype}
    assert {model.main.tensors[i].dtype for i in (*model.main.inputs, *model.main.outputs)} == {dtype}
    assert model.repairs == ()
    check_supported(int8_weights(model))


def test_the_same_arguments_give_the_same_bytes() -> None:
    for recipe in ("int8", "w4", "int8_per_tensor"):
        first, second = (quantized(classifier(), load_recipe(recipe))[0] for _ in range(2))
        assert first.flatbuffer == second.flatbuffer
        assert first.layers == second.layers


def test_quantizing_one_layer_leaves_all_others_float() -> None:
    model = classifier()
    full_quality = quality(model, load_recipe("int8"))
    for layer in (0, 1, 2, 3, 6):
        quantized_model, data = quantized(model, load_recipe("int8"), only=[layer])
        g = parse(quantized_model.flatbuffer).main
        assert {g.tensors[i].dtype for i in (*g.inputs, *g.outputs)} == {"float32"}
        assert [f.index for f in quantized_model.layers if f.activations == "int8"] == [layer]
        integer = [
            o
            for o, op in zip(quantized_model.origins, g.ops, strict=True)
            if g.tensors[op.outputs[0]].dtype == "int8"
        ]
        assert set(integer) == {-1, layer}
        exact = run(to_flatbuffer(model), data.inputs)
        assert full_quality < sqnr_db(exact, run(quantized_model.flatbuffer, data.inputs)) < 100


def test_conversions_are_inserted_between_layers_of_different_types() -> None:
    model = classifier()
    recipe = load_recipe("int8").with_layers(
        LayerRule("DEPTHWISE_CONV_2D", {"activations": "int16"}), LayerRule("#2", {"weights": "int4"})
    )
    quantized_model, _ = quantized(model, recipe)
    g = parse(quantized_model.flatbuffer).main
    assert [op.name for op in g.ops].count("QUANTIZE") == 2  # to int16 and back
    assert [(f.activations, f.weights) for f in quantized_model.layers[:3]] == [
        ("int8", "int8"), ("int16", "int8"), ("int8", "int4"),
    ]  # fmt: skip
    assert quality(model, recipe) > 15


def test_int4_weights_take_half_a_byte_and_are_unpacked() -> None:
    quantized_model, _ = quantized(classifier(), load_recipe("w4"))
    g = parse(quantized_model.flatbuffer).main
    packed = [t for t in g.tensors if t.dtype == "int4"]
    assert len(packed) == 4
    for t in packed:
        assert t.data is not None
        assert t.data.nbytes == (t.elements + 1) // 2
        values = unpack_int4_weights(t.data, t.shape)
        assert values.min() >= -7
        assert values.max() == 7 or values.min() == -7
    assert all(
        f.weight_bytes < 0.3 * f.weight_bytes_before for f in quantized_model.layers if f.name == "CONV_2D"
    )


def test_weights_that_are_multiples_of_a_scale_are_stored_exactly() -> None:
    n = FloatNet(5)
    x = n.input((1, 24), "float32")
    grid = np.random.default_rng(0).integers(-40, 41, (6, 24))
    steps = np.linspace(0.01, 0.03, 6)[:, None]
    w = n.real(grid * steps)
    y = n.layer("FULLY_CONNECTED", [x, w, n.random(6)], (1, 6), "FullyConnectedOptions")
    quantized_model, _ = quantized(n.model([y]), load_recipe("int8"))
    stored = next(t for t in parse(quantized_model.flatbuffer).main.tensors if t.shape == (6, 24))
    assert stored.data is not None
    assert stored.quant is not None
    assert np.allclose(stored.data * np.array(stored.quant.scale)[:, None], grid * steps, rtol=1e-5)


def test_a_bias_beyond_32_bits_gets_coarser_weights() -> None:
    n = FloatNet(6)
    x = n.input((1, 8), "float32")
    w = np.full((2, 8), 1e-9)
    w[0] = np.linspace(-1, 1, 8)
    y = n.layer("FULLY_CONNECTED", [x, n.real(w), n.real([0.5, 100.0])], (1, 2), "FullyConnectedOptions")
    quantized_model, data = quantized(n.model([y]), load_recipe("int8"))
    assert run(quantized_model.flatbuffer, data.inputs)[..., 1] == pytest.approx(100, rel=0.01)


def test_a_tensor_that_is_always_zero_has_a_valid_scale() -> None:
    n = FloatNet(7)
    x = n.input((1, 8), "float32")
    y = n.layer(
        "FULLY_CONNECTED", [x, n.real(np.zeros((3, 8))), n.real(np.zeros(3))], (1, 3), "FullyConnectedOptions"
    )
    quantized_model, data = quantized(n.model([y]), load_recipe("int8"))
    assert not run(quantized_model.flatbuffer, data.inputs).any()


def test_a_concatenated_softmax_is_rescaled_without_clipping() -> None:
    n = FloatNet(8)
    x = n.input((1, 6), "float32")
    a = n.layer("SOFTMAX", [x], (1, 6), "SoftmaxOptions", beta=1.0)
    b = n.dense(x, 6)
    y = n.layer("CONCATENATION", [a, b], (1, 12), "ConcatenationOptions", axis=1)
    model = n.model([y])
    quantized_model, _ = quantized(model, load_recipe("int8"))
    g = parse(quantized_model.flatbuffer).main
    joined = next(op for op in g.ops if op.name == "CONCATENATION")
    assert len({g.tensors[i].quant for i in (*joined.inputs, *joined.outputs)}) == 1
    softmax = next(op for op in g.ops if op.name == "SOFTMAX")
    assert g.tensors[softmax.outputs[0]].scale == 1 / 256
    assert quality(model, load_recipe("int8")) > 30


def test_layers_without_an_integer_kernel_stay_float_and_give_a_note() -> None:
    n = FloatNet(9)
    x = n.input((1, 6), "float32")
    sums = n.layer(
        "CUMSUM", [n.dense(x, 6), n.ints([1])], (1, 6), "CumsumOptions", exclusive=False, reverse=False
    )
    y = n.dense(sums, 4)
    quantized_model, _ = quantized(n.model([y]), load_recipe("int8"))
    assert quantized_model.notes == ("Layer 1 CUMSUM has no integer kernel: it stays float32.",)
    names = [op.name for op in parse(quantized_model.flatbuffer).main.ops]
    assert names == ["FULLY_CONNECTED", "DEQUANTIZE", "CUMSUM", "QUANTIZE", "FULLY_CONNECTED"]


def test_a_quantized_model_and_unsuitable_observations_are_usage_errors() -> None:
    model = classifier()
    flatbuffer = to_flatbuffer(model)
    observations = observe(flatbuffer, samples_for(model))
    quantized_model = quantize(flatbuffer, load_recipe("int8"), observations)
    with pytest.raises(UsageError, match="already quantized"):
        quantize(quantized_model.flatbuffer, load_recipe("int8"), observations)
    with pytest.raises(UsageError, match="another model"):
        quantize(to_flatbuffer(classifier(seed=3)), load_recipe("int8"), observations)
    with pytest.raises(UsageError, match="needs calibration samples"):
        quantize(flatbuffer, load_recipe("int8"), None)


def test_activation_quantization_represents_zero_exactly() -> None:
    for low, high in ((-1.0, 3.0), (0.0, 6.0), (-2.5, 0.0), (0.0, 0.0), (-1e-9, 1e9)):
        q = activation_quantization(low, high, "int8")
        assert -128 <= q.zero_point[0] <= 127
        assert q.scale[0] == float(np.float32(q.scale[0])) > 0
        top = (127 - q.zero_point[0]) * q.scale[0]
        assert top >= high - q.scale[0]
    assert activation_quantization(-2.0, 1.0, "int16") == activation_quantization(0.0, 2.0, "int16")


#: A function that adds operators which read a tensor to a network, and returns their output.
OperatorBuilder = Callable[[FloatNet, int], int]
#: The operators that are only defined for positive values.
_POSITIVE = {"LOG", "SQRT", "RSQRT"}


def _unary(name: str, options: str = "", **values: Any) -> OperatorBuilder:
    """Return a builder of an operator with one input."""
    return lambda n, x: n.layer(name, [x], n.tensors[x].shape, options, **values)


def _binary(name: str, options: str, constant: bool = False) -> OperatorBuilder:
    """Return a builder of an operator whose second input is a constant or a RELU of the first input."""

    def build(n: FloatNet, x: int) -> int:
        shape = n.tensors[x].shape
        second = n.random(*shape) if constant else n.layer("RELU", [x], shape)
        return n.layer(name, [x, second], shape, options)

    return build


def _pool(name: str) -> OperatorBuilder:
    """Return a builder of a 2 x 2 pool."""
    return lambda n, x: n.layer(
        name,
        [x],
        (1, 3, 3, 4),
        "Pool2DOptions",
        stride_w=2,
        stride_h=2,
        filter_width=2,
        filter_height=2,
        padding=0,
    )


#: By name: a builder of the operator after a convolution.
OPERATORS: dict[str, OperatorBuilder] = {
    "ABS": _unary("ABS"),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "LEAKY_RELU": _unary("LEAKY_RELU", "LeakyReluOptions", alpha=0.2),
    "ELU": _unary("ELU"),
    "GELU": _unary("GELU", "GeluOptions", approximate=False),
    "HARD_SWISH": _unary("HARD_SWISH", "HardSwishOptions"),
    "EXP": _unary("EXP", "ExpOptions"),
    "LOG": _unary("LOG"),
    "SQRT": _unary("SQRT"),
    "RSQRT": _unary("RSQRT"),
    "LOGISTIC": _unary("LOGISTIC"),
    "TANH": _unary("TANH"),
    "SOFTMAX": _unary("SOFTMAX", "SoftmaxOptions", beta=1.0),
    "LOG_SOFTMAX": _unary("LOG_SOFTMAX", "LogSoftmaxOptions"),
    "L2_NORMALIZATION": _unary("L2_NORMALIZATION", "L2NormOptions"),
    "ADD": _binary("ADD", "AddOptions"),
    "ADD constant": _binary("ADD", "AddOptions", True),
    "SUB": _binary("SUB", "SubOptions"),
    "MUL": _binary("MUL", "MulOptions"),
    "MUL constant": _binary("MUL", "MulOptions", True),
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions"),
    "MAXIMUM": _binary("MAXIMUM", "MaximumMinimumOptions", True),
    "MINIMUM": _binary("MINIMUM", "MaximumMinimumOptions"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MEAN": lambda n, x: n.layer("MEAN", [x, n.ints([1, 2])], (1, 4), "ReducerOptions", keep_dims=False),
    "REDUCE_MAX": lambda n, x: n.layer("REDUCE_MAX", [x, n.ints([1])], (1, 6, 4), "ReducerOptions", keep_dims=False),
    "TRANSPOSE": lambda n, x: n.layer("TRANSPOSE", [x, n.ints([0, 3, 1, 2])], (1, 4, 6, 6), "TransposeOptions"),
    "PAD": lambda n, x: n.layer(
        "PAD", [x, n.tensor((4, 2), "int32", data=[[0, 0], [1, 1], [1, 1], [0, 0]])], (1, 8, 8, 4), "PadOptions"
    ),
    "CONCATENATION": lambda n, x: n.layer(
        "CONCATENATION", [x, n.layer("RELU", [x], (1, 6, 6, 4))], (1, 6, 6, 8), "ConcatenationOptions", axis=3
    ),
    "RESIZE_BILINEAR": lambda n, x: n.layer(
        "RESIZE_BILINEAR", [x, n.ints([12, 12])], (1, 12, 12, 4), "ResizeBilinearOptions", half_pixel_centers=True
    ),
    "RESIZE_NEAREST_NEIGHBOR": lambda n, x: n.layer(
        "RESIZE_NEAREST_NEIGHBOR", [x, n.ints([12, 12])], (1, 12, 12, 4), "ResizeNearestNeighborOptions"
    ),
    "PRELU": lambda n, x: n.layer("PRELU", [x, n.random(1, 1, 4)], (1, 6, 6, 4)),
    "BATCH_MATMUL": lambda n, x: n.layer(
        "BATCH_MATMUL", [x, n.random(1, 1, 4, 5)], (1, 6, 6, 5), "BatchMatMulOptions"
    ),
    "TRANSPOSE_CONV": lambda n, x: n.layer(
        "TRANSPOSE_CONV", [n.ints([1, 12, 12, 3]), n.random(3, 2, 2, 4), x, n.random(3)], (1, 12, 12, 3),
        "TransposeConvOptions", stride_w=2, stride_h=2, padding=0,
    ),
    "STRIDED_SLICE": lambda n, x: n.layer(
        "STRIDED_SLICE", [x, n.ints([0, 1, 0, 0]), n.ints([1, 5, 6, 4]), n.ints([1, 2, 1, 1])], (1, 2, 6, 4),
        "StridedSliceOptions",
    ),
}  # fmt: skip


@pytest.mark.parametrize("activations", ["int8", "int16"])
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_after_a_convolution_are_quantized(name: str, activations: str) -> None:
    n = FloatNet(len(name))
    x = n.input((1, 6, 6, 3), "float32")
    a = n.conv(x, 4, relu=name in _POSITIVE)
    if name in _POSITIVE:
        a = n.layer("ADD", [a, n.real(np.full((1, 1, 1, 4), 0.5))], (1, 6, 6, 4), "AddOptions")
    model = n.model([OPERATORS[name](n, a)])
    recipe = load_recipe("int8" if activations == "int8" else "int16x8")
    quantized_model, data = quantized(model, recipe)
    integer_model = parse(quantized_model.flatbuffer)
    assert "float32" not in dtypes(integer_model.main)
    check_supported(integer_model)
    exact = run(to_flatbuffer(model), data.inputs)
    min_db = 22 if activations == "int8" or quantized_model.notes else 36
    assert sqnr_db(exact, run(quantized_model.flatbuffer, data.inputs)) > min_db
