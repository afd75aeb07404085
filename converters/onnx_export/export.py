"""Write a quantized model as an ONNX file."""

from __future__ import annotations

from arenite.converters.graph.model import Model
from arenite.converters.onnx_export.onnx_graph import OnnxGraph, refuse
from arenite.converters.onnx_export.operators import OPERATORS


def to_onnx(model: Model) -> bytes:
    """Return ``model`` as an ONNX file with the same inputs and outputs.

    The integers of weights and biases, scales and zero points stay as they are. Quantized operators become operators on
    real numbers between DequantizeLinear and QuantizeLinear, of which ONNX Runtime makes its own quantized operators.
    They round in another way than LiteRT's reference kernels, so outputs may differ by a few steps.

    Raises ``UnsupportedModelError`` for an operator that has no ONNX form here, and for models with a state.
    """
    graph = OnnxGraph(model.main)
    for op in model.main.ops:
        convert = OPERATORS.get(op.kind)
        if convert is None:
            raise refuse(op, "is not written as ONNX")
        for tensor in (*model.main.in_tensors(op), *model.main.out_tensors(op)):
            if tensor.data is None and tensor.dtype not in ("int8", "uint8", "float32"):
                raise refuse(op, f"with {tensor.dtype} values is not written as ONNX")
        convert(graph, op)
    return graph.file()
