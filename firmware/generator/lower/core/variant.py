"""Variants: faster kernels of an operator, with the conditions under which each is exact and saves more than it
costs."""

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
    """One kernel that can stand in for an operator's own. Among those that suit, the highest priority runs."""

    op_name: ClassVar[str]
    tiers: ClassVar[tuple[str, ...]]
    priority: ClassVar[int] = 0
    #: Engine files that it needs, for docs/operators.md.
    kernels: ClassVar[tuple[str, ...]] = ()
    #: The kernel's C function for one output row (``ar_row_fn`` in stream.h), of a convolution; "" for none.
    row_function: ClassVar[str] = ""
    #: Whether it keeps weights packed in flash.
    packed: ClassVar[bool] = False

    @abstractmethod
    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        """Whether the kernel computes exactly the operator's bytes here and is faster. ``check`` has accepted the
        op."""

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        """Bytes of kernel scratch, live only while the op runs."""
        return 0

    def in_place(self, graph: Subgraph, op: Op, target: Target) -> tuple[tuple[int, int], ...]:
        """(input position, output position) pairs for which the output may overwrite the input exactly."""
        return ()

    def rows(self, graph: Subgraph, op: Op, target: Target) -> RowRequirements | None:
        """Return the requirements for running row by row with the parameters of ``lower``; None where it cannot. With
        ``row_alone`` ``lower`` sees an image of one row. Images of one column do not: kernels may turn them."""
        column = graph.tensors[op.inputs[0]].shape[2:3] == (1,)
        if self.row_function and op.name in ("CONV_2D", "DEPTHWISE_CONV_2D") and not column:
            row_needs = convolution_rows(graph, op, self.row_function)
            if row_needs is not None:
                seen = one_row(graph, op) if row_needs.row_alone else graph
                return replace(row_needs, scratch=self.scratch(seen, op, target))
        return None

    @abstractmethod
    def lower(self, ctx: LowerContext) -> KernelCall:
        """The call that runs the op."""


_VARIANTS: dict[str, list[Variant]] = {}


def variant(cls: type[VariantT]) -> type[VariantT]:
    """Class decorator: one instance of ``cls`` is offered for ``cls.op_name``."""
    known = _VARIANTS.setdefault(cls.op_name, [])
    known.append(cls())
    known.sort(key=lambda v: -v.priority)
    return cls


def kernels_of(op_name: str) -> tuple[str, ...]:
    """Engine files that any variant of an operator may need, sorted."""
    return tuple(sorted({name for v in _VARIANTS.get(op_name, ()) for name in v.kernels}))


def suitable(graph: Subgraph, op: Op, target: Target) -> Iterator[Variant]:
    """The variants for weights as they are that can run ``op`` on ``target``, the best first."""
    for candidate in _VARIANTS.get(op.name, ()):
        if not candidate.packed and target.tier in candidate.tiers and candidate.suits(graph, op, target):
            yield candidate


def variant_of(graph: Subgraph, op: Op, target: Target) -> Variant | None:
    """The variant that runs ``op`` on ``target``; None when the operator's own kernel does.

    Where flash counts, only variants with packed weights: the others gain their speed with more code and tables.
    """
    for candidate in _VARIANTS.get(op.name, ()):
        if target.optimise == "flash" and not candidate.packed:
            continue
        if target.tier in candidate.tiers and candidate.suits(graph, op, target):
            return candidate
    return None
