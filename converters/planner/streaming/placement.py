"""Find offsets for blocks whose bytes have different lifetimes.

A ``PlacedBlock`` has one address. It is a set of rectangles: ranges of its bytes, each with the time in which these
bytes live. Time is counted in ticks. Two blocks may overlap in the arena if no rectangle of one overlaps a rectangle
of the other: a tensor can grow over rows of another tensor that are not needed any more. ``forbidden_distances``
returns the distances between two blocks that are not possible.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PlacedBlock:
    """A block to place. ``key`` says what the block holds."""

    key: Hashable
    #: int64 [rectangles, 4]: first byte, end byte, first tick, end tick. Bytes are counted from the block's address.
    #: The end byte and the end tick are not part of the rectangle.
    pieces: np.ndarray = field(compare=False)
    #: Whether the block is one row of a tensor, which can have another alignment than the other blocks.
    is_row: bool = False

    @cached_property
    def size(self) -> int:
        return int(self.pieces[:, 1].max())

    @cached_property
    def start(self) -> int:
        return int(self.pieces[:, 2].min())

    @cached_property
    def end(self) -> int:
        return int(self.pieces[:, 3].max())


def block(key: Hashable, pieces: Sequence[tuple[int, int, int, int]]) -> PlacedBlock:
    """Return a block of the rectangles ``pieces`` (first byte, end byte, first tick, end tick). Adjacent rectangles
    with the same lifetime are joined."""
    joined: list[list[int]] = []
    for piece in sorted(pieces):
        if joined and joined[-1][1] == piece[0] and joined[-1][2:] == list(piece[2:]):
            joined[-1][1] = piece[1]
        else:
            joined.append(list(piece))
    return PlacedBlock(key, np.array(joined, np.int64))


def live_bytes(blocks: Sequence[PlacedBlock], ticks: int) -> int:
    """Return the largest number of live bytes at any tick, which is a lower bound of the arena. ``ticks`` is the
    number of ticks."""
    change = np.zeros(ticks + 1, np.int64)
    for b in blocks:
        sizes = b.pieces[:, 1] - b.pieces[:, 0]
        np.add.at(change, b.pieces[:, 2], sizes)
        np.add.at(change, b.pieces[:, 3], -sizes)
    return int(np.cumsum(change).max(initial=0))


def forbidden_distances(a: PlacedBlock, b: PlacedBlock) -> list[tuple[int, int]]:
    """Return the values of ``address(b) - address(a)`` for which a byte would belong to both blocks at the same time.
    They are disjoint, ascending intervals (low, high) without their ends."""
    if a.start >= b.end or b.start >= a.end:
        return []
    if len(a.pieces) == len(b.pieces) == 1:
        (p,), (q,) = a.pieces.tolist(), b.pieces.tolist()
        return [(p[0] - q[1], p[1] - q[0])]
    p, q = a.pieces[:, None, :], b.pieces[None, :, :]
    together = (p[..., 2] < q[..., 3]) & (q[..., 2] < p[..., 3])
    low = (p[..., 0] - q[..., 1])[together]
    high = (p[..., 1] - q[..., 0])[together]
    merged: list[tuple[int, int]] = []
    for i in np.argsort(low, kind="stable"):
        x, y = int(low[i]), int(high[i])
        if merged and x < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], y))
        else:
            merged.append((x, y))
    return merged


class BlockPlacer:
    """Places blocks one after the other, each at its lowest free address, and tries several orders."""

    def __init__(self, blocks: Sequence[PlacedBlock], alignment: int, row_alignment: int) -> None:
        self.blocks = tuple(blocks)
        self._alignment = alignment
        self._alignments = [row_alignment if b.is_row else alignment for b in blocks]
        #: For each block, the blocks that live at the same time, and the result of ``forbidden_distances`` for both.
        self._forbidden: list[dict[int, list[tuple[int, int]]]] = [{} for _ in blocks]
        started: list[int] = []
        for b in sorted(range(len(blocks)), key=lambda k: blocks[k].start):
            started = [a for a in started if blocks[a].end > blocks[b].start]
            for a in started:
                spans = forbidden_distances(blocks[a], blocks[b])
                if spans:
                    self._forbidden[b][a] = spans
                    self._forbidden[a][b] = [(-y, -x) for x, y in reversed(spans)]
            started.append(b)

    def place(self, order: Sequence[int]) -> list[int]:
        """Place the blocks in ``order`` and return the offset of each block."""
        offsets: dict[int, int] = {}
        for b in order:
            alignment = self._alignments[b]
            spans = sorted(
                (offsets[a] + x, offsets[a] + y)
                for a, distances in self._forbidden[b].items()
                if a in offsets
                for x, y in distances
            )
            at = 0
            for x, y in spans:
                # The block can begin at ``at``: the lower end x is free, and later intervals begin above.
                if x >= at:
                    break
                if y > at:
                    at = -(-y // alignment) * alignment
            offsets[b] = at
        return [offsets[b] for b in range(len(self.blocks))]

    def top(self, offsets: Sequence[int]) -> int:
        """Return the arena bytes of a placement, rounded up to the alignment."""
        end = max((o + b.size for o, b in zip(offsets, self.blocks, strict=True)), default=0)
        return -(-end // self._alignment) * self._alignment

    def search(self, bound: int, budget: int) -> tuple[list[int], int]:
        """Return the best offsets that were found, and the number of placements that were tried. The search stops after
        ``budget`` placements, or at an arena of at most ``bound`` bytes."""
        keys: list[Callable[[int], tuple[Any, ...]]] = [
            lambda k: (-self.blocks[k].size,),
            lambda k: (self.blocks[k].start, -self.blocks[k].size),
            lambda k: (-self.blocks[k].size * (self.blocks[k].end - self.blocks[k].start),),
            lambda k: (-(self.blocks[k].end - self.blocks[k].start), -self.blocks[k].size),
            lambda k: (-self.blocks[k].end, -self.blocks[k].size),
            # Rows in the order of time, after all other blocks or before all scratch.
            lambda k: (
                self.blocks[k].is_row,
                self.blocks[k].start * self.blocks[k].is_row,
                -self.blocks[k].size,
            ),
        ]
        best: list[int] = []
        best_order: list[int] = []
        best_bytes, tried = 0, 0
        for key in keys:
            order = sorted(range(len(self.blocks)), key=lambda k: (*key(k), k))
            offsets = self.place(order)
            tried += 1
            if not best or self.top(offsets) < best_bytes:
                best, best_bytes, best_order = offsets, self.top(offsets), order
        # Move a block to another position of the order: usually a block that reaches the top of the arena, sometimes
        # any.
        rng = random.Random(0)
        order = best_order
        while tried < budget and best_bytes > bound:
            order = list(order)
            ends = [o + b.size for o, b in zip(best, self.blocks, strict=True)]
            highest = max(ends)
            peaks = [k for k, end in enumerate(ends) if end == highest]
            k = rng.choice(peaks) if rng.random() < 0.6 else rng.randrange(len(order))
            order.remove(k)
            order.insert(rng.randrange(len(order) + 1), k)
            offsets = self.place(order)
            tried += 1
            if self.top(offsets) <= best_bytes:
                best, best_bytes, best_order = offsets, self.top(offsets), order
            else:
                order = best_order
        return best, tried
