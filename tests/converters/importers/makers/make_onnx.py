"""Write small ONNX models, their inputs and the outputs that ONNX Runtime computes to the folder given as argument."""

import itertools
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OUT = Path(sys.argv[1])
RNG = np.random.default_rng(5)


def constant(name, *shape):
    """Return an initializer with random float32 values."""
    return numpy_helper.from_array((RNG.standard_normal(shape) * 0.3).astype(np.float32), name)


def value(name, shape):
    """Return a float input or output of a graph. Sizes that are texts are open dimensions."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(name, nodes, constants, inputs, outputs, sizes):
    """Save an ONNX model, three random samples of its inputs and their outputs.

    ``sizes`` has the shape of one sample for each input, without the batch dimension.
    """
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, OUT / f"{name}.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    samples = [(RNG.random((3, *s)) * 2 - 1).astype(np.float32) for s in sizes]
    rows = [
        session.run(None, {i.name: g[k : k + 1] for i, g in zip(inputs, samples, strict=True)})
        for k in range(3)
    ]
    arrays: dict = {f"x{i}": g for i, g in enumerate(samples)}
    arrays |= {f"y{i}": np.concatenate([np.asarray(r[i]) for r in rows]) for i in range(len(outputs))}
    np.savez(OUT / f"{name}.onnx.npz", **arrays)


def convolutional(name, shape, size):
    """Save a small image classifier whose input has ``shape``. A sample has the shape ``size``."""
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], group=4, pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("MaxPool", ["c2"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["l"], transB=1),
        helper.make_node("Softmax", ["l"], ["scores"], axis=1),
    ]
    constants = [constant("w1", 4, 3, 3, 3), constant("b1", 4), constant("w2", 4, 1, 3, 3)]
    constants += [constant("w3", 5, 4), constant("b3", 5)]
    save(name, nodes, constants, [value("image", shape)], [value("scores", [shape[0], 5])], [size])


convolutional("net", ["n", 3, 12, 8], (3, 12, 8))
convolutional("open", ["n", 3, "h", "w"], (3, 16, 8))
save(
    "pair",
    [helper.make_node("Sub", ["in:b/0", "a.1"], ["d"]), helper.make_node("Mul", ["a.1", "a.1"], ["sq"])],
    [],
    [value("in:b/0", ["n", 6]), value("a.1", ["n", 6])],
    [value("sq", ["n", 6]), value("d", ["n", 6])],
    [(6,), (6,)],
)
save(
    "sequence",
    [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])],
    [constant("w", 6, 4)],
    [value("x", [1, 10, 6])],
    [value("y", [1, 10, 4])],
    [(10, 6)],
)

# PyTorch's exporter computes paddings like this: last dimension first, filled up with zeros, then reversed.
save(
    "padded",
    [
        helper.make_node("Concat", ["given", "zeros"], ["all"], axis=0),
        helper.make_node("Reshape", ["all", "pairs"], ["rows"]),
        helper.make_node("Slice", ["rows", "last", "before", "first", "back"], ["turned"]),
        helper.make_node("Transpose", ["turned"], ["columns"], perm=[1, 0]),
        helper.make_node("Reshape", ["columns", "flat"], ["pads"]),
        helper.make_node("Pad", ["image", "pads"], ["p"], mode="constant"),
        helper.make_node("Conv", ["p", "w1", "b1"], ["c"], strides=[2, 2]),
        helper.make_node("ReduceMean", ["c"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["m", "w2", "b2"], ["y"], transB=1),
    ],
    [
        *(
            numpy_helper.from_array(np.array(values, np.int64), name)
            for name, values in (
                ("given", [1, 2, 0, 1]), ("zeros", [0, 0, 0, 0]), ("pairs", [-1, 2]), ("flat", [-1]),
                ("last", [-1]), ("before", [-(2**63) + 1]), ("first", [0]), ("back", [-1]),
            )
        ),
        constant("w1", 4, 1, 3, 3), constant("b1", 4), constant("w2", 5, 4), constant("b2", 5),
    ],
    [value("image", [1, 1, 8, 8])],
    [value("y", [1, 5])],
    [(1, 8, 8)],
)  # fmt: skip
# Models whose weights are in another file: beside the model, or in a place that a model must not name. The package
# onnx writes the weights only beside the model, so the location is changed afterwards.
sequence = onnx.load(OUT / "sequence.onnx")
np.savez(OUT / "external.onnx.npz", **np.load(OUT / "sequence.onnx.npz"))
onnx.save(
    sequence, OUT / "external.onnx", save_as_external_data=True, location="external.bin", size_threshold=0
)
for name, location in {
    "above": "../external.bin",
    "absolute": str(OUT / "external.bin"),
    "missing": "no.bin",
}.items():
    model = onnx.load(OUT / "external.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())
model = onnx.load(OUT / "external.onnx", load_external_data=False)
model.graph.initializer[0].external_data[0].value = "sparse.bin"
for entry in list(model.graph.initializer[0].external_data)[1:]:
    model.graph.initializer[0].external_data.remove(entry)
(OUT / "sparse.onnx").write_bytes(model.SerializeToString())
with open(OUT / "sparse.bin", "wb") as file:
    file.truncate(5 << 30)


def expanding(name, nodes, *constants):
    """Save a model of a few bytes that adds the largest value of the tensor "large" to its input."""
    nodes = [*nodes, helper.make_node("ReduceMax", ["large"], ["m"], keepdims=0)]
    nodes.append(helper.make_node("Add", ["x", "m"], ["y"]))
    graph = helper.make_graph(nodes, "net", [value("x", [1, 4])], [value("y", [1, 4])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


size = numpy_helper.from_array(np.array([30_000, 50_000], np.int64), "size")
expanding("filled", [helper.make_node("ConstantOfShape", ["size"], ["large"])], size)
expanding("expanded", [helper.make_node("Expand", ["w", "size"], ["large"])], size, constant("w", 1))
doubled = ["w", *(f"c{i}" for i in range(30)), "large"]
expanding(
    "doubled",
    [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in itertools.pairwise(doubled)],
    constant("w", 1),
)
scale = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.int8(0), "z")]
save(
    "quantized",
    [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ],
    scale,
    [value("x", [1, 6])],
    [value("y", [1, 6])],
    [(6,)],
)


def number(name, content):
    """Return a constant with float32 values."""
    return numpy_helper.from_array(np.array(content, np.float32), name)


def activation(name, nodes, constants):
    """Save a network with ``nodes``, which compute "g" from "m", between two layers."""
    save(
        name,
        [
            helper.make_node("MatMul", ["x", "w1"], ["m"]),
            *(helper.make_node(op, inputs.split(), [output]) for op, inputs, output in nodes),
            helper.make_node("MatMul", ["g", "w2"], ["y"]),
        ],
        [constant("w1", 6, 4), constant("w2", 4, 3), *(number(k, v) for k, v in constants.items())],
        [value("x", [1, 10, 6])],
        [value("y", [1, 10, 3])],
        [(10, 6)],
    )


ROOT = {"root": 2**0.5, "one": 1, "half": 0.5}
TANH = {"half": 0.5, "one": 1, "cubic": 0.044715, "factor": (2 / np.pi) ** 0.5}
# This is torch.nn.GELU in ONNX operator sets before 20.
activation(
    "gelu_div",
    [("Div", "m root", "d"), ("Erf", "d", "e"), ("Add", "e one", "a"), ("Mul", "m a", "p"), ("Mul", "p half", "g")],
    ROOT,
)  # fmt: skip
# This is GELU as tf2onnx writes it.
activation(
    "gelu_mul",
    [("Mul", "m root", "d"), ("Erf", "d", "e"), ("Add", "e one", "a"), ("Mul", "a half", "p"), ("Mul", "m p", "g")],
    ROOT | {"root": 0.5**0.5},
)  # fmt: skip
activation(
    "gelu_tanh",
    [
        ("Mul", "m m", "s"), ("Mul", "m s", "c"), ("Mul", "c cubic", "q"), ("Add", "m q", "r"),
        ("Mul", "r factor", "f"), ("Tanh", "f", "e"), ("Add", "e one", "a"),
        ("Mul", "m half", "h"), ("Mul", "h a", "g"),
    ],
    TANH,
)  # fmt: skip
# Not a GELU: the factor before erf differs.
activation(
    "not_gelu",
    [("Erf", "m", "e"), ("Add", "e one", "a"), ("Mul", "m a", "p"), ("Mul", "p half", "g")],
    {"one": 1, "half": 0.5},
)
activation("erf", [("Erf", "m", "g")], {})
activation("softsign", [("Softsign", "m", "g")], {})


def recurrent(name, op, gates, direction="forward", steps=6, states=False, lengths=None, **attributes):
    """Save a recurrent layer as PyTorch exports it, followed by a dense layer. "x" is [batch, time, channels].

    ``gates`` is the number of gates of the cell. With ``states``, the layer has random initial states, and ``lengths``
    is the number of time steps that it computes.
    """
    directions, size = 2 if direction == "bidirectional" else 1, 5
    constants = [constant("W", directions, gates * size, 4), constant("R", directions, gates * size, size)]
    constants += [constant("B", directions, 2 * gates * size), constant("w", directions * size, 3)]
    constants.append(numpy_helper.from_array(np.array([0, 0, -1], np.int64), "rows"))
    inputs = ["t", "W", "R", "B"]
    if lengths is not None:
        constants.append(numpy_helper.from_array(np.array([lengths], np.int32), "lengths"))
    if states or lengths is not None:
        inputs.append("" if lengths is None else "lengths")
    if states:
        inputs += ["h0", "c0"][: 1 + (op == "LSTM")]
        constants += [constant(n, directions, 1, size) for n in inputs[5:]]
    save(
        name,
        [
            helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
            helper.make_node(
                op, inputs, ["Y"], f"/rnn/{op}", hidden_size=size, direction=direction, **attributes
            ),
            helper.make_node("Transpose", ["Y"], ["s"], perm=[2, 0, 1, 3]),
            helper.make_node("Reshape", ["s", "rows"], ["f"]),
            helper.make_node("MatMul", ["f", "w"], ["y"]),
        ],
        constants,
        [value("x", [1, steps, 4])],
        [value("y", [1, steps, 3])],
        [(steps, 4)],
    )


recurrent("gru", "GRU", 3, linear_before_reset=1, states=True)
recurrent("gru_keras", "GRU", 3)
recurrent("gru_both", "GRU", 3, "bidirectional", linear_before_reset=1)
recurrent("lstm", "LSTM", 4)
recurrent("lstm_both", "LSTM", 4, "bidirectional", states=True)
recurrent("lstm_reverse", "LSTM", 4, "reverse", lengths=6)
recurrent("rnn_relu", "RNN", 1, activations=["Relu"])
recurrent("lstm_short", "LSTM", 4, lengths=4)
recurrent("lstm_long", "LSTM", 4, steps=2001)


def picture(name, first, shape, size, constants=()):
    """Save a model whose operator ``first`` computes "t" from the input "x", followed by a convolution of "t"."""
    save(
        name,
        [
            first,
            helper.make_node("Conv", ["t", "k"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("GlobalAveragePool", ["c"], ["p"]),
            helper.make_node("Flatten", ["p"], ["y"]),
        ],
        [constant("k", 4, size[2], 3, 3), *constants],
        [value("x", shape)],
        [value("y", [shape[0], 4])],
        [size],
    )


# tf2onnx writes the input of a Keras model like this: in NHWC order.
picture("nhwc", helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), ["n", 12, 8, 3], (12, 8, 3))
grey = numpy_helper.from_array(np.array([-1, 1, 12, 8], np.int64), "grey")
picture("nhwc_grey", helper.make_node("Reshape", ["x", "grey"], ["t"]), ["n", 12, 8, 1], (12, 8, 1), [grey])
save(
    "four",
    [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])],
    [constant("w", 60, 3)],
    [value("x", [1, 3, 4, 5])],
    [value("y", [1, 3])],
    [(3, 4, 5)],
)
scaler = helper.make_node(
    "Scaler", ["x"], ["y"], "scale", domain="ai.onnx.ml", offset=[1.0] * 4, scale=[2.0] * 4
)
graph = helper.make_graph([scaler], "net", [value("x", [1, 4])], [value("y", [1, 4])])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), OUT / "scaler.onnx")
