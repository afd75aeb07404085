"""Run models that consist of tree operators, which LiteRT does not have, with their NumPy reference.

``TreeInterpreter`` has the methods of LiteRT's interpreter that Arenite uses, so that both can be used in the same
places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Tensor
from arenite.converters.graph.trees import OPERATOR, ensemble_of, is_tree_ensemble
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError


def has_tree_operator(flatbuffer: bytes) -> bool:
    """Return whether a model may have a tree operator. The name of a custom operator is stored as text."""
    return OPERATOR.encode() in flatbuffer


class TreeInterpreter:
    """A model whose operators are all tree ensembles. Raises ``UnsupportedModelError`` for another operator, and for
    tables that are not valid."""

    def __init__(self, flatbuffer: bytes) -> None:
        graph = parse(flatbuffer).main
        for op in graph.ops:
            if not is_tree_ensemble(op):
                raise UnsupportedModelError(
                    f"operator {op.index} {op.name}: a model with {OPERATOR} has only operators of this kind.",
                    "Convert the tree ensemble on its own.",
                )
        self._graph = graph
        self._ensembles = [ensemble_of(graph, op) for op in graph.ops]
        self._values: dict[int, np.ndarray] = {}

    def allocate_tensors(self) -> None:
        for i in self._graph.inputs:
            tensor = self._graph.tensors[i]
            self._values[i] = np.zeros(tensor.shape, DTYPES[tensor.dtype])

    def reset_all_variables(self) -> None:
        """Do nothing, because trees have no variables."""

    def set_tensor(self, index: int, value: np.ndarray) -> None:
        """Set an input. Raises ``ValueError`` for a wrong shape or type, as LiteRT does."""
        tensor = self._graph.tensors[index]
        if value.shape != tensor.shape or value.dtype != DTYPES[tensor.dtype]:
            raise ValueError(
                f"Cannot set tensor {index}: got {value.dtype} {list(value.shape)}, "
                f"expected {tensor.dtype} {list(tensor.shape)}"
            )
        self._values[index] = np.array(value)

    def invoke(self) -> None:
        for op, ensemble in zip(self._graph.ops, self._ensembles, strict=True):
            result = ensemble.evaluate(self._values[op.inputs[0]])
            self._values[op.outputs[0]] = result.reshape(self._graph.tensors[op.outputs[0]].shape)

    def get_tensor(self, index: int) -> np.ndarray:
        tensor = self._graph.tensors[index]
        return self._values[index] if tensor.data is None else tensor.data

    def get_input_details(self) -> list[dict[str, Any]]:
        return [_details(self._graph.tensors[i]) for i in self._graph.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        return [_details(self._graph.tensors[i]) for i in self._graph.outputs]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        return [_details(t) for t in self._graph.tensors]

    def _get_ops_details(self) -> list[dict[str, Any]]:
        return [
            {"index": op.index, "op_name": OPERATOR, "inputs": op.inputs, "outputs": op.outputs}
            for op in self._graph.ops
        ]


def _details(t: Tensor) -> dict[str, Any]:
    scales = [] if t.quant is None else list(t.quant.scale)
    zeros = [] if t.quant is None else list(t.quant.zero_point)
    return {
        "name": t.name,
        "index": t.index,
        "shape": np.array(t.shape, np.int32),
        "shape_signature": np.array(t.shape_signature or t.shape, np.int32),
        "dtype": np.dtype(DTYPES[t.dtype] or object).type,
        "quantization": (scales[0], zeros[0]) if len(scales) == 1 else (0.0, 0),
        "quantization_parameters": {
            "scales": np.array(scales, np.float32),
            "zero_points": np.array(zeros, np.int32),
            "quantized_dimension": 0,
        },
        "sparsity_parameters": {},
    }
