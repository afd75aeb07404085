"""The graph of a model: small immutable classes that follow the TFLite schema.

A ``Model`` holds subgraphs; a ``Subgraph`` holds tensors and operators by index, as in the file. This module
does not plan, lower or run graphs. All types are frozen: a pass creates new values with ``dataclasses.replace``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arenite.converters.graph.tensor import DTYPES as DTYPES
from arenite.converters.graph.tensor import PACKED_BITS as PACKED_BITS
from arenite.converters.graph.tensor import Quantization as Quantization
from arenite.converters.graph.tensor import Tensor as Tensor


@dataclass(frozen=True)
class Op:
    """One operator. ``inputs`` holds tensor indices, with -1 for an optional input that is absent.

    ``options`` is the builtin options table with snake_case keys (``stride_h``, ``fused_activation_function``)
    and the schema's integers as values. Arrays are tuples (``bytes`` for byte arrays); an absent array is None. The
    reader fills in the schema's defaults, so ``options`` has every field of the operator's options table.
    """

    index: int
    name: str  # the schema's BuiltinOperator name, e.g. "CONV_2D"; "CUSTOM" for custom operators
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    options_type: str = ""  # the schema's options table, e.g. "Conv2DOptions"; "" for none
    version: int = 1
    custom_code: str = ""
    custom_options: bytes = b""
    intermediates: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """The builtin name of the operator or, for a custom operator, its custom name."""
        return self.custom_code if self.name == "CUSTOM" else self.name

    def input(self, position: int) -> int:
        """Return the tensor index at ``position``, or -1 if that input is absent or not listed."""
        return self.inputs[position] if position < len(self.inputs) else -1


@dataclass(frozen=True)
class Subgraph:
    """A graph of operators over tensors.

    Each tensor that an operator reads, or that the subgraph returns, is a constant, a variable, a subgraph input, or
    the output of exactly one operator, which comes earlier.
    """

    name: str
    tensors: tuple[Tensor, ...]
    ops: tuple[Op, ...]  # in execution order
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def in_tensors(self, op: Op) -> Iterator[Tensor]:
        """Return the inputs of ``op`` that are present."""
        return (self.tensors[i] for i in op.inputs if i >= 0)

    def out_tensors(self, op: Op) -> Iterator[Tensor]:
        """Return the outputs of ``op`` that are present."""
        return (self.tensors[i] for i in op.outputs if i >= 0)


@dataclass(frozen=True)
class Signature:
    """The names of the inputs and outputs of a subgraph, as in TFLite. ``key`` is the signature's name."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]  # (name, tensor index)
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Model:
    """The content of a model file."""

    subgraphs: tuple[Subgraph, ...]
    description: str = ""
    metadata: Mapping[str, bytes] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    repairs: tuple[str, ...] = ()  # one sentence for each repair that the importer made

    @property
    def main(self) -> Subgraph:
        """The subgraph that runs when the model is invoked: the first."""
        return self.subgraphs[0]

    def with_main(self, graph: Subgraph) -> Model:
        """Return the model with ``graph`` as its first subgraph."""
        return replace(self, subgraphs=(graph, *self.subgraphs[1:]))
