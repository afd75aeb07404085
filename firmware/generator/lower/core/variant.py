"""The base class and the register of variants: faster kernels of an operator, with the conditions under which each is
exact and saves more than it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, TypeVar

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.core.row_functions import convolution_rows, one_row
from arenite.firmware.generator.target import Target

VariantT = TypeVar("VariantT", bound="Variant")


class Variant(ABC):
    """A kernel that can replace an operator's default kernel. If several variants can run an op, the one with the
    highest ``priority`` does."""

    op_name: ClassVar[str]
    #: The instruction sets (``Target.tier``) for which the kernel is chosen.
    tiers: ClassVar[tuple[str, ...]]
    priority: ClassVar[int] = 0
    #: Engine files that the kernel needs, for docs/operators.md.
    kernels: ClassVar[tuple[str, ...]] = ()
    #: For a convolution: the kernel's C function for one output row (``ar_row_fn`` in stream.h), or "".
    row_function: ClassVar[str] = ""
    #: Whether the kernel keeps weights packed in flash.
    packed: ClassVar[bool] = False
    #: Whether builds for small flash use the kernel.
    compact: ClassVar[bool] = False

    @abstractmethod
    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        """Return whether the kernel is faster for this op and computes exactly the bytes of the default kernel. The op
        was accepted by ``Lowering.check``."""

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Return the bytes of kernel scratch. They are in use only while the op runs."""
        return 0

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """Return (input position, output position) pairs whose output may have the same arena address as the input."""
        return ()

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        """Return the requirements for running row by row with the parameters of ``lower``; None if that is not
        possible. If ``RowRequirements.row_alone`` is true, ``lower`` gets an image of one row. Images of one column
        cannot run row by row, because kernels may transpose them into one row."""
        is_column = graph.tensors[op.inputs[0]].shape[2:3] == (1,)
        if self.row_function and op.name in ("CONV_2D", "DEPTHWISE_CONV_2D") and not is_column:
            row_needs = convolution_rows(graph, op, self.row_function)
            if row_needs is not None:
                row_graph = one_row(graph, op) if row_needs.row_alone else graph
                return replace(row_needs, scratch=self.scratch(row_graph, op, target))
        return None

    @abstractmethod
    def lower(self, ctx: LowerContext) -> KernelCall:
        """Return the call that runs the op."""


_VARIANTS: dict[str, list[Variant]] = {}


def variant(cls: type[VariantT]) -> type[VariantT]:
    """Class decorator: register an instance of ``cls`` as a variant of ``cls.op_name``."""
    variants = _VARIANTS.setdefault(cls.op_name, [])
    variants.append(cls())
    variants.sort(key=lambda v: -v.priority)
    return cls


def kernels_of(op_name: str) -> tuple[str, ...]:
    """Return the engine files that any variant of an operator may need, sorted."""
    return tuple(sorted({name for v in _VARIANTS.get(op_name, ()) for name in v.kernels}))


def runnable_variants(graph: Subgraph, op: Op, target: Target) -> Iterator[Variant]:
    """Yield the variants for unpacked weights that can run ``op`` on ``target``, the one with the highest priority
    first."""
    for candidate in _VARIANTS.get(op.kind, ()):
        if not candidate.packed and target.tier in candidate.tiers and candidate.can_run(graph, op, target):
            yield candidate


def variant_of(graph: Subgraph, op: Op, target: Target) -> Variant | None:
    """Return the variant that runs ``op`` on ``target``; None if the operator's default kernel runs it.

    Builds for small flash use only variants with packed weights and compact variants, because other variants need more
    code and tables.
    """
    for candidate in _VARIANTS.get(op.kind, ()):
        if target.optimise == "flash" and not (candidate.packed or candidate.compact):
            continue
        if target.tier in candidate.tiers and candidate.can_run(graph, op, target):
            return candidate
    return None
