"""Run models with operators that LiteRT does not compute, one operator after another.

Arenite's NumPy code computes tree ensembles, SVDF with int8 state and signal operators, and LiteRT computes all other
operators.
``OperatorInterpreter`` has the methods of LiteRT's interpreter that Arenite uses, so that both can be used in the same
places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Subgraph, Tensor
from arenite.converters.graph.signal.operator import SignalOperator
from arenite.converters.graph.signal.operators import (
    SIGNAL_OPERATORS,
    is_signal_operator,
    signal_operator,
)
from arenite.converters.graph.single_operator import single_operator_model
from arenite.converters.graph.svdf import INPUT, Int8StateSvdf, has_int8_state
from arenite.converters.graph.trees import OPERATOR, ensemble_of, is_tree_ensemble
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError

#: Computes the outputs of an operator from the values of all tensors so far, by tensor index.
Step = Callable[[dict[int, np.ndarray]], Sequence[np.ndarray]]


def has_custom_operator(flatbuffer: bytes) -> bool:
    """Return whether a model may have a tree operator or a signal operator. The name of a custom operator is stored as
    text."""
    return any(name.encode() in flatbuffer for name in (OPERATOR, *SIGNAL_OPERATORS))


class OperatorInterpreter:
    """A model whose operators run one by one.

    ``kernels`` are LiteRT's kernels (``OpResolverType``) for the operators that LiteRT computes.

    Raises ``UnsupportedModelError`` for a tree ensemble beside other operators, for tables and options that are not
    valid, and for another operator with a state or several outputs, because LiteRT runs only single operators.
    """

    def __init__(self, flatbuffer: bytes, kernels: Any) -> None:
        self._graph = graph = parse(flatbuffer).main
        self._states: list[Int8StateSvdf | SignalOperator] = []
        trees = [is_tree_ensemble(op) for op in graph.ops]
        if any(trees) and not all(trees):
            other = graph.ops[trees.index(False)]
            raise UnsupportedModelError(
                f"operator {other.index} {other.name}: a model with {OPERATOR} has only operators of this kind.",
                "Convert the tree ensemble on its own.",
            )
        self._steps = [self._step(op, kernels) for op in graph.ops]
        self._values: dict[int, np.ndarray] = {}

    def _step(self, op: Op, kernels: Any) -> Step:
        if is_tree_ensemble(op):
            ensemble = ensemble_of(self._graph, op)
            return lambda values: (ensemble.evaluate(values[op.inputs[0]]),)
        if has_int8_state(self._graph, op):
            svdf = Int8StateSvdf(self._graph, op)
            self._states.append(svdf)
            return lambda values: (svdf.evaluate(values[op.inputs[INPUT]]),)
        if is_signal_operator(op):
            signal = signal_operator(self._graph, op)
            self._states.append(signal)
            return lambda _: signal.evaluate([self.get_tensor(i) for i in op.inputs])
        return _litert_step(self._graph, op, kernels)

    def allocate_tensors(self) -> None:
        for i in self._graph.inputs:
            tensor = self._graph.tensors[i]
            self._values[i] = np.zeros(tensor.shape, DTYPES[tensor.dtype])

    def reset_all_variables(self) -> None:
        """Set the states of all operators to those after a reset."""
        for operator in self._states:
            operator.reset()

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
        for op, step in zip(self._graph.ops, self._steps, strict=True):
            for index, value in zip(op.outputs, step(self._values), strict=True):
                self._values[index] = value.reshape(self._graph.tensors[index].shape)

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
            {"index": op.index, "op_name": op.kind, "inputs": op.inputs, "outputs": op.outputs}
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


def _litert_step(graph: Subgraph, op: Op, kernels: Any) -> Step:
    """Return a step that runs ``op`` alone in LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    if len(op.outputs) != 1 or any(i >= 0 and graph.tensors[i].is_variable for i in op.inputs):
        raise UnsupportedModelError(
            f"operator {op.index} {op.name}: it has a state or several outputs, in a model with a signal operator, or "
            "with an SVDF whose state is int8. There are no reference outputs for such a model.",
            "Divide the model. An SVDF gets an int16 state from TensorFlow's TFLiteConverter.",
        )
    single = single_operator_model(Model((graph,)), op)
    interpreter = Interpreter(
        model_content=to_flatbuffer(single), experimental_op_resolver_type=kernels, num_threads=1
    )
    interpreter.allocate_tensors()
    # The inputs of the single model are in the order of the operator's inputs, each tensor once.
    sources = [
        i
        for i in dict.fromkeys(op.inputs)
        if i >= 0 and not (graph.tensors[i].is_constant or graph.tensors[i].is_variable)
    ]
    places = [d["index"] for d in interpreter.get_input_details()]
    result = interpreter.get_output_details()[0]["index"]

    def run(values: dict[int, np.ndarray]) -> tuple[np.ndarray]:
        for source, place in zip(sources, places, strict=True):
            interpreter.set_tensor(place, values[source])
        interpreter.invoke()
        return (np.array(interpreter.get_tensor(result)),)

    return run
