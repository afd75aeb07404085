"""An ONNX graph while it is made from a quantized TFLite graph: its nodes and constants, and the names of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.model import DTYPES, Op, Subgraph, Tensor
from arenite.converters.importers.onnx_ml import onnx_writer
from arenite.errors import UnsupportedModelError

#: The orders of dimensions that a value may have: TFLite's, and ONNX' order of images.
NHWC, NCHW = "nhwc", "nchw"
_TO = {NCHW: (0, 3, 1, 2), NHWC: (0, 2, 3, 1)}
_OPSETS = {"": 17}


def refuse(op: Op, problem: str) -> UnsupportedModelError:
    """Return the error that ``op`` has no ONNX form here."""
    return UnsupportedModelError(f"The operator {op.kind} {problem}.", "Compare with another runtime.")


class OnnxGraph:
    """The nodes and constants so far.

    A tensor of four dimensions can have a value in both orders of dimensions: operators on images need NCHW, and the
    others take the order that exists. Quantized values stay integers between the operators. An operator on real
    numbers gets a DequantizeLinear for each input and a QuantizeLinear for its output, the form in which ONNX Runtime
    finds quantized operators. Inside the graph, int8 values are uint8 with a zero point that is 128 higher, because
    ONNX Runtime has more quantized operators for uint8.
    """

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0
        self._names: dict[tuple[int, str], str] = {}
        self._inputs = [f"input{k}" for k in range(len(graph.inputs))]
        for name, index in zip(self._inputs, graph.inputs, strict=True):
            self.set_value(index, self._converted(name, index, self._stored(index), self._inside(index)))

    def tensor(self, index: int) -> Tensor:
        return self.graph.tensors[index]

    def add(self, kind: str, inputs: Sequence[str], **attributes: object) -> str:
        """Add a node with one output, and return the name of the output."""
        name = self._new_name()
        self._nodes.append(onnx_writer.node(kind, inputs, [name], attributes, ""))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Add a constant and return its name."""
        name = self._new_name()
        self._constants.append(onnx_writer.tensor(name, values))
        return name

    def order(self, index: int) -> str:
        """Return an order of dimensions in which the tensor exists: NCHW if possible."""
        return NCHW if (index, NCHW) in self._names else NHWC

    def value(self, index: int, order: str = NHWC) -> str:
        """Return the name of the stored value of a tensor in the order ``order``."""
        key = (index, order)
        if key not in self._names:
            self._names[key] = self._reordered(index, order)
        return self._names[key]

    def set_value(self, index: int, name: str, order: str = NHWC) -> None:
        """The tensor has the value ``name``."""
        self._names[index, order] = name

    def real(self, index: int, order: str = NHWC) -> str:
        """Return the name of the tensor's value as real numbers."""
        tensor, value = self.tensor(index), self.value(index, order)
        return value if tensor.quant is None else self.add("DequantizeLinear", [value, *self._steps(index)])

    def set_real(self, index: int, name: str, order: str = NHWC) -> None:
        """The tensor has the real value ``name``."""
        quantized = self.tensor(index).quant is not None
        value = self.add("QuantizeLinear", [name, *self._steps(index)]) if quantized else name
        self.set_value(index, value, order)

    def zero(self, index: int) -> str:
        """Return the name of the stored value that means 0 in a tensor."""
        return self.constant(self._inside(index))

    def real_constant(self, values: np.ndarray, scale: Sequence[float]) -> str:
        """Add quantized values with the zero point 0 and one scale, or one per slice along the first dimension, and
        return the name of their real values."""
        steps = np.array(scale, np.float32)
        zeros = np.zeros(steps.shape, values.dtype)
        if len(scale) == 1:
            steps, zeros = steps.reshape(()), zeros.reshape(())
        inputs = [self.constant(np.ascontiguousarray(values)), self.constant(steps), self.constant(zeros)]
        return self.add("DequantizeLinear", inputs, axis=0)

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        """Add a Reshape to ``shape``."""
        return self.add("Reshape", [name, self.constant(np.array(shape, np.int64))])

    def file(self) -> bytes:
        """Return the ONNX file with the inputs and outputs of the TFLite graph, in TFLite's order of dimensions."""
        described = []
        for name, index in zip(self._inputs, self.graph.inputs, strict=True):
            described.append(self._described(11, name, index))
        for k, index in enumerate(self.graph.outputs):
            value = self._converted(self.value(index), index, self._inside(index), self._stored(index))
            self._nodes.append(onnx_writer.node("Identity", [value], [f"output{k}"], {}, ""))
            described.append(self._described(12, f"output{k}", index))
        return onnx_writer.file([*self._nodes, *self._constants, *described], _OPSETS)

    def _described(self, field: int, name: str, index: int) -> bytes:
        tensor = self.tensor(index)
        return onnx_writer.value_info(field, name, tensor.shape, onnx_writer.ELEMENT_TYPES[tensor.dtype])

    def _new_name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _reordered(self, index: int, order: str) -> str:
        """Return the value of a tensor that exists in another order, or that is a constant."""
        tensor = self.tensor(index)
        if tensor.data is not None:
            data = tensor.data.transpose(_TO[NCHW]) if order == NCHW else tensor.data
            if tensor.dtype == "int8" and tensor.quant is not None:
                data = (data.astype(np.int16) + 128).astype(np.uint8)
            return self.constant(np.array(data, order="C"))
        value = self._names[index, NCHW if order == NHWC else NHWC]
        n, h, w, c = tensor.shape
        if c == 1 or h * w == 1:  # the bytes stay where they are
            return self.reshaped(value, (n, c, h, w) if order == NCHW else (n, h, w, c))
        return self.add("Transpose", [value], perm=np.array(_TO[order]))

    def _stored(self, index: int) -> np.ndarray:
        """Return the zero point of a tensor in its own type."""
        tensor = self.tensor(index)
        return np.array(tensor.zero_point if tensor.quant is not None else 0, DTYPES[tensor.dtype])

    def _inside(self, index: int) -> np.ndarray:
        """Return the zero point of a tensor in the type that it has inside the graph."""
        zero = self._stored(index)
        if zero.dtype == np.int8 and self.tensor(index).quant is not None:
            return np.array(int(zero) + 128, np.uint8)
        return zero

    def _converted(self, name: str, index: int, before: np.ndarray, after: np.ndarray) -> str:
        """Return the value ``name`` of a tensor with the zero point ``after`` instead of ``before``."""
        if before.dtype == after.dtype:
            return name
        scale = self.constant(np.array(self.tensor(index).scale, np.float32))
        real = self.add("DequantizeLinear", [name, scale, self.constant(before)])
        return self.add("QuantizeLinear", [real, scale, self.constant(after)])

    def _steps(self, index: int) -> tuple[str, str]:
        """Return the names of the scale and of the zero point of a tensor with one of each."""
        return self.constant(np.array(self.tensor(index).scale, np.float32)), self.zero(index)
