"""Small hand-written models with many kinds of operators, for tests of the reader, the writer and the fuzzer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Quantization, Signature, Subgraph, Tensor
from arenite.converters.tflite.verifier import defaults_of


class Net:
    """Builds a graph tensor by tensor and operator by operator. By default, every int8 or int16 tensor has a different
    scale."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.inputs: list[int] = []

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str = "int8",
        *,
        data: Any = None,
        quant: Quantization | str | None = "own",
        variable: bool = False,
    ) -> int:
        """Add a tensor and return its index. The quantization "own" is a scale that no other tensor has."""
        index = len(self.tensors)
        if quant == "own":
            scale = float(np.float32(0.02 + 0.001 * index))
            zero = 0 if dtype != "int8" else int(self.rng.integers(-20, 20))
            quant = Quantization((scale,), (zero,)) if dtype in ("int8", "int16") else None
        assert not isinstance(quant, str)
        if quant is not None:  # scales are stored as float32
            quant = replace(quant, scale=tuple(float(np.float32(s)) for s in quant.scale))
        array = None if data is None else np.array(data, DTYPES[dtype]).reshape(shape)
        self.tensors.append(Tensor(index, f"t{index}", shape, dtype, quant, array, variable))
        return index

    def input(self, shape: tuple[int, ...], dtype: str = "int8") -> int:
        """Add a graph input and return its tensor."""
        self.inputs.append(self.tensor(shape, dtype))
        return self.inputs[-1]

    def weights(self, shape: tuple[int, ...], axis: int) -> int:
        """Add int8 weights with a scale per index of ``axis``, and return their tensor."""
        scale = tuple(float(np.float32(0.01 + 0.001 * i)) for i in range(shape[axis]))
        values = self.rng.integers(-127, 128, shape)
        return self.tensor(shape, data=values, quant=Quantization(scale, (0,) * len(scale), axis))

    def bias(self, x: int, weights: int, count: int, dtype: str = "int32") -> int:
        """Add a random bias of a layer with input ``x``, and return its tensor."""
        x_quant, weights_quant = self.tensors[x].quant, self.tensors[weights].quant
        assert x_quant is not None and weights_quant is not None
        scale = tuple(float(np.float32(x_quant.scale[0]) * np.float32(s)) for s in weights_quant.scale)
        quant = Quantization(scale, (0,) * len(scale))
        return self.tensor((count,), dtype, data=self.rng.integers(-500, 500, count), quant=quant)

    def ints(self, values: list[int]) -> int:
        """Add an int32 constant and return its tensor."""
        return self.tensor((len(values),), "int32", data=values)

    def op(
        self,
        name: str,
        inputs: list[int],
        shape: tuple[int, ...] = (),
        dtype: str = "int8",
        *,
        options: str = "",
        quant: Quantization | str | None = "own",
        **values: Any,
    ) -> int:
        """Add an operator with one new output tensor and return that tensor."""
        out = self.tensor(shape, dtype, quant=quant)
        self.add(name, inputs, [out], options, **values)
        return out

    def add(self, name: str, inputs: list[int], outputs: list[int], options: str = "", **values: Any) -> None:
        """Add an operator. Options that are not given have the schema's default values."""
        table = {**defaults_of(options), **values} if options else {}
        self.ops.append(Op(len(self.ops), name, tuple(inputs), tuple(outputs), table, options))

    def graph(self, outputs: list[int], name: str = "main") -> Subgraph:
        """Return the subgraph."""
        return Subgraph(name, tuple(self.tensors), tuple(self.ops), tuple(self.inputs), tuple(outputs))

    def model(self, outputs: list[int], *other_graphs: Subgraph) -> Model:
        """Return the model with a signature for all inputs and outputs."""
        named_in = tuple((f"in{k}", i) for k, i in enumerate(self.inputs))
        named_out = tuple((f"out{k}", i) for k, i in enumerate(outputs))
        signature = Signature("serving_default", 0, named_in, named_out)
        return Model((self.graph(outputs), *other_graphs), "made for a test", {}, (signature,))


