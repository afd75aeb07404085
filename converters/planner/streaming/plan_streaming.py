"""Compute a streaming plan: the operators that run row by row, and the address of every row.

The order of the operators is cut into items. An item is one operator on complete tensors, or a segment: several
operators that run together, row by row. Between two items only complete tensors live, so the live bytes during an
item do not depend on the other cuts. The best cuts are found by dynamic programming: for a limit on the bytes, the
cuts with the fewest extra instructions. The bytes of a segment are first estimated by its live bytes. When a segment
is part of a candidate, its blocks are placed, and the bytes of this placement replace the estimate. Limits are tried
in ascending order until no larger limit can give a smaller arena than the best placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.lifetimes import ArenaRequirements, arena_requirements
from arenite.converters.planner.operator_order import best_order
from arenite.converters.planner.plan import ALIGNMENT, Plan, SearchStatistics, Segment
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import MAX_PLACES, ROW_ALIGNMENT
from arenite.converters.planner.streaming.cuts import alternatives, cheapest_cut
from arenite.converters.planner.streaming.placement import BlockPlacer, live_bytes
from arenite.converters.planner.streaming.schedule import is_streamable, make_schedule, row_needs
from arenite.converters.planner.streaming.timeline import (
    OrderedGraph,
    PlanItem,
    RingBlock,
    RowBlock,
    RowPlacing,
    ScratchBlock,
    SegmentState,
    Timeline,
    ValueBlock,
)
from arenite.errors import PlanError

#: The number of placements that are tried for one candidate (a sequence of items), and for one segment.
PLACEMENTS = 300
SEGMENT_PLACEMENTS = 60
#: The maximum number of candidates whose blocks are placed.
MAX_CUTS = 8
#: The maximum number of stages (operators) of a segment. It limits the number of segments to examine.
MAX_SEGMENT_STAGES = 20
#: The maximum live bytes of a segment that is extended by another operator, relative to the largest live bytes of an
#: operator on complete tensors. The ratio is above 1, because another operator can lower the live bytes: the output of
#: the operator before it is then no longer completely in memory.
_MAX_LIVE_RATIO = 1.25
#: The maximum number of states of the order search.
ORDER_BUDGET = 10000


def plan_streaming(
    graph: Subgraph,
    needs: Sequence[OpRequirements],
    *,
    alignment: int = ALIGNMENT,
    streamed_input: int | None = None,
    extra_limit: int | None = None,
) -> Plan | None:
    """Return the plan with the smallest arena that is found for ``graph`` if operators may run row by row.

    ``needs`` has the memory requirements of each operator. ``streamed_input`` is a graph input whose rows arrive one by
    one and that is never completely in memory. ``extra_limit`` is the maximum number of estimated instructions that
    running by rows may take in addition. Returns None if streaming is impossible: no operator has a row function, the
    graph has variables, or the readers of the streamed input cannot run row by row. Raises ``PlanError`` for a graph
    that cannot be planned.
    """
    if any(t.is_variable or t.dtype == "resource" for t in graph.tensors):
        return None
    requirements = arena_requirements(graph, needs, alignment=alignment)
    if not any(is_streamable(graph, k, needs) for k in requirements.ops):
        return None
    result = best_order(requirements, budget=ORDER_BUDGET)
    best: Plan | None = None
    for order in dict.fromkeys((result.order, requirements.ops)):
        candidate = _SegmentSearch(graph, needs, requirements, order, streamed_input, alignment).best(
            extra_limit, best
        )
        if candidate is not None and (best is None or candidate.arena_bytes < best.arena_bytes):
            best = candidate
    return best


class _SegmentSearch:
    """The search for the best items of one order of the operators.

    ``stage_operators`` has the operators that can be stages of a segment.
    """

    def __init__(
        self,
        graph: Subgraph,
        needs: Sequence[OpRequirements],
        requirements: ArenaRequirements,
        order: tuple[int, ...],
        streamed_input: int | None,
        alignment: int,
    ) -> None:
        self.ordered = OrderedGraph(graph, needs, requirements, order, streamed_input)
        self.graph, self.needs, self.requirements, self.order = graph, needs, requirements, order
        self.alignment = alignment
        self.streamed_input = streamed_input
        if streamed_input is not None and (len(graph.inputs) != 1 or streamed_input in graph.outputs):
            raise PlanError(
                "Only a model with one input that is not also an output can take its input by rows.",
                "Leave out --stream-input.",
            )
        self.stage_operators = {k for k in order if is_streamable(graph, k, needs)}
        # A value can have several tensors with different shapes (RESHAPE). Its rows are rows of one of these tensors.
        # An operator that reads or writes another tensor of the value cannot be a stage.
        tensor_of_value: dict[int, int] = {}
        for k in (k for k in order if k in self.stage_operators):
            used = [graph.ops[k].inputs[i.position] for i in row_needs(needs, k).inputs]
            used.append(graph.ops[k].outputs[0])
            if any(tensor_of_value.get(requirements.value_of[t], t) != t for t in used):
                self.stage_operators.discard(k)
            else:
                tensor_of_value.update((requirements.value_of[t], t) for t in used)

    # -- items ---------------------------------------------------------------------------------------------

    def _crossing_bytes(self, first: int, end: int, inside: set[int]) -> int:
        """Return the bytes of the values that live during positions [first, end), except the values ``inside``."""
        return sum(
            self.requirements.values[v].size
            for v, (a, b) in enumerate(self.ordered.spans)
            if v not in inside and a < end and b > first
        )

    def _complete_item(self, p: int) -> PlanItem | None:
        """Return the operator at position ``p`` as an item on complete tensors, or None if it reads the streamed
        input."""
        k = self.order[p]
        if self.streamed_input is not None and self.streamed_input in self.graph.ops[k].inputs:
            return None
        touched = {*self.requirements.inputs_of[k], *self.requirements.outputs_of[k]}
        live = sum(self.requirements.values[v].size for v in touched) + self.requirements.scratch.get(k, 0)
        dying = [v for v in self.requirements.inputs_of[k] if self.ordered.spans[v][1] == p + 1]
        shared = max(
            (self.requirements.values[b].size for _, _, a, b in self.requirements.in_place[k] if a in dying),
            default=0,
        )
        return PlanItem(p, p + 1, None, live - shared + self._crossing_bytes(p, p + 1, touched), 0)

    def _segment_item(self, first: int, end: int) -> PlanItem | None:
        """Return the operators at positions [first, end) as a segment, or None if they cannot form a segment."""
        stages = self.order[first:end]
        streamed_input = self.streamed_input
        readers = (
            [k for k in self.order if streamed_input in self.graph.ops[k].inputs]
            if streamed_input is not None
            else []
        )
        if readers and set(readers) & set(stages):
            if not set(readers) <= set(stages):
                return None
        else:
            streamed_input = None
        schedule = make_schedule(self.graph, self.needs, stages, streamed_input)
        if schedule is None:
            return None
        touched = {self.requirements.value_of[t] for t in schedule.rows}
        item = PlanItem(first, end, schedule, 0, sum(row_needs(self.needs, k).extra for k in stages))
        blocks = Timeline(self.ordered, [item]).joined_blocks()
        live = live_bytes(blocks, len(schedule.entries)) + self._crossing_bytes(first, end, touched)
        return replace(item, live=live)

    def _items(self) -> list[list[PlanItem]]:
        """Return, for each position, the items that begin there. A segment is extended until it has more live bytes
        than ``_MAX_LIVE_RATIO`` allows."""
        items: list[list[PlanItem]] = []
        largest_live = max(
            (w.live for p in range(len(self.order)) if (w := self._complete_item(p))), default=0
        )
        for first in range(len(self.order)):
            candidates = [w for w in (self._complete_item(first),) if w]
            for end in range(first + 1, min(first + MAX_SEGMENT_STAGES, len(self.order)) + 1):
                if self.order[end - 1] not in self.stage_operators:
                    break
                item = self._segment_item(first, end)
                if item is not None:
                    candidates.append(item)
                    if item.live > _MAX_LIVE_RATIO * largest_live:
                        break
            items.append(candidates)
        return items

    # -- the search --------------------------------------------------------------------------------------

    def best(self, extra_limit: int | None, other: Plan | None) -> Plan | None:
        """Return the plan with the smallest arena that is found for this order, or None if no plan is smaller than
        ``other``. ``extra_limit`` has the same meaning as for ``plan_streaming``."""
        items = self._items()
        need = {id(i): i.live for candidates in items for i in candidates}
        # ``need`` has the bytes of each item by id. All limits up to ``done`` have been tried. ``placed`` has the
        # ids of the segments whose bytes come from a placement instead of the live bytes.
        placed: set[int] = set()
        best, tried, done = other, 0, -1
        placed_cuts: set[tuple[int, ...]] = set()
        while tried < MAX_CUTS:
            limit = min((n for n in need.values() if n > done), default=None)
            if limit is None or (best is not None and limit >= best.arena_bytes):
                break
            cut = cheapest_cut(items, need, limit)
            cut_ids = tuple(map(id, cut or ()))
            estimated = [i for i in cut or () if i.schedule is not None and id(i) not in placed]
            if (
                cut is None
                or cut_ids in placed_cuts
                or (extra_limit is not None and sum(i.extra for i in cut) > extra_limit)
            ):
                done = limit
            elif estimated:
                for item in estimated:
                    need[id(item)] = self._bytes_if_placed_alone(item)
                    placed.add(id(item))
            else:
                for alternative in alternatives(items, need, limit, cut):
                    cut_ids = tuple(map(id, alternative))
                    extra = sum(i.extra for i in alternative)
                    if cut_ids in placed_cuts or (extra_limit is not None and extra > extra_limit):
                        continue
                    placed_cuts.add(cut_ids)
                    tried += 1
                    candidate = self._place(alternative)
                    if best is None or candidate.arena_bytes < best.arena_bytes:
                        best = candidate
                    if best.arena_bytes <= limit:
                        break
        return None if best is other else best

    def _bytes_if_placed_alone(self, item: PlanItem) -> int:
        """Return the bytes that the arena needs during a segment if only the blocks of the segment are placed."""
        assert item.schedule is not None
        touched = {self.requirements.value_of[t] for t in item.schedule.rows}
        crossing = self._crossing_bytes(item.first, item.end, touched)
        tops = []
        for timeline in self._timelines([item]):
            placer = BlockPlacer(timeline.blocks(), self.alignment, ROW_ALIGNMENT)
            places, _ = placer.search(item.live - crossing, SEGMENT_PLACEMENTS)
            tops.append(placer.top(places))
            if tops[-1] <= item.live - crossing:
                break
        return max(min(tops) + crossing, item.live)

    def _timelines(self, items: Sequence[PlanItem]) -> Iterator[Timeline]:
        """Yield the timelines of ``items`` with all ways to place rows, the one with the fewest live bytes first. The
        blocks of the others can be easier to place."""
        timeline = Timeline(self.ordered, items)
        yield timeline
        if timeline.overwritten:
            yield Timeline(self.ordered, items, RowPlacing.SEPARATE)
        if any(i.schedule is not None for i in items):
            yield Timeline(self.ordered, items, RowPlacing.RING)

    def _place(self, cut: Sequence[PlanItem]) -> Plan:
        """Place the blocks of all items of ``cut`` and return the plan."""
        plans = []
        for timeline in self._timelines(cut):
            plans.append(self._place_blocks(cut, timeline))
            if plans[-1].status == "optimal":
                break
        return min(plans, key=lambda p: p.arena_bytes)

    def _place_blocks(self, cut: Sequence[PlanItem], timeline: Timeline) -> Plan:
        """Place the blocks of ``timeline``, which has the items of ``cut``, and return the plan."""
        requirements = self.requirements
        alignment = self.alignment
        blocks = timeline.blocks()
        bound = -(-live_bytes(blocks, timeline.ticks) // alignment) * alignment
        row_alignment = ROW_ALIGNMENT
        while True:
            # The offsets of a ring buffer must be multiples of the alignment of rows too.
            placer = BlockPlacer(blocks, max(alignment, row_alignment), row_alignment)
            places, tried = placer.search(bound, PLACEMENTS)
            arena = placer.top(places)
            if arena <= MAX_PLACES * row_alignment:
                break
            row_alignment *= 2
            blocks = timeline.blocks(row_alignment)
        offsets = dict.fromkeys(requirements.empty, 0)
        scratch: dict[int, int] = {}
        state: dict[int, int] = {}
        rows: dict[int, dict[int, int]] = {}
        for b, offset in zip(blocks, places, strict=True):
            if isinstance(b.key, ValueBlock):
                offsets.update((t, offset) for v in b.key.values for t in requirements.values[v].tensors)
            elif isinstance(b.key, RowBlock):
                for t, r in b.key.rows:
                    rows.setdefault(t, {})[r] = offset
            elif isinstance(b.key, RingBlock):
                ring = b.key
                height = self.graph.tensors[ring.tensor].shape[1]
                rows[ring.tensor] = {r: offset + r % ring.slots * ring.slot_bytes for r in range(height)}
            elif isinstance(b.key, ScratchBlock):
                scratch[b.key.op] = offset
            elif isinstance(b.key, SegmentState):
                state[b.key.first] = offset
        for t, row_offsets in rows.items():
            value = requirements.values[requirements.value_of[t]]
            offsets.update(dict.fromkeys(value.tensors, min(row_offsets.values())))
        segments = tuple(
            Segment(
                stages=i.schedule.stages,
                sources=i.schedule.sources,
                schedule=i.schedule.entries,
                rows={
                    t: tuple(offset for _, offset in sorted(rows[t].items()))
                    for t in sorted(i.schedule.rows)
                    if t in rows
                },
                state_offset=state[i.first],
                state_bytes=self.ordered.state_bytes(i.schedule),
                streamed_input=self.streamed_input if self.streamed_input in i.schedule.sources else None,
            )
            for i in cut
            if i.schedule is not None
        )
        return Plan(
            order=self.order,
            offsets=dict(sorted(offsets.items())),
            scratch_offsets=scratch,
            variable_offsets={},
            arena_bytes=arena,
            lower_bound=bound,
            status="optimal" if arena == bound else "gap",
            alignment=alignment,
            sharing=tuple(sorted((*timeline.pairs, *requirements.aliases))),
            statistics=SearchStatistics(
                offset_nodes=tried, offset_budget=PLACEMENTS, live_bound=bound, graph_bound=bound
            ),
            segments=segments,
        )
