"""Solve tiny planning problems by brute force, independently of the planner's methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.lifetimes import Buffer


def size_at(buffer: Buffer, step: int) -> int:
    """Return the bytes that the block takes at ``step``, or 0 if it is not live."""
    return next((size for start, end, size in buffer.pieces if start <= step < end), 0)


def clash(a: Buffer, at_a: int, b: Buffer, at_b: int) -> bool:
    """Return whether block ``a`` at offset ``at_a`` and block ``b`` at offset ``at_b`` share a byte at some step."""
    for step in range(max(a.end, b.end)):
        size_a, size_b = size_at(a, step), size_at(b, step)
        if size_a and size_b and at_a < at_b + size_b and at_b < at_a + size_a:
            return True
    return False


def live_sum(buffers: Sequence[Buffer]) -> int:
    """Return the largest number of bytes that are live at one step."""
    steps = max((b.end for b in buffers), default=0)
    return max((sum(size_at(b, t) for b in buffers) for t in range(steps)), default=0)


def smallest_arena(buffers: Sequence[Buffer], unit: int) -> int:
    """Return the size of the smallest arena in bytes. Try every multiple of ``unit`` as the offset of every block."""
    limit = live_sum(buffers)
    while not _fits(buffers, [], unit, limit):
        limit += unit
    return limit


def _fits(buffers: Sequence[Buffer], placed: list[int], unit: int, limit: int) -> bool:
    """Return whether all blocks fit into ``limit`` bytes. ``placed`` has the offsets of the first blocks."""
    if len(placed) == len(buffers):
        return True
    block = buffers[len(placed)]
    for offset in range(0, limit - block.size + 1, unit):
        free = not any(
            clash(block, offset, placed_buffer, at)
            for placed_buffer, at in zip(buffers, placed, strict=False)
        )
        if free and _fits(buffers, [*placed, offset], unit, limit):
            return True
    return False


def orders(graph: Subgraph) -> Iterator[tuple[int, ...]]:
    """Yield every topological order of a graph without state, as operator indices."""
    writer = {t: op.index for op in graph.ops for t in op.outputs}
    for order in permutations(range(len(graph.ops))):
        step = {k: p for p, k in enumerate(order)}
        if all(step[writer[t]] < step[op.index] for op in graph.ops for t in op.inputs if t in writer):
            yield order
