"""The base class of lowerings, and functions that they share. A lowering turns one operator into one kernel call with
constant parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.target import Target

T = TypeVar("T")
LoweringT = TypeVar("LoweringT", bound="Lowering")


@dataclass(frozen=True)
class Expr:
    """A C expression that is constant at link time, such as ``arena + 128``."""

    text: str
    offset: int = 0  # bytes to add to an address


@dataclass(frozen=True)
class StructArray:
    """A constant array of structs. As a field value it stands for the address of its first element."""

    c_type: str  # e.g. "ar_copy_piece"
    items: Sequence[Mapping[str, Any]]  # at least one


NULL = Expr("0")


def arena_address(offset: int) -> Expr:
    """Return the address ``offset`` bytes into the arena. ``AT`` is a macro of the generated C file."""
    return Expr(f"AT({offset})")


@dataclass(frozen=True)
class KernelCall:
    """A call ``kernel(&params)`` in the generated C.

    Field values are ints, ``Expr``s, lists (C arrays), mappings (nested structs) and ``StructArray``s. ``before`` is a
    call that runs before this one each time.
    """

    kernel: str  # e.g. "ar_conv_2d_s8"
    header: str  # e.g. "conv_2d.h", which declares the kernel and its parameter struct
    sources: tuple[str, ...]  # engine files to compile, e.g. ("conv_2d_s8.c",)
    params_type: str  # e.g. "ar_conv_2d_params"
    fields: Mapping[str, Any] = field(default_factory=dict)
    before: KernelCall | None = None
    headers: tuple[str, ...] = ()  # further headers, which declare what ``fields`` uses
    body: tuple[KernelCall, ...] = ()  # the calls that this one repeats, for LOOP

    @property
    def all(self) -> tuple[KernelCall, ...]:
        """This call, the one before it, and those that it repeats."""
        own = (self,) if self.before is None else (self.before, self)
        return (*own, *(call for repeated in self.body for call in repeated.all))


class LowerContext(ABC):
    """The tensors and addresses that a lowering uses for its call. The generator implements it."""

    graph: Subgraph
    op: Op
    target: Target

    @property
    def full_graph(self) -> Subgraph:
        """The graph for which the kernels were chosen. If the op runs row by row, its images in ``graph`` have only one
        row."""
        return self.graph

    def input(self, position: int) -> Tensor | None:
        """Return the input tensor at ``position``, or None if it is absent."""
        index = self.op.input(position)
        return None if index < 0 else self.graph.tensors[index]

    def input_tensor(self, position: int) -> Tensor:
        """Return the input tensor at ``position``, which the operator must have. Raises ``UnsupportedModelError``."""
        tensor = self.input(position)
        if tensor is None:
            raise refuse(self.op, None, f"has no input {position}", "Export the model again with all inputs.")
        return tensor

    def output(self, position: int = 0) -> Tensor:
        return self.graph.tensors[self.op.outputs[position]]

    @abstractmethod
    def input_ptr(self, position: int) -> Expr:
        """Return the address of an input, in the arena or of a constant in flash; ``NULL`` if it is absent."""

    @abstractmethod
    def output_ptr(self, position: int = 0) -> Expr:
        """Return the address of an output, in the arena."""

    @abstractmethod
    def tensor_ptr(self, index: int) -> Expr:
        """Return the address of any tensor of the graph by its index (LSTM intermediates, for example)."""

    @abstractmethod
    def variable_ptr(self, name: str) -> Expr:
        """Return the address of a resource variable's bytes."""

    @abstractmethod
    def weights(self, values: np.ndarray, hint: str, tables: int = 0) -> Expr:
        """Put weights or biases into flash (counted as model data) and return their address. Equal arrays are stored
        once. ``tables`` of the bytes belong to tables between or behind the weights, and count as code."""

    @abstractmethod
    def table(self, values: np.ndarray, hint: str) -> Expr:
        """Put any other constant array into flash, such as multipliers, and return its address."""

    @abstractmethod
    def scratch_ptr(self, offset: int = 0) -> Expr:
        """Return the address ``offset`` bytes into this op's kernel scratch, whose size is ``Lowering.scratch``."""

    @abstractmethod
    def state_ptr(self) -> Expr:
        """Return the address of this op's accumulators, whose size is ``RowRequirements.state``; ``NULL`` if the op has
        none."""


