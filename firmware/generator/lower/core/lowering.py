"""Lowerings: one class per operator that turns it into one kernel call with constant parameters."""

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
    """A constant array of structs; as a field value, the address of its first element."""

    c_type: str  # e.g. "ar_copy_piece"
    items: Sequence[Mapping[str, Any]]  # at least one


NULL = Expr("0")


def arena_address(offset: int) -> Expr:
    """Return the address ``offset`` bytes into the arena."""
    return Expr(f"AT({offset})")


@dataclass(frozen=True)
class KernelCall:
    """``kernel(&params)``.

    Field values are ints, ``Expr``s, lists (C arrays), mappings (nested structs) and ``StructArray``s. ``before``: the
    call that goes before it, each time.
    """

    kernel: str  # e.g. "ar_conv_2d_s8"
    header: str  # e.g. "conv_2d.h", which declares the kernel and its parameter struct
    sources: tuple[str, ...]  # engine files to compile, e.g. ("conv_2d_s8.c",)
    params_type: str  # e.g. "ar_conv_2d_params"
    fields: Mapping[str, Any] = field(default_factory=dict)
    before: KernelCall | None = None
    headers: tuple[str, ...] = ()  # others that declare what is in ``fields``

    @property
    def all(self) -> tuple[KernelCall, ...]:
        """This call and the one before it."""
        return (self,) if self.before is None else (self.before, self)


class LowerContext(ABC):
    """The tensors and addresses that a lowering uses for its call. Implemented by the generator."""

    graph: Subgraph
    op: Op
    target: Target

    @property
    def whole(self) -> Subgraph:
        """The graph as it was when its kernels were chosen; ``graph`` may show images of one row instead."""
        return self.graph

    def input(self, position: int) -> Tensor | None:
        """The input tensor at ``position``; None when it is absent."""
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
        """Address of an input: in the arena, or of a constant in flash; ``NULL`` when it is absent."""

    @abstractmethod
    def output_ptr(self, position: int = 0) -> Expr:
        """Address of an output, in the arena."""

    @abstractmethod
    def tensor_ptr(self, index: int) -> Expr:
        """Address of any tensor of the graph by index (LSTM intermediates and the like)."""

    @abstractmethod
    def variable_ptr(self, name: str) -> Expr:
        """Address of a resource variable's bytes."""

    @abstractmethod
    def weights(self, values: np.ndarray, hint: str) -> Expr:
        """Put weights or biases in flash (counted as model data); equal arrays are stored once."""

    @abstractmethod
    def table(self, values: np.ndarray, hint: str) -> Expr:
        """Put any other constant array in flash: multipliers, look-up tables, axis lists."""

    @abstractmethod
    def scratch_ptr(self, offset: int = 0) -> Expr:
        """Address ``offset`` bytes into this op's kernel scratch, of the size that ``Lowering.scratch`` gave."""

    @abstractmethod
    def state_ptr(self) -> Expr:
        """Address of this op's accumulators, of the size that ``RowRequirements.state`` gave; ``NULL`` without."""


class Lowering(ABC):
    """Base class. A subclass names its operator and implements ``check`` and ``lower``."""

    op_name: ClassVar[str]
    #: One line for docs/operators.md: types and limits, e.g. "int8 (per channel), int16x8; groups".
    supports: ClassVar[str] = ""
    #: Engine files that the operator may need, for docs/operators.md; a test compares them with what graphs use.
    kernels: ClassVar[tuple[str, ...]] = ()

    def check(self, graph: Subgraph, op: Op) -> None:  # noqa: B027 - an operator may have nothing to refuse
        """Raise the error of ``refuse`` for an op that this lowering cannot run exactly."""

    def scratch(self, graph: Subgraph, op: Op) -> int:
        """Bytes of kernel scratch, live only while the op runs."""
        return 0

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        """(input position, output position) pairs for which the output may overwrite the input exactly."""
        return ()

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        """(input position, output position) pairs whose bytes are identical."""
        return ()

    def macs(self, graph: Subgraph, op: Op) -> int:
        """Multiply-accumulates of one inference; 0 for operators without a matrix product."""
        return 0

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        """Return the requirements for running the op row by row with the parameters of its kernel; None where it
        cannot."""
        return None

    @abstractmethod
    def lower(self, ctx: LowerContext) -> KernelCall | None:
        """The call that runs the op; None when no code is needed (input and output share an address)."""


LOWERINGS: dict[str, Lowering] = {}


def register(cls: type[LoweringT]) -> type[LoweringT]:
    """Class decorator: one instance of ``cls`` lowers ``cls.op_name``."""
    if cls.op_name in LOWERINGS:
        raise ValueError(f"{cls.op_name} is registered twice")
    LOWERINGS[cls.op_name] = cls()
    return cls


def describe(op: Op) -> str:
    return f"operator {op.index} {op.custom_code if op.name == 'CUSTOM' else op.name}"


def refuse(op: Op, tensor: Tensor | None, why: str, hint: str) -> UnsupportedModelError:
    """The error to raise: names the operator, its index and the tensor."""
    where = f", tensor {tensor.index} '{tensor.name}'" if tensor is not None else ""
    return UnsupportedModelError(f"{describe(op)}{where}: {why}.", hint)


def accepted(form: T | None) -> T:
    """Return ``form``, which exists for every layer that ``check`` or ``suits`` has accepted. Raises ``ValueError``."""
    if form is None:
        raise ValueError("A layer was lowered with a kernel that does not suit it.")
    return form


def require_dtype(op: Op, tensor: Tensor, allowed: Sequence[str]) -> None:
    if tensor.dtype not in allowed:
        raise refuse(
            op,
            tensor,
            f"has type {tensor.dtype}, supported: {', '.join(allowed)}",
            "Quantize the model to int8 (or int16 activations) with per-channel weights: arenite convert does it.",
        )


def require_quantized(op: Op, tensor: Tensor) -> None:
    """Per-tensor quantization; int16 has zero point 0, as TFLite demands."""
    if tensor.quant is None or tensor.quant.per_axis:
        raise refuse(op, tensor, "must be quantized with one scale", "Quantize the model to int8 or int16.")
    if tensor.dtype == "int16" and tensor.zero_point != 0:
        raise refuse(
            op, tensor, f"zero point is {tensor.zero_point}, int16 needs 0", "Re-quantize the model."
        )


def require_constant(op: Op, tensor: Tensor | None, what: str) -> np.ndarray:
    """The constant value of ``tensor``, or a refusal when it is computed at run time."""
    if tensor is None or tensor.data is None:
        raise refuse(op, tensor, f"{what} must be constant", "Export the model with a constant there.")
    return tensor.data


def u16(op: Op, value: int, what: str) -> int:
    """``value`` for a 16-bit parameter field, or a refusal."""
    if not 0 <= value <= 0xFFFF:
        raise refuse(
            op, None, f"{what} is {value}, the limit is 65535", "Split the layer or shrink the input."
        )
    return value
