"""The times at which the blocks of a streaming plan live, and the blocks themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.lifetimes import ArenaRequirements, lifetimes, value_lifetimes
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import ROW_ALIGNMENT, state_layout
from arenite.converters.planner.streaming.placement import PlacedBlock, block
from arenite.converters.planner.streaming.schedule import (
    Schedule,
    fewest_slots,
    height,
    overwritten_rows,
    row_bytes,
    row_needs,
)


@dataclass(frozen=True)
class ValueBlock:
    """The key of a block that holds ``values`` (indices of ``ArenaRequirements.values``). Each value overwrites
    the previous value, at the same address."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class RowBlock:
    """The key of a block that holds rows of tensors that are never completely in memory, as (tensor, row). Each
    row overwrites the previous row, at the same address."""

    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RowsBlock:
    """The key of the rows of a tensor that is never completely in memory, before each becomes a block."""

    tensor: int


@dataclass(frozen=True)
class RingBlock:
    """The key of a block that holds all rows of a tensor that is never completely in memory: row r is in slot r modulo
    ``slots``. Slots have ``slot_bytes``."""

    tensor: int
    slots: int
    slot_bytes: int


@dataclass(frozen=True)
class ScratchBlock:
    """The key of the scratch of operator ``op``."""

    op: int


@dataclass(frozen=True)
class SegmentState:
    """The key of the working memory of the segment that begins at position ``first`` of the order."""

    first: int


@dataclass(frozen=True)
class PlanItem:
    """One operator on complete tensors (``schedule`` is None), or a segment, at positions [first, end) of the order."""

    first: int
    end: int
    schedule: Schedule | None
    live: int  # the largest number of bytes that live at the same time while the item runs
    extra: int  # the estimated number of instructions that running by rows takes in addition


@dataclass(frozen=True)
class OrderedGraph:
    """A graph with an order of its operators. ``streamed_input`` has the same meaning as for ``plan_streaming``."""

    graph: Subgraph
    needs: Sequence[OpRequirements]
    requirements: ArenaRequirements
    order: tuple[int, ...]
    streamed_input: int | None

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """(first step, end step) of each value."""
        return value_lifetimes(self.requirements, self.order)

    @cached_property
    def position(self) -> dict[int, int]:
        """The position of each operator in the order."""
        return {k: p for p, k in enumerate(self.order)}

    def state_bytes(self, schedule: Schedule) -> int:
        """Return the size of the working memory of a segment."""
        rows = tuple(row_needs(self.needs, k) for k in schedule.stages)
        return state_layout(rows, len(schedule.sources)).size


class RowPlacing(Enum):
    """How the rows of tensors that are never completely in memory are placed."""

    IN_PLACE = (
        auto()
    )  # each row has an address; output rows overwrite input rows where the operator allows it
    SEPARATE = auto()  # each row has an address
    RING = auto()  # a tensor has one address: it is a ring buffer of slots for rows