def conv_net() -> Model:
    """Return a common classifier: convolutions, a residual ADD, pooling, RESHAPE, FULLY_CONNECTED, SOFTMAX."""
    n = Net(1)
    x = n.input((1, 8, 8, 3))
    w = n.weights((4, 3, 3, 3), 0)
    a = n.op(
        "CONV_2D", [x, w, n.bias(x, w, 4)], (1, 8, 8, 4),
        options="Conv2DOptions", stride_w=1, stride_h=1, fused_activation_function=1,
    )  # fmt: skip
    w = n.weights((1, 3, 3, 4), 3)
    b = n.op(
        "DEPTHWISE_CONV_2D", [a, w, n.bias(a, w, 4)], (1, 8, 8, 4),
        options="DepthwiseConv2DOptions", stride_w=1, stride_h=1, depth_multiplier=1,
    )  # fmt: skip
    c = n.op("ADD", [a, b], (1, 8, 8, 4), options="AddOptions")
    pool: dict[str, Any] = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2, "padding": 1}
    quant = n.tensors[c].quant
    d = n.op("MAX_POOL_2D", [c], (1, 4, 4, 4), options="Pool2DOptions", quant=quant, **pool)
    e = n.op("AVERAGE_POOL_2D", [d], (1, 2, 2, 4), options="Pool2DOptions", quant=quant, **pool)
    f = n.op(
        "RESHAPE", [e, n.ints([1, 16])], (1, 16), options="ReshapeOptions", quant=quant, new_shape=(1, 16)
    )
    w = n.tensor((5, 16), data=n.rng.integers(-127, 128, (5, 16)), quant=Quantization((0.01171875,), (0,)))
    g = n.op("FULLY_CONNECTED", [f, w, n.bias(f, w, 5)], (1, 5), options="FullyConnectedOptions")
    y = n.op(
        "SOFTMAX", [g], (1, 5), options="SoftmaxOptions", beta=1.0, quant=Quantization((1 / 256,), (-128,))
    )
    return n.model([y])


def elementwise() -> Model:
    """Return a model of arithmetic and shape operators with two inputs and two outputs, one of them float."""
    n = Net(2)
    x, y = n.input((1, 4, 6)), n.input((1, 4, 6))
    a = n.op("MUL", [x, y], (1, 4, 6), options="MulOptions")
    b = n.op("SUB", [a, y], (1, 4, 6), options="SubOptions")
    c = n.op("LOGISTIC", [b], (1, 4, 6), quant=Quantization((1 / 256,), (-128,)))
    d = n.op("QUANTIZE", [c], (1, 4, 6), quant=n.tensors[a].quant, options="QuantizeOptions")
    e = n.op(
        "CONCATENATION", [a, d], (1, 4, 12), options="ConcatenationOptions", axis=2, quant=n.tensors[a].quant
    )
    pads = n.tensor((3, 2), "int32", data=[[0, 0], [1, 1], [0, 2]])
    f = n.op("PAD", [e, pads], (1, 6, 14), options="PadOptions", quant=n.tensors[e].quant)
    g = n.op("MEAN", [f, n.ints([1])], (1, 14), options="ReducerOptions")
    h = n.op("DEQUANTIZE", [g], (1, 14), "float32")
    s = n.op(
        "STRIDED_SLICE", [e, n.ints([0, 0, 1]), n.ints([1, 4, 9]), n.ints([1, 2, 3])], (1, 2, 3),
        options="StridedSliceOptions", quant=n.tensors[e].quant,
    )  # fmt: skip
    return n.model([h, s])


def int16_net() -> Model:
    """Return a model with int16 activations, int8 weights and an int64 bias."""
    n = Net(3)
    x = n.input((1, 5, 5, 2), "int16")
    w = n.weights((3, 3, 3, 2), 0)
    a = n.op(
        "CONV_2D", [x, w, n.bias(x, w, 3, "int64")], (1, 5, 5, 3), "int16",
        options="Conv2DOptions", stride_w=1, stride_h=1,
    )  # fmt: skip
    y = n.op("RELU", [a], (1, 5, 5, 3), "int16")
    return n.model([y])


