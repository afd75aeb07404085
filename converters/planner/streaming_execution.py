"""The simulation of a streaming plan on a map of the arena's bytes, row by row.

The map holds, for every byte, the number of the content (such as a row of a tensor) that was written there last. The
schedule is executed as in the firmware: each stage counts the rows that it has computed, and the count determines the
rows that it reads. All bytes of these rows must be intact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.plan import Plan, Segment
from arenite.converters.planner.plan_checks import PlanChecks
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import RowRequirements


class SegmentedPlanChecks(PlanChecks):
    """Checks of a plan with segments. ``stages`` has the operators of all segments."""

    def __init__(self, graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> None:
        super().__init__(graph, plan, needs)
        self.stages = {k for s in plan.segments for k in s.stages}

    def rows_of(self, t: int) -> int:
        """Return the number of rows of tensor ``t``, an NHWC image."""
        return self.graph.tensors[t].shape[1]

    def row_bytes(self, t: int) -> int:
        return self.graph.tensors[t].nbytes // self.rows_of(t)

    def row_needs(self, k: int) -> RowRequirements:
        """Return the row requirements of operator ``k``, which is a stage."""
        rows = self.needs[k].rows
        assert rows is not None
        return rows


class _CannotContinue(Exception):
    """The simulation must stop at a violation, which is already in the list."""


class StreamingExecution(SegmentedPlanChecks):
    """The simulation of one plan. ``execute`` appends a sentence to ``violations`` for the first violation.

    ``names`` has a description of each content by number, and ``ids`` the number of each content. In the methods,
    ``k`` is an operator, ``t`` and ``i`` are tensors, ``r`` is a row, ``s`` the index of a stage in its segment, and
    ``at`` an address.
    """

    def __init__(self, graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> None:
        super().__init__(graph, plan, needs)
        self.segment_at = {s.stages[0]: s for s in plan.segments if s.stages}
        self.names: list[str] = ["nothing"]
        self.ids: dict[tuple[object, ...], int] = {}
        #: {alias of a tensor: the tensor as whose content its bytes were written}
        self.written_as: dict[int, int] = {}

    def execute(self) -> None:
        """Run the plan on the map of bytes, until the end or the first violation."""
        self.holds = np.zeros(self.plan.arena_bytes, np.int32)
        self.empty = {t for t in self.plan.offsets if not self.graph.tensors[t].nbytes}
        try:
            streamed_input = {s.streamed_input for s in self.plan.segments}
            for t in self.graph.inputs:
                if t in self.plan.offsets and t not in streamed_input:
                    self._write_tensor(t, f"input {self.tensor_name(t)}", fresh=True)
            for k in self.plan.order:
                if k in self.segment_at:
                    self._run_segment(self.segment_at[k])
                elif k not in self.stages:
                    self._run_complete(self.graph.ops[k])
            for t in self.graph.outputs:
                if t in self.plan.offsets:
                    self._read_tensor(t, "the caller, at the end,")
        except _CannotContinue:
            pass

    def _fail(self, sentence: str) -> None:
        """Append the violation ``sentence``, and stop the simulation."""
        self.add_violation(sentence)
        raise _CannotContinue

    def _id(self, *key: object) -> int:
        """Return the number of the content that ``key`` describes, and store its description for messages."""
        if key not in self.ids:
            self.ids[key] = len(self.names)
            self.names.append(" ".join(map(str, key)))
        return self.ids[key]

    def _write(self, at: int, size: int, number: int) -> None:
        self.holds[at : at + size] = number

    def _expect(self, at: int, size: int, number: int, reader: str) -> None:
        """Check that ``size`` bytes at the address ``at`` hold the content ``number``."""
        span = self.holds[at : at + size]
        if (span != number).any():
            wrong = int(np.flatnonzero(span != number)[0])
            self._fail(
                f"{reader} reads {self.names[number]}, but byte {at + wrong} holds {self.names[int(span[wrong])]}."
            )

    def _row_ids(self, t: int) -> list[tuple[int, int, int]]:
        """Return (address, size in bytes, number of the content) of each row of tensor ``t``, or of the whole tensor
        if it is not an image."""
        at, name = self.plan.offsets[t], self.written_as.get(t, t)
        tensor = self.graph.tensors[name]
        if len(tensor.shape) == 4 and tensor.shape[0] == 1:
            size = tensor.nbytes // tensor.shape[1]
            return [(at + r * size, size, self._id("tensor", name, "row", r)) for r in range(tensor.shape[1])]
        return [(at, tensor.nbytes, self._id("tensor", name, "row", 0))]

    def _read_tensor(self, t: int, reader: str) -> None:
        if t not in self.empty:
            for at, size, number in self._row_ids(t):
                self._expect(at, size, number, reader)

    def _write_tensor(self, t: int, writer: str, fresh: bool = False) -> None:
        """Write all rows of tensor ``t``. With ``fresh``, its bytes must not have been written before."""
        self.written_as.pop(t, None)
        if t in self.empty:
            return
        for at, size, number in self._row_ids(t):
            if fresh and self.holds[at : at + size].any():
                self._fail(f"{writer} overlaps another input.")
            self._write(at, size, number)

    def _span(self, t: int) -> tuple[int, int]:
        """Return (first byte, end byte) of tensor ``t`` in the arena."""
        return self.plan.offsets[t], self.plan.offsets[t] + self.graph.tensors[t].nbytes

    def _run_complete(self, op: Op) -> None:
        """Execute an operator on complete tensors."""
        k, name = op.index, self.op_name(op.index)
        inputs = [(p, t) for p, t in enumerate(op.inputs) if t in self.plan.offsets]
        outputs = [(o, t) for o, t in enumerate(op.outputs) if t in self.plan.offsets]
        for _, t in inputs:
            self._read_tensor(t, name)
        busy: list[tuple[int, int]] = []
        for o, t in outputs:
            low, high = self._span(t)
            for p, i in inputs:
                a, b = self._span(i)
                if low < b and a < high:
                    if (p, o) in self.needs[k].alias and (low, high) == (a, b):
                        self.written_as[t] = self.written_as.get(i, i)
                    elif (p, o) not in self.needs[k].in_place or low != a or high > b:
                        self._fail(
                            f"{name} writes {self.tensor_name(t)} over its input {self.tensor_name(i)}."
                        )
            busy.append((low, high))
        if k in self.plan.scratch_offsets:
            at = self.plan.scratch_offsets[k]
            low, high = at, at + self.needs[k].scratch
            for _, i in inputs:
                a, b = self._span(i)
                if low < b and a < high:
                    self._fail(f"The scratch of {name} overlaps its input {self.tensor_name(i)}.")
            busy.append((low, high))
            self._write(at, high - at, self._id("scratch of", name))
        busy.sort()
        if any(a[1] > b[0] for a, b in pairwise(busy)):
            self._fail(f"{name} writes two blocks to the same bytes.")
        for _, t in outputs:
            if self.written_as.get(t, t) == t:
                self._write_tensor(t, name)

    def _run_segment(self, segment: Segment) -> None:
        """Execute the schedule of a segment. ``done`` has the number of rows that each stage has computed, ``arrived``
        the number of rows of the streamed input that have arrived."""
        state = self._id("the state of the segment of", self.op_name(segment.stages[0]))
        self._write(segment.state_offset, segment.state_bytes, state)
        done = [0] * len(segment.stages)
        arrived = 0
        for entry in segment.schedule:
            if entry < len(segment.stages):
                self._run_stage(segment, entry, done, arrived)
                done[entry] += 1
            elif segment.streamed_input is not None and segment.sources[entry - len(segment.stages) :][
                :1
            ] == (segment.streamed_input,):
                self._put_row(segment, segment.streamed_input, arrived, "the host", [])
                arrived += 1
            else:
                self._fail(f"The schedule has the entry {entry}, which is not a stage.")
            self._expect(segment.state_offset, segment.state_bytes, state, "the segment")
        for s, k in enumerate(segment.stages):
            if done[s] != self._calls(k):
                self._fail(f"{self.op_name(k)} computes {done[s]} rows instead of {self._calls(k)}.")
        if segment.streamed_input is not None and arrived != self.rows_of(segment.streamed_input):
            self._fail(
                f"The schedule has {arrived} rows of {self.tensor_name(segment.streamed_input)} instead of "
                f"{self.rows_of(segment.streamed_input)}."
            )

    def _calls(self, k: int) -> int:
        """Return how often the row function of operator ``k`` is called: once per output row, or once per input row
        if it accumulates."""
        rows, op = self.row_needs(k), self.graph.ops[k]
        return self.rows_of(op.input(rows.inputs[0].position) if rows.accumulates else op.outputs[0])

    def _run_stage(self, segment: Segment, s: int, done: list[int], arrived: int) -> None:
        """Execute the next row of stage ``s``: check the rows that it reads, write its scratch and its output row."""
        k = segment.stages[s]
        rows, op, name = self.row_needs(k), self.graph.ops[k], self.op_name(k)
        if done[s] >= self._calls(k):
            self._fail(f"{name} computes more than {self._calls(k)} rows.")
        out, out_row = op.outputs[0], 0 if rows.accumulates else done[s]
        out_start = self._row_offset(segment, out, out_row)
        used: list[tuple[int, int]] = []
        # The bytes in use that the output row must not overwrite: all except an input row at its address, if the
        # operator allows that. If a later step reads the overwritten row, that step fails.
        kept: list[tuple[int, int]] = []
        for i in rows.inputs:
            t = op.input(i.position)
            size = self.row_bytes(t)
            available = self._available_rows(segment, t, done, arrived)
            for tap in range(i.taps):
                r = done[s] * i.stride - i.pad_top + tap * i.dilation
                if not 0 <= r < self.rows_of(t):
                    continue
                if r >= available:
                    self._fail(f"{name} reads row {r} of {self.tensor_name(t)} before it is computed.")
                at = self._row_offset(segment, t, r)
                self._expect(at, size, self._id("tensor", self.written_as.get(t, t), "row", r), name)
                used.append((at, at + size))
                if i.position not in rows.in_place or at != out_start or size < self.row_bytes(out):
                    kept.append((at, at + size))
        if k in self.plan.scratch_offsets:
            at = self.plan.scratch_offsets[k]
            self._check_no_overlap(used, at, at + rows.scratch, f"the scratch of {name}")
            self._write(at, rows.scratch, self._id("scratch of", name))
            kept.append((at, at + rows.scratch))
        if not rows.accumulates or done[s] + 1 == self._calls(k):
            self._put_row(segment, out, out_row, name, kept)

    def _row_offset(self, segment: Segment, t: int, r: int) -> int:
        """Return the address of row ``r`` of tensor ``t`` in a segment."""
        return segment.rows[t][r] if t in segment.rows else self.plan.offsets[t] + r * self.row_bytes(t)

    def _available_rows(self, segment: Segment, t: int, done: list[int], arrived: int) -> int:
        """Return the number of rows of ``t`` that are computed or have arrived."""
        for s, k in enumerate(segment.stages):
            if self.graph.ops[k].outputs[0] == t:
                if self.row_needs(k).accumulates:
                    self._fail(f"{self.tensor_name(t)} of {self.op_name(k)} is read within its segment.")
                return done[s]
        return arrived if t == segment.streamed_input else self.rows_of(t)

    def _put_row(
        self, segment: Segment, t: int, r: int, writer: str, used: Sequence[tuple[int, int]]
    ) -> None:
        """Write row ``r`` of tensor ``t``. ``used`` are the bytes that the same step reads or uses as
        scratch, as (first byte, end byte)."""
        if r >= self.rows_of(t):
            self._fail(f"{writer} writes row {r} of {self.tensor_name(t)}, which does not exist.")
        size = self.row_bytes(t)
        at = self._row_offset(segment, t, r)
        self._check_no_overlap(used, at, at + size, f"row {r} of {self.tensor_name(t)}")
        self._write(at, size, self._id("tensor", t, "row", r))

    def _check_no_overlap(
        self, used: Sequence[tuple[int, int]], low: int, high: int, description: str
    ) -> None:
        """Check that bytes [low, high) do not overlap the bytes ``used``."""
        for a, b in used:
            if low < b and a < high:
                self._fail(f"[{low}, {high}) of {description} overlaps what the same step uses.")
