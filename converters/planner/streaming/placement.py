"""Find offsets for blocks whose bytes have different lifetimes.

A ``PlacedBlock`` has one address. It is a set of rectangles: ranges of its bytes, each with the time in which these
bytes live. Time is counted in ticks. Two blocks may overlap in the arena if no rectangle of one overlaps a rectangle
of the other: a tensor can grow over rows of another tensor that are not needed any more. ``forbidden_distances``
returns the distances between two blocks that are not possible.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

#: Of the ``_PEAKS`` ticks with the most live bytes, every ``_PEAK_STEP``-th gives two orders of the blocks.
_PEAKS, _PEAK_STEP = 60, 6
#: One search places at most this number of blocks in all its placements, and tries at least this number of placements.
_MAX_PLACED, _MIN_PLACEMENTS = 60_000, 24


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

    @property
    def length(self) -> int:
        """The number of ticks from the first piece to the last."""
        return self.end - self.start


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
    return int(_live(blocks, ticks).max(initial=0))


def _live(blocks: Sequence[PlacedBlock], ticks: int) -> np.ndarray:
    """Return the number of live bytes at each tick."""
    change = np.zeros(ticks + 1, np.int64)
    for b in blocks:
        sizes = b.pieces[:, 1] - b.pieces[:, 0]
        np.add.at(change, b.pieces[:, 2], sizes)
        np.add.at(change, b.pieces[:, 3], -sizes)
    return np.cumsum(change)[:ticks]


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

    def place(self, order: Sequence[int], best_fit: bool = False) -> list[int]:
        """Place the blocks in ``order`` and return the offset of each block. A block gets its lowest free address. With
        ``best_fit`` it gets the gap with the fewest bytes left over, and a place above all others if it fits no gap."""
        offsets: dict[int, int] = {}
        for b in order:
            alignment = self._alignments[b]
            spans = sorted(
                (offsets[a] + x, offsets[a] + y)
                for a, distances in self._forbidden[b].items()
                if a in offsets
                for x, y in distances
            )
            at, gap, rest = 0, -1, 0
            for x, y in spans:
                # The block can begin at addresses from ``at`` to ``x``: later intervals begin above.
                if x >= at:
                    if not best_fit:
                        break
                    if gap < 0 or x - at < rest:
                        gap, rest = at, x - at
                if y > at:
                    at = -(-y // alignment) * alignment
            offsets[b] = at if gap < 0 else gap
        return [offsets[b] for b in range(len(self.blocks))]

    def top(self, offsets: Sequence[int]) -> int:
        """Return the arena bytes of a placement, rounded up to the alignment."""
        end = max((o + b.size for o, b in zip(offsets, self.blocks, strict=True)), default=0)
        return -(-end // self._alignment) * self._alignment

    def _orders(self) -> Iterator[list[int]]:
        """Yield the orders that are tried first."""
        blocks = self.blocks
        keys: list[Callable[[int], tuple[Any, ...]]] = [
            lambda k: (-blocks[k].size,),
            lambda k: (blocks[k].start, -blocks[k].size),
            lambda k: (-blocks[k].size * blocks[k].length,),
            lambda k: (-blocks[k].length, -blocks[k].size),
            lambda k: (-blocks[k].end, -blocks[k].size),
            # Rows in the order of time, after all other blocks.
            lambda k: (blocks[k].is_row, blocks[k].start * blocks[k].is_row, -blocks[k].size),
        ]
        # The blocks that live at a tick with many live bytes, then those that live shortly before or after it.
        for tick in np.argsort(-_live(blocks, max(b.end for b in blocks)), kind="stable")[
            :_PEAKS:_PEAK_STEP
        ].tolist():
            distance = [max(b.start - tick, tick - b.end + 1, 0) for b in blocks]
            keys.append(lambda k, d=distance: (d[k], -blocks[k].length, -blocks[k].size))  # type: ignore[misc]
            keys.append(lambda k, d=distance: (blocks[k].is_row, d[k], -blocks[k].size))  # type: ignore[misc]
        for key in keys:
            yield sorted(range(len(blocks)), key=lambda k: (*key(k), k))

    def search(self, bound: int, budget: int) -> tuple[list[int], int]:
        """Return the best offsets that were found, and the number of placements that were tried. The search stops after
        ``budget`` placements, which are fewer for very many blocks, or at an arena of at most ``bound`` bytes."""
        budget = min(budget, max(_MIN_PLACEMENTS, _MAX_PLACED // max(len(self.blocks), 1)))
        best: list[int] = []
        best_order: list[int] = []
        best_bytes, tried, best_fit = 0, 0, False
        for order, fit in product(self._orders(), (False, True)):
            offsets = self.place(order, fit)
            tried += 1
            if not best or self.top(offsets) < best_bytes:
                best, best_bytes, best_order, best_fit = offsets, self.top(offsets), order, fit
            if best_bytes <= bound or tried >= budget:
                return best, tried
        # Move a block to another position of the order: usually a block that reaches the top of the arena, sometimes
        # any.
        rng = random.Random(0)
        while tried < budget:
            order = list(best_order)
            ends = [o + b.size for o, b in zip(best, self.blocks, strict=True)]
            highest = max(ends)
            peaks = [k for k, end in enumerate(ends) if end == highest]
            k = rng.choice(peaks) if rng.random() < 0.6 else rng.randrange(len(order))
            order.remove(k)
            order.insert(rng.randrange(len(order) + 1), k)
            offsets = self.place(order, best_fit)
            tried += 1
            if self.top(offsets) <= best_bytes:
                best, best_bytes, best_order = offsets, self.top(offsets), order
            if best_bytes <= bound:
                break
        return best, tried