def float_net() -> Model:
    """Return a float classifier with one layer."""
    n = Net(4)
    x = n.input((1, 10), "float32")
    w = n.tensor((4, 10), "float32", data=n.rng.standard_normal((4, 10)))
    b = n.tensor((4,), "float32", data=[0.0, 1.0, -1.0, 0.5])
    a = n.op("FULLY_CONNECTED", [x, w, b], (1, 4), "float32", options="FullyConnectedOptions")
    y = n.op("SOFTMAX", [a], (1, 4), "float32", options="SoftmaxOptions", beta=1.0)
    return n.model([y])


def with_state() -> Model:
    """Return a model whose resource variable is set by CALL_ONCE, in a second subgraph, and changed by each run."""
    start = Net(5)
    h = start.op("VAR_HANDLE", [], (), "resource", options="VarHandleOptions", shared_name="state")
    quant = Quantization((0.05,), (3,))
    zero = start.tensor((1, 4), data=[[3, 3, 3, 3]], quant=quant)
    start.add("ASSIGN_VARIABLE", [h, zero], [], "AssignVariableOptions")
    n = Net(6)
    x = n.input((1, 4))
    n.add("CALL_ONCE", [], [], "CallOnceOptions", init_subgraph_index=1)
    h = n.op("VAR_HANDLE", [], (), "resource", options="VarHandleOptions", shared_name="state")
    old = n.op("READ_VARIABLE", [h], (1, 4), options="ReadVariableOptions", quant=quant)
    new = n.op("ADD", [old, x], (1, 4), options="AddOptions", quant=quant)
    n.add("ASSIGN_VARIABLE", [h, new], [], "AssignVariableOptions")
    return n.model([new], start.graph([], "start"))


def svdf(biased: bool = False) -> Model:
    """Return a model with a variable tensor and, unless ``biased``, an absent optional input."""
    n = Net(7)
    x = n.input((1, 6))
    feature = n.tensor((4, 6), data=n.rng.integers(-127, 128, (4, 6)), quant=Quantization((0.02,), (0,)))
    time = n.tensor(
        (4, 3), "int16", data=n.rng.integers(-3000, 3000, (4, 3)), quant=Quantization((0.0005,), (0,))
    )
    state = n.tensor((1, 12), "int16", quant=Quantization((0.004,), (0,)), variable=True)
    bias = -1
    if biased:
        bias = n.tensor((4,), "int32", data=[1, -2, 300, 4], quant=Quantization((0.004 * 0.0005,), (0,)))
    y = n.op(
        "SVDF",
        [x, feature, time, bias, state],
        (1, 4),
        options="SVDFOptions",
        rank=1,
        fused_activation_function=1,
    )
    return n.model([y])


def reshapes() -> Model:
    """Return a chain of RESHAPE, EXPAND_DIMS and SQUEEZE, which a plan places at one address."""
    n = Net(8)
    x = n.input((1, 4, 4, 2))
    a = n.op("RELU", [x], (1, 4, 4, 2))
    quant = n.tensors[a].quant
    b = n.op("RESHAPE", [a, n.ints([4, 8])], (4, 8), options="ReshapeOptions", new_shape=(4, 8), quant=quant)
    c = n.op("EXPAND_DIMS", [b, n.ints([0])], (1, 4, 8), options="ExpandDimsOptions", quant=quant)
    d = n.op("SQUEEZE", [c], (4, 8), options="SqueezeOptions", squeeze_dims=(0,), quant=quant)
    y = n.op("TRANSPOSE", [d, n.ints([1, 0])], (8, 4), options="TransposeOptions", quant=quant)
    return n.model([y])


def svdf_biased() -> Model:
    """Return ``svdf`` with a bias."""
    return svdf(biased=True)


#: Functions that return the models, by name.
ALL = {
    f.__name__: f
    for f in (conv_net, elementwise, int16_net, float_net, with_state, svdf, svdf_biased, reshapes)
}
