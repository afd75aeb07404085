"""Save ONNX models whose recurrent layer has its state as inputs and outputs, to the folder given as argument. The
tests run this program in the environment "onnx"."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = Path(sys.argv[1])
RNG = np.random.default_rng(0)


def constant(name, *shape):
    """Return an initializer with random float32 values."""
    return numpy_helper.from_array((RNG.normal(size=shape) * 0.4).astype(np.float32), name)


def value(name, *shape):
    """Return a float input or output of a graph."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


for op, gates, options in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})):
    before = ["h0", "c0"][: 1 + (op == "LSTM")]
    after = ["hn", "cn"][: len(before)]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        helper.make_node(op, ["t", "W", "R", "B", "", *before], ["Y", *after], op, hidden_size=5, **options),
        helper.make_node("Reshape", ["hn", "row"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    constants = [constant("W", 1, gates * 5, 4), constant("R", 1, gates * 5, 5)]
    constants += [constant("B", 1, 2 * gates * 5), constant("w", 5, 3)]
    constants.append(numpy_helper.from_array(np.array([1, 5], np.int64), "row"))
    inputs = [value("x", 1, 8, 4), *(value(n, 1, 1, 5) for n in before)]
    outputs = [value("y", 1, 3), *(value(n, 1, 1, 5) for n in after)]
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, OUT / f"{op}.onnx")