class Lowering(ABC):
    """Base class of all lowerings. A subclass sets its operator and implements ``check`` and ``lower``."""

    op_name: ClassVar[str]
    #: One line for docs/operators.md: types and limits, e.g. "int8 (per channel), int16x8; groups".
    supports: ClassVar[str] = ""
    #: Engine files that the operator may need, for docs/operators.md. A test compares them with those that graphs use.
    kernels: ClassVar[tuple[str, ...]] = ()

    def check(self, graph: Subgraph, op: Op) -> None:  # noqa: B027 - an operator may have nothing to refuse
        """Raise the error of ``refuse`` if this lowering cannot run the op exactly."""

    def scratch(self, graph: Subgraph, op: Op) -> int:
        """Return the bytes of kernel scratch. They are in use only while the op runs."""
        return 0

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        """Return (input position, output position) pairs whose output may have the same arena address as the input."""
        return ()

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        """Return (input position, output position) pairs whose bytes are always identical, so that they share
        memory."""
        return ()

    def macs(self, graph: Subgraph, op: Op) -> int:
        """Return the multiply-accumulates of one inference; 0 for operators without a matrix product."""
        return 0

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        """Return the requirements for running the op row by row with the parameters of its kernel; None if that is not
        possible."""
        return None

    @abstractmethod
    def lower(self, ctx: LowerContext) -> KernelCall | None:
        """Return the call that runs the op; None if it needs no code (input and output share an address)."""


LOWERINGS: dict[str, Lowering] = {}


def register(cls: type[LoweringT]) -> type[LoweringT]:
    """Class decorator: register an instance of ``cls`` as the lowering of ``cls.op_name``."""
    if cls.op_name in LOWERINGS:
        raise ValueError(f"{cls.op_name} is registered twice")
    LOWERINGS[cls.op_name] = cls()
    return cls


def describe(op: Op) -> str:
    """Return the operator's index and name for a message."""
    return f"operator {op.index} {op.kind}"


def refuse(op: Op, tensor: Tensor | None, reason: str, hint: str) -> UnsupportedModelError:
    """Return the error to raise. Its message names the operator, its index and the tensor."""
    tensor_text = f", tensor {tensor.index} '{tensor.name}'" if tensor is not None else ""
    return UnsupportedModelError(f"{describe(op)}{tensor_text}: {reason}.", hint)


def require_accepted(value: T | None) -> T:
    """Return ``value``. It is not None for any layer that ``check`` or ``can_run`` has accepted. Raises ``ValueError``
    if it is None."""
    if value is None:
        raise ValueError("A layer was lowered with a kernel that cannot run it.")
    return value


def require_dtype(op: Op, tensor: Tensor, allowed: Sequence[str]) -> None:
    """Raise ``UnsupportedModelError`` unless the tensor's type is one of ``allowed``."""
    if tensor.dtype not in allowed:
        raise refuse(
            op,
            tensor,
            f"has type {tensor.dtype}, supported: {', '.join(allowed)}",
            "Quantize the model to int8 (or int16 activations) with per-channel weights: use arenite convert.",
        )


def require_quantized(op: Op, tensor: Tensor, *, any_zero_point: bool = False) -> None:
    """Raise ``UnsupportedModelError`` for a tensor without per-tensor quantization, and for an int16 tensor whose zero
    point is not 0, because TFLite requires 0. If ``any_zero_point`` is true, an int16 tensor may have any zero
    point."""
    if tensor.quant is None or tensor.quant.per_axis:
        raise refuse(op, tensor, "must be quantized with one scale", "Quantize the model to int8 or int16.")
    if tensor.dtype == "int16" and tensor.zero_point != 0 and not any_zero_point:
        raise refuse(
            op, tensor, f"zero point is {tensor.zero_point}, int16 needs 0", "Quantize the model again."
        )


def require_constant(op: Op, tensor: Tensor | None, name: str) -> np.ndarray:
    """Return the constant value of ``tensor``. Raises ``UnsupportedModelError`` if it is computed at run time."""
    if tensor is None or tensor.data is None:
        raise refuse(
            op, tensor, f"{name} must be constant", "Export the model with constant values for this input."
        )
    return tensor.data


def u16(op: Op, value: int, name: str) -> int:
    """Return ``value``. Raises ``UnsupportedModelError`` if it does not fit a 16-bit parameter field."""
    if not 0 <= value <= 0xFFFF:
        raise refuse(
            op, None, f"{name} is {value}, the limit is 65535", "Split the layer or shrink the input."
        )
    return value