class Timeline:
    """The times at which the blocks of a sequence of items live, in ticks. An operator on complete tensors takes one
    tick, a segment one tick per step of its schedule. ``placing`` says which blocks hold the rows of tensors that are
    never completely in memory, see ``RowPlacing``."""

    def __init__(
        self, ordered: OrderedGraph, items: Sequence[PlanItem], placing: RowPlacing = RowPlacing.IN_PLACE
    ) -> None:
        self.ordered, self.items = ordered, items
        self.graph, self.requirements, self.order = ordered.graph, ordered.requirements, ordered.order
        self.tick: dict[int, int] = {}  # position -> the first tick of its item
        self.after: dict[int, int] = {}  # position -> the tick after its item
        self.item_of: dict[int, PlanItem] = {}  # operator -> the segment of which it is a stage
        self.pairs: tuple[tuple[int, int, int], ...] = ()  # (operator, input, output) of overwritten inputs
        at = 0
        for item in items:
            length = 1 if item.schedule is None else len(item.schedule.entries)
            for p in range(item.first, item.end):
                self.tick[p], self.after[p] = at, at + length
                if item.schedule is not None:
                    self.item_of[self.order[p]] = item
            at += length
        self.ticks = at
        self.overwritten: dict[tuple[int, int], tuple[int, int]] = {}  # see ``overwritten_rows``
        self.placing = placing
        for item in items if placing is RowPlacing.IN_PLACE else ():
            if (schedule := item.schedule) is not None:
                inside = {t for t in schedule.rows if self.is_inside(t, schedule)}
                self.overwritten |= overwritten_rows(self.graph, ordered.needs, schedule, inside)

    def is_inside(self, t: int, schedule: Schedule) -> bool:
        """Return whether tensor ``t`` lives only inside a segment, so that it is never completely in memory."""
        value = self.requirements.values[self.requirements.value_of[t]]
        written_here = value.writer in schedule.stages or t == self.ordered.streamed_input
        return written_here and not value.stays and value.readers <= set(schedule.stages)

    def blocks(self, row_alignment: int = ROW_ALIGNMENT) -> list[PlacedBlock]:
        """Return the blocks of the items. If the items are only a part of the order, return only the blocks of their
        segments. Slots of ring buffers are aligned to ``row_alignment``."""
        placed_blocks = []
        pieces: dict[tuple[int, int], np.ndarray] = {}
        for b in self.joined_blocks():
            if isinstance(b.key, RowsBlock) and self.placing is RowPlacing.RING:
                placed_blocks.append(self._ring(b.key.tensor, b.pieces, row_alignment))
            elif isinstance(b.key, RowsBlock):
                pieces |= {(b.key.tensor, r): b.pieces[r : r + 1] for r in range(len(b.pieces))}
            else:
                placed_blocks.append(b)
        follows = {before: after for after, before in self.overwritten.items()}
        for row in pieces:
            if row not in self.overwritten:
                chain = [row]
                while chain[-1] in follows:
                    chain.append(follows[chain[-1]])
                together = np.concatenate([pieces[r] for r in chain])
                placed_blocks.append(PlacedBlock(RowBlock(tuple(chain)), together, is_row=True))
        return placed_blocks

    def _ring(self, t: int, rows: np.ndarray, alignment: int) -> PlacedBlock:
        """Return the ring buffer of tensor ``t``. ``rows`` has the piece of each row, see ``joined_blocks``."""
        slots = max(
            fewest_slots(s.rows[t]) for i in self.items if (s := i.schedule) is not None and t in s.rows
        )
        slot_bytes = -(-row_bytes(self.graph.tensors[t]) // alignment) * alignment
        slot = np.arange(len(rows)) % slots * slot_bytes
        return PlacedBlock(RingBlock(t, slots, slot_bytes), rows + slot[:, None] * [1, 1, 0, 0])

    def joined_blocks(self) -> list[PlacedBlock]:
        """Return ``blocks``, but with one block for all rows of a tensor that is never completely in memory. They all
        begin at byte 0 of this block, so it has the right number of live bytes but cannot be placed."""
        streamed: dict[int, int] = {}  # value -> its tensor that has rows
        for item in self.items:
            if item.schedule is not None:
                streamed.update((self.requirements.value_of[t], t) for t in item.schedule.rows)
        placed_blocks = []
        if len(self.tick) == len(self.order):
            placed_blocks += self._all_values(streamed)
        else:
            placed_blocks += [self._streamed_block(v, t) for v, t in streamed.items()]
        for item in self.items:
            if item.schedule is None:
                continue
            begin = self.tick[item.first]
            end = begin + len(item.schedule.entries)
            size = self.ordered.state_bytes(item.schedule)
            placed_blocks.append(block(SegmentState(item.first), [(0, size, begin, end)]))
            for s, k in enumerate(item.schedule.stages):
                scratch = row_needs(self.ordered.needs, k).scratch
                runs = [begin + n for n, e in enumerate(item.schedule.entries) if e == s]
                if scratch:
                    placed_blocks.append(block(ScratchBlock(k), [(0, scratch, n, n + 1) for n in runs]))
        return placed_blocks

    def _all_values(self, streamed: Mapping[int, int]) -> list[PlacedBlock]:
        """Return the blocks of all values, and of the scratch of operators on complete tensors. If such an operator
        overwrites an input, the input and the output are one block. ``streamed`` maps a value to its tensor with
        rows."""
        in_place = {k: () if k in self.item_of else pairs for k, pairs in self.requirements.in_place.items()}
        scratch = {k: size for k, size in self.requirements.scratch.items() if k not in self.item_of}
        buffers, self.pairs = lifetimes(
            replace(self.requirements, in_place=in_place, scratch=scratch), self.order
        )
        spans = self.ordered.spans
        placed_blocks = []
        for b in buffers:
            if b.scratch is not None:
                pieces = [(0, size, self.tick[x], self.after[y - 1]) for x, y, size in b.pieces]
                placed_blocks.append(block(ScratchBlock(b.scratch), pieces))
                continue
            if len(b.values) == 1 and b.values[0] in streamed:
                placed_blocks.append(self._streamed_block(b.values[0], streamed[b.values[0]]))
                continue
            pieces = []
            for n, v in enumerate(b.values):
                first, end = spans[v]
                if v in streamed:
                    own = self._row_rectangles(v, streamed[v])
                else:
                    own = [(0, self.requirements.values[v].size, self.tick[first], self.after[end - 1])]
                # In the tick of the operator that overwrites its input, the bytes belong to the input.
                since = self.after[first] if n else 0
                pieces += [(a, z, max(x, since), y) for a, z, x, y in own if y > since]
            placed_blocks.append(block(ValueBlock(b.values), pieces))
        return placed_blocks

    def _streamed_block(self, v: int, t: int) -> PlacedBlock:
        """Return the block of value ``v``, whose rows are rows of tensor ``t``. See ``joined_blocks``."""
        rectangles = self._row_rectangles(v, t)
        item = next((i for i in self.items if i.schedule is not None and t in i.schedule.rows), None)
        assert item is not None and item.schedule is not None
        if not self.is_inside(t, item.schedule):
            return block(ValueBlock((v,)), rectangles)
        size = row_bytes(self.graph.tensors[t])
        # In the tick in which a row overwrites another row, the bytes belong to the other row.
        pieces = [(0, size, b + ((t, r) in self.overwritten), e) for r, (_, _, b, e) in enumerate(rectangles)]
        return PlacedBlock(RowsBlock(t), np.array(pieces, np.int64))

    def _row_rectangles(self, v: int, t: int) -> list[tuple[int, int, int, int]]:
        """Return the rectangles (see ``PlacedBlock``) of value ``v``, whose rows are rows of tensor ``t``. Each row
        lives from the tick that computes it to the last tick that reads it."""
        value, tensor = self.requirements.values[v], self.graph.tensors[t]
        rows, size = height(tensor), row_bytes(tensor)
        begin = [0] * rows
        end = [0] * rows
        is_whole_order = len(self.tick) == len(self.order)
        position = self.ordered.position
        writer = value.writer
        if writer is not None and writer not in self.item_of and position[writer] in self.tick:
            begin = [self.tick[position[writer]]] * rows
        for item in {
            i.first: i for k in (*value.readers, writer) if (i := self.item_of.get(-1 if k is None else k))
        }.values():
            assert item.schedule is not None
            if t not in item.schedule.rows:
                continue
            life, at = item.schedule.rows[t], self.tick[item.first]
            if life.written[0] >= 0:
                begin = [at + w for w in life.written]
            end = [max(e, at + r + 1) for e, r in zip(end, life.read, strict=True)]
        for k in value.readers - self.item_of.keys():
            if position[k] in self.tick:
                end = [max(e, self.after[position[k]]) for e in end]
        read_outside = not is_whole_order and any(position[k] not in self.tick for k in value.readers)
        if value.stays or (read_outside and self._run_later(value.readers)):
            end = [self.ticks] * rows
        end = [max(e, b + 1) for b, e in zip(begin, end, strict=True)]
        return [(r * size, (r + 1) * size, b, e) for r, (b, e) in enumerate(zip(begin, end, strict=True))]

    def _run_later(self, readers: frozenset[int]) -> bool:
        """Return whether one of the operators ``readers`` runs after the items."""
        return any(self.ordered.position[k] >= self.items[-1].end for k in readers)
