"""The base class of signal operators: their tensors, and their options, which are the map of a flexbuffer."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from flatbuffers import flexbuffers

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.errors import UnsupportedModelError

_HINT = (
    "The file is damaged, or it was not made with TensorFlow Lite Micro's signal library: export it again."
)

#: The errors that reading a damaged flexbuffer can cause.
_DAMAGE = (
    struct.error,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    AttributeError,
    AssertionError,
    RecursionError,
    NotImplementedError,
)


class SignalOperator(ABC):
    """A checked signal operator of a graph, and its state.

    ``inputs`` and ``outputs`` of a class have (type, number of dimensions or None for any) of each tensor. Its
    constructor raises ``UnsupportedModelError`` for other tensors, and for options that are missing or out of range.
    """

    inputs: ClassVar[tuple[tuple[str, int | None], ...]]
    outputs: ClassVar[tuple[tuple[str, int | None], ...]]

    def __init__(self, graph: Subgraph, op: Op) -> None:
        self.op = op
        self._graph = graph
        for name, indices, expected in (
            ("inputs", op.inputs, self.inputs),
            ("outputs", op.outputs, self.outputs),
        ):
            self.require(
                len(indices) == len(expected), f"has {len(indices)} {name}, expected {len(expected)}"
            )
            for index, (dtype, rank) in zip(indices, expected, strict=True):
                self.require(index >= 0, "an input is absent")
                tensor = graph.tensors[index]
                self.require(
                    tensor.dtype == dtype and rank in (None, len(tensor.shape)),
                    f"tensor {index} '{tensor.name}' is {tensor.dtype} {list(tensor.shape)}, expected {dtype}"
                    + ("" if rank is None else f" with {rank} dimensions"),
                )

    def require(self, condition: bool, problem: str) -> None:
        """Raise ``UnsupportedModelError`` with the text ``problem`` unless ``condition`` is true."""
        if not condition:
            raise UnsupportedModelError(f"operator {self.op.index} {self.op.kind}: {problem}.", _HINT)

    def require_one_shape(self, *tensors: Tensor) -> None:
        """Raise ``UnsupportedModelError`` unless all tensors have the same shape."""
        shapes = [list(tensor.shape) for tensor in tensors]
        self.require(all(s == shapes[0] for s in shapes), f"its tensors have different shapes: {shapes}")

    def input(self, position: int) -> Tensor:
        return self._graph.tensors[self.op.inputs[position]]

    def output(self, position: int = 0) -> Tensor:
        return self._graph.tensors[self.op.outputs[position]]

    def constant(self, position: int, name: str) -> np.ndarray:
        """Return the constant input at ``position``."""
        data = self.input(position).data
        self.require(data is not None and data.size > 0, f"its {name} must be constant and not empty")
        assert data is not None
        return data

    def option(self, name: str, low: int, high: int) -> int:
        """Return an option that must be from ``low`` to ``high``."""
        value = self._map_value(name)
        self.require(
            isinstance(value, int) and low <= value <= high,
            f"its option '{name}' is {value}, expected a whole number from {low} to {high}",
        )
        return int(value)

    def _map_value(self, name: str) -> Any:
        """Return the value of ``name`` in the map of the custom options; None if there is none."""
        try:
            value = flexbuffers.GetRoot(bytearray(self.op.custom_options)).AsMap[name]
            return value.AsInt if value.IsInt or value.IsBool else None
        except _DAMAGE:
            return None

    @property
    def state_bytes(self) -> int:
        """The bytes that the operator keeps from one inference to the next. They are zeros after a reset."""
        return 0

    def reset(self) -> None:
        """Set the state to that after a reset."""
        return

    @abstractmethod
    def evaluate(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for the inputs ``values``, and change the state."""
