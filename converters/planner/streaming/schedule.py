"""Compute the schedule of a segment: the step at which each row is computed, and the last step that reads the row.

A segment is a group of operators (its stages) that run together, row by row. Time is counted in steps: in one
step, one stage computes one row, or one row of the streamed input arrives. If several stages can run, the one
nearest to the end of the segment runs, so that rows are read as soon as possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from arenite.converters.graph.model import Subgraph, Tensor
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import MAX_INPUTS, MAX_STAGES, RowRequirements


def height(tensor: Tensor) -> int:
    """Return the number of rows of a streamed tensor."""
    return tensor.shape[1]


def row_bytes(tensor: Tensor) -> int:
    """Return the bytes of one row of a streamed tensor."""
    return tensor.nbytes // height(tensor)


@dataclass(frozen=True)
class RowLifetimes:
    """The lifetime of each row of one tensor in a segment."""

    #: The step that computes the row, or -1 if the row exists before the segment runs.
    written: tuple[int, ...]
    #: The last step that reads the row, or the step that computes it if no step reads it.
    read: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """The order in which the stages of a segment compute their rows."""

    stages: tuple[int, ...]  # operators
    sources: tuple[int, ...]  # tensors that the stages read and do not compute
    entries: tuple[int, ...]  # one entry per step, see ``Segment.schedule``
    #: The lifetimes of the rows of every tensor that a stage reads or computes.
    rows: Mapping[int, RowLifetimes]


def is_streamable(graph: Subgraph, k: int, needs: Sequence[OpRequirements]) -> bool:
    """Return whether operator ``k`` can be a stage of a segment: it has a row function, and its computed inputs and its
    output are images (4 dimensions, batch 1) that are not empty."""
    rows = needs[k].rows
    if rows is None or len(graph.ops[k].outputs) != 1 or len(rows.inputs) not in range(1, MAX_INPUTS + 1):
        return False
    tensors = [graph.tensors[t] for t in (*(graph.ops[k].inputs[i.position] for i in rows.inputs),)]
    return all(
        len(t.shape) == 4 and t.shape[0] == 1 and t.nbytes > 0 and t.data is None and not t.is_variable
        for t in (*tensors, graph.tensors[graph.ops[k].outputs[0]])
    )


def row_needs(needs: Sequence[OpRequirements], k: int) -> RowRequirements:
    """Return the row requirements of operator ``k``, which must have a row function."""
    rows_needed = needs[k].rows
    assert rows_needed is not None
    return rows_needed


def make_schedule(
    graph: Subgraph, needs: Sequence[OpRequirements], stages: Sequence[int], streamed_input: int | None = None
) -> Schedule | None:
    """Return the schedule of the operators ``stages``, which are in an order in which they could run one after the
    other.

    ``streamed_input`` is the graph input whose rows arrive one by one. Returns None if the operators cannot form a
    segment: there are more than ``MAX_STAGES`` stages and sources, no stage reads the streamed input, or a stage
    reads the output of an operator that accumulates, which is complete only after the last row.
    """
    rows = [row_needs(needs, k) for k in stages]
    writer = {graph.ops[k].outputs[0]: s for s, k in enumerate(stages)}
    reads = [
        [(graph.ops[k].inputs[i.position], i) for i in r.inputs] for k, r in zip(stages, rows, strict=True)
    ]
    used = {t for stage in reads for t, _ in stage}
    sources = tuple(sorted(used - set(writer)))
    if len(stages) + len(sources) > MAX_STAGES:
        return None
    if any(rows[writer[t]].accumulates for t in used & set(writer)):
        return None
    if streamed_input is not None and streamed_input not in sources:
        return None
    heights = {t: height(graph.tensors[t]) for t in used | set(writer)}
    outputs = [graph.ops[k].outputs[0] for k in stages]
    totals = [heights[reads[s][0][0]] if r.accumulates else heights[outputs[s]] for s, r in enumerate(rows)]
    # For each stage, the last stage that reads its output, or -1. That stage may be able to run after a new row.
    furthest = [
        max((s for s, r in enumerate(reads) if any(t == o for t, _ in r)), default=-1) for o in outputs
    ]
    source_reader = max(
        (s for s, r in enumerate(reads) if any(t == streamed_input for t, _ in r)), default=-1
    )
    # The number of rows of each tensor that exist.
    available = {t: heights[t] if t in sources and t != streamed_input else 0 for t in heights}
    done = [0] * len(stages)  # the number of rows that each stage has computed
    # For each row of a tensor: the step that computes it, and the last step that reads it (see ``RowLifetimes``).
    computed = {t: [-1] * h if available[t] else [] for t, h in heights.items()}
    last = {t: [-1] * h if available[t] else [] for t, h in heights.items()}
    entries: list[int] = []

    def can_run(s: int) -> bool:
        """Return whether stage ``s`` has a next row and all rows that it reads are available."""
        if done[s] >= totals[s]:
            return False
        for t, i in reads[s]:
            bottom = done[s] * i.stride - i.pad_top + (i.taps - 1) * i.dilation
            if min(bottom, heights[t] - 1) >= available[t]:
                return False
        return True

    def run_row(s: int) -> None:
        """Add a step in which stage ``s`` computes its next row."""
        step = len(entries)
        for t, i in reads[s]:
            for r in i.rows(done[s], heights[t]):
                last[t][r] = step
        done[s] += 1
        entries.append(s)
        if not rows[s].accumulates or done[s] == totals[s]:
            available[outputs[s]] += 1
            computed[outputs[s]].append(step)
            last[outputs[s]].append(step)

    s = len(stages) - 1
    while True:
        if s >= 0:
            if can_run(s):
                run_row(s)
                s = max(furthest[s], s)
            else:
                s -= 1
        elif streamed_input is not None and available[streamed_input] < heights[streamed_input]:
            step = len(entries)
            entries.append(len(stages) + sources.index(streamed_input))
            available[streamed_input] += 1
            computed[streamed_input].append(step)
            last[streamed_input].append(step)
            s = source_reader
        else:
            break
    if done != totals:
        return None
    lives = {t: RowLifetimes(tuple(computed[t]), tuple(last[t])) for t in heights}
    return Schedule(tuple(stages), sources, tuple(entries), lives)


def overwritten_rows(
    graph: Subgraph, needs: Sequence[OpRequirements], schedule: Schedule, inside: Collection[int]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return {(tensor, row) of an output row: (tensor, row) of the input row that it may overwrite}, for rows of the
    tensors ``inside``. No later step reads the overwritten row."""
    done = [0] * len(schedule.stages)
    overwritten: dict[tuple[int, int], tuple[int, int]] = {}
    for step, entry in enumerate(schedule.entries):
        if entry >= len(schedule.stages):
            continue
        op, rows, y = graph.ops[schedule.stages[entry]], row_needs(needs, schedule.stages[entry]), done[entry]
        done[entry] += 1
        out = op.outputs[0]
        if rows.accumulates or out not in inside:
            continue
        kept = {op.inputs[i.position] for i in rows.inputs if i.position not in rows.in_place}
        candidates = [
            (t, r)
            for i in rows.inputs
            for t in (op.inputs[i.position],)
            if t in inside and t not in kept and row_bytes(graph.tensors[t]) >= row_bytes(graph.tensors[out])
            for r in i.rows(y, height(graph.tensors[t]))
            if schedule.rows[t].read[r] == step
        ]
        if candidates:
            overwritten[out, y] = min(candidates, key=lambda row: row_bytes(graph.tensors[row[0]]))
    return overwritten


def fewest_slots(rows: RowLifetimes) -> int:
    """Return the smallest number of row slots with which no row is overwritten before its last reader has run, if row
    r is in slot r modulo this number."""
    last_reads: list[int] = []  # the last step that reads this row or an earlier one
    for r in rows.read:
        last_reads.append(max(r, last_reads[-1]) if last_reads else r)
    slots, oldest = 1, 0
    for r, step in enumerate(rows.written):
        while oldest < r and last_reads[oldest] < step:
            oldest += 1
        slots = max(slots, r - oldest + 1)
    return slots


def rows_kept(rows: RowLifetimes) -> int:
    """Return the largest number of rows of a tensor that are in memory at the same time."""
    changes = sorted([(step, 1) for step in rows.written] + [(step + 1, -1) for step in rows.read])
    return max(accumulate(change for _, change in changes), default=0)
