"""The operator LOOP: a body that runs once per step, with values that are carried from step to step.

No model file has this operator. ``passes/loops`` makes it from the copies of a body that a file repeats, and
writes it as the operator WHILE of TFLite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from arenite.converters.graph.model import Op, Subgraph

#: The name of the operator. Its only option, ``loop``, is a ``Loop``.
LOOP = "LOOP"


class LoopPart(NamedTuple):
    """A tensor of the body, and the part of an input or output of LOOP that it holds in each step: the bytes from
    ``start + step * stride`` on."""

    inner: int  # index of a tensor of the body
    outer: int  # position among the inputs or outputs of LOOP
    start: int = 0
    stride: int = 0


@dataclass(frozen=True)
class Loop:
    """A body, and how its tensors are connected to the inputs and outputs of the operator.

    Before the first step, every tensor of ``initial`` is copied into the body. Before each step, the tensors of
    ``slices`` are copied into the body. After each step, the tensors of ``sequences`` are copied out of the body. Then,
    for each pair of ``carried``, the first tensor (an output of the body) is copied to the second (an input). After
    the last step, the tensors of ``finals`` are copied out of the body.
    """

    body: Subgraph
    steps: int
    initial: tuple[LoopPart, ...]
    slices: tuple[LoopPart, ...]
    sequences: tuple[LoopPart, ...]
    carried: tuple[tuple[int, int], ...]
    finals: tuple[LoopPart, ...]


def constant_bytes(graph: Subgraph) -> int:
    """Return the bytes of the constants of ``graph`` and of the bodies of its loops, as a file stores them."""
    loops = [loop for op in graph.ops if (loop := loop_of(op)) is not None]
    return sum(t.data_bytes for t in graph.tensors) + sum(constant_bytes(loop.body) for loop in loops)


def loop_of(op: Op) -> Loop | None:
    """Return the loop of a LOOP, or None for any other operator."""
    loop = op.options.get("loop") if op.name == LOOP else None
    assert loop is None or isinstance(loop, Loop)
    return loop
