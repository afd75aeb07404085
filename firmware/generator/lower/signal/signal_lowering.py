"""The base class of the lowerings of signal operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.signal.operator import SignalOperator
from arenite.converters.graph.signal.operators import signal_operator
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, Lowering

OperatorT = TypeVar("OperatorT", bound=SignalOperator)


class SignalLowering(Lowering, Generic[OperatorT]):
    """A signal operator with one kernel. A subclass sets the kernel and returns the fields of its parameters."""

    operator: type[OperatorT]
    kernel: ClassVar[str]  # e.g. "signal_rfft": the kernel's file, function and parameter struct
    header: ClassVar[str]
    overwrites_input: ClassVar[bool] = False  # whether output 0 may overwrite input 0

    def checked(self, graph: Subgraph, op: Op) -> OperatorT:
        """Return the operator. Raises ``UnsupportedModelError`` if the kernel cannot compute it."""
        operator = signal_operator(graph, op)
        assert isinstance(operator, self.operator)
        return operator

    def check(self, graph: Subgraph, op: Op) -> None:
        self.checked(graph, op)

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),) if self.overwrites_input else ()

    @abstractmethod
    def fields(self, ctx: LowerContext, operator: OperatorT) -> Mapping[str, Any]:
        """Return the fields of the parameters, without the addresses of input 0 and output 0."""

    def lower(self, ctx: LowerContext) -> KernelCall:
        fields = {"input": ctx.input_ptr(0), "output": ctx.output_ptr()}
        fields |= self.fields(ctx, self.checked(ctx.graph, ctx.op))
        name = f"ar_{self.kernel}"
        return KernelCall(name, self.header, self.kernels, f"{name}_params", fields)
