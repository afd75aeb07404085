"""An independent check of a streaming plan: its figures, its order, its segments and its blocks, and a simulation
(``streaming_execution``).

The checker shares nothing with the planner except the plan and the row requirements of the operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.plan import Plan, Segment
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import (
    MAX_INPUTS,
    MAX_PLACES,
    MAX_STAGES,
    ROW_ALIGNMENT,
    row_unit,
    state_layout,
)
from arenite.converters.planner.streaming_execution import SegmentedPlanChecks, StreamingExecution

#: The largest arena in bytes, far more than a microcontroller has.
_MAX_ARENA = 1 << 26


def find_violations(graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> list[str]:
    """Return one sentence for each violation of ``plan``, which has segments. The checks stop after the first check
    that fails, because the results of all later checks would be wrong too.

    The list is empty if every operator and every row reads the values that were computed for it, and all outputs are
    intact at the end. ``needs`` has the memory requirements of each operator.
    """
    static = _StaticChecks(graph, plan, needs)
    for check in (static.check_figures, static.check_order, static.check_segments, static.check_blocks):
        check()
        if static.violations:
            return static.violations
    run = StreamingExecution(graph, plan, needs)
    run.execute()
    return run.violations


class _StaticChecks(SegmentedPlanChecks):
    """The checks without a simulation. In the methods, ``k`` is an operator, ``t`` is a tensor, and ``at`` an
    address."""

    def check_figures(self) -> None:
        """Check the numbers of the plan that concern no single tensor: sizes, alignment, lower bound and status."""
        plan = self.plan
        if len(self.needs) != len(self.graph.ops):
            self.add_violation(
                f"There are {len(self.needs)} requirements for {len(self.graph.ops)} operators."
            )
        self.check_sizes(_MAX_ARENA)
        if plan.status != ("optimal" if plan.lower_bound == plan.arena_bytes else "gap"):
            self.add_violation(
                f"Status '{plan.status}' contradicts the lower bound of {plan.lower_bound} and the arena of "
                f"{plan.arena_bytes} bytes."
            )
        if plan.variable_offsets or any(t.is_variable or t.dtype == "resource" for t in self.graph.tensors):
            self.add_violation("A graph with state cannot be streamed.")

    def check_order(self) -> None:
        """Check that the order contains every operator once, after the operators that compute its inputs."""
        graph, order = self.graph, self.plan.order
        if sorted(order) != list(range(len(graph.ops))):
            self.add_violation(f"The order {list(order)} is not a permutation of the operators.")
            return
        available = {*graph.inputs}
        for k in order:
            for t in graph.ops[k].inputs:
                if t >= 0 and t not in available and self.in_arena(t):
                    self.add_violation(f"{self.op_name(k)} runs before {self.tensor_name(t)} is computed.")
            available |= set(graph.ops[k].outputs)

    def check_segments(self) -> None:
        """Check that segments do not overlap, that their stages are adjacent in the order and can run row by row, and
        that at most one segment has a streamed input."""
        position = {k: p for p, k in enumerate(self.plan.order)}
        checked: set[int] = set()
        for segment in self.plan.segments:
            if not segment.stages or len(segment.stages) + len(segment.sources) > MAX_STAGES:
                self.add_violation(
                    f"A segment has {len(segment.stages)} stages and {len(segment.sources)} sources, expected at least "
                    f"1 stage and at most {MAX_STAGES} of both together."
                )
                return
            if any(k in checked or k not in position for k in segment.stages):
                self.add_violation(
                    f"The stages {list(segment.stages)} are not separate operators of the graph."
                )
                return
            checked |= set(segment.stages)
            first = position[segment.stages[0]]
            if self.plan.order[first : first + len(segment.stages)] != segment.stages:
                self.add_violation(f"The stages {list(segment.stages)} are not adjacent in the order.")
                return
            for k in segment.stages:
                self._check_stage(k)
            if not self.violations:
                self._check_tensors(segment)
        streamed_input = [s.streamed_input for s in self.plan.segments if s.streamed_input is not None]
        if len(streamed_input) > 1:
            self.add_violation("More than one segment has a streamed input.")

    def _check_stage(self, k: int) -> None:
        """Check that the row requirements of operator ``k`` describe all its inputs, and that its tensors are
        images."""
        op, rows = self.graph.ops[k], self.needs[k].rows
        if rows is None:
            self.add_violation(f"{self.op_name(k)} cannot run by rows.")
            return
        row_inputs = [op.input(i.position) for i in rows.inputs]
        computed = [t for t in op.inputs if t >= 0 and self.in_arena(t)]
        if (
            sorted(row_inputs) != sorted(computed)
            or len(op.outputs) != 1
            or not 1 <= len(row_inputs) <= MAX_INPUTS
        ):
            self.add_violation(f"{self.op_name(k)} has inputs or outputs without rows.")
            return
        for t in (*row_inputs, *op.outputs):
            shape = self.graph.tensors[t].shape
            if len(shape) != 4 or shape[0] != 1 or not self.graph.tensors[t].nbytes:
                self.add_violation(f"{self.tensor_name(t)} of {self.op_name(k)} is not an image.")
        if rows.accumulates and (
            len(row_inputs) != 1 or rows.inputs[0].taps != 1 or rows.inputs[0].stride != 1
        ):
            self.add_violation(f"{self.op_name(k)} accumulates more than one row at a time.")
        if any(i.taps < 1 or i.stride < 1 or i.dilation < 1 or i.pad_top < 0 for i in rows.inputs):
            self.add_violation(f"{self.op_name(k)} reads rows that do not exist.")

    def _check_tensors(self, segment: Segment) -> None:
        """Check the sources of a segment, and which of its tensors are never completely in memory: only tensors that
        no other operator reads or writes."""
        graph = self.graph
        written = {graph.ops[k].outputs[0] for k in segment.stages}
        read = {graph.ops[k].input(i.position) for k in segment.stages for i in self.row_needs(k).inputs}
        if set(segment.sources) != read - written or len(set(segment.sources)) != len(segment.sources):
            self.add_violation(f"The segment of {self.op_name(segment.stages[0])} names wrong sources.")
            return
        streamed_input = segment.streamed_input
        if streamed_input is not None and (
            streamed_input not in segment.sources
            or streamed_input not in graph.inputs
            or streamed_input in graph.outputs
        ):
            self.add_violation(
                f"The streamed input, tensor {streamed_input}, is not an input that the segment reads."
            )
        for t in segment.rows:
            outside = t in graph.outputs or any(
                t in graph.ops[k].inputs for k in self.plan.order if k not in segment.stages
            )
            if outside or not (t in written or t == streamed_input):
                self.add_violation(
                    f"Tensor {t} must be completely in memory, but only its rows have addresses."
                )
            elif len(segment.rows[t]) != self.rows_of(t):
                self.add_violation(
                    f"{self.tensor_name(t)} has {len(segment.rows[t])} addresses for {self.rows_of(t)} rows."
                )
            elif self.plan.offsets.get(t) != min(segment.rows[t]):
                self.add_violation(f"The address of {self.tensor_name(t)} is not that of its lowest row.")
        if segment.state_bytes != self._state_bytes(segment):
            self.add_violation(
                f"The segment of {self.op_name(segment.stages[0])} has {segment.state_bytes} bytes of state, "
                f"expected {self._state_bytes(segment)}."
            )

    def _state_bytes(self, segment: Segment) -> int:
        """Return the size of the working memory of a segment."""
        return state_layout(tuple(self.row_needs(k) for k in segment.stages), len(segment.sources)).size

    def check_blocks(self) -> None:
        """Check that everything that takes arena has an aligned address, that its block is inside the arena, and that
        nothing else has an address."""
        graph, plan = self.graph, self.plan
        touched = {*graph.inputs, *graph.outputs}
        for op in graph.ops:
            touched |= {*op.inputs, *op.outputs}
        arena_tensors = {t for t in touched if t >= 0 and self.in_arena(t)}
        self._check_addresses("tensor", arena_tensors, set(plan.offsets))
        scratch = {
            k: self.row_needs(k).scratch if k in self.stages else need.scratch
            for k, need in enumerate(self.needs)
        }
        self._check_addresses(
            "scratch of operator", {k for k, n in scratch.items() if n}, set(plan.scratch_offsets)
        )
        if self.violations:
            return
        single_rows = {t for s in plan.segments for t in s.rows}
        for t, at in plan.offsets.items():
            if t not in single_rows:
                self._check_bounds(self.tensor_name(t), at, graph.tensors[t].nbytes)
        for s in plan.segments:
            self._check_rows(s)
        for k, at in plan.scratch_offsets.items():
            self._check_bounds(f"the scratch of {self.op_name(k)}", at, scratch[k])
        for s in plan.segments:
            self._check_bounds(
                f"the state of the segment of {self.op_name(s.stages[0])}", s.state_offset, s.state_bytes
            )

    def _check_rows(self, segment: Segment) -> None:
        """Check the addresses of rows of tensors that are never completely in memory."""
        for t, offsets in segment.rows.items():
            for r, at in enumerate(offsets):
                self._check_bounds(f"row {r} of {self.tensor_name(t)}", at, self.row_bytes(t), ROW_ALIGNMENT)
        unit = row_unit(at for offsets in segment.rows.values() for at in offsets)
        highest = max((at for offsets in segment.rows.values() for at in offsets), default=0)
        if highest // unit >= MAX_PLACES:
            self.add_violation(f"The row at {highest} has no 16-bit address in units of {unit} bytes.")

    def _check_addresses(self, kind: str, expected: set[int], planned: set[int]) -> None:
        """Check that exactly the blocks ``expected`` have addresses. ``kind`` is a part of the message."""
        for key in sorted(expected - planned):
            self.add_violation(f"The {kind} {key} has no address in the arena.")
        for key in sorted(planned - expected):
            self.add_violation(f"The {kind} {key} has an address in the arena but needs none.")

    def _check_bounds(self, description: str, at: int, size: int, alignment: int = 0) -> None:
        """Check that a block is aligned, by default as the plan says, and inside the arena. ``description`` is a part
        of the message."""
        alignment = alignment or self.plan.alignment
        if at < 0 or at + size > self.plan.arena_bytes:
            self.add_violation(
                f"[{at}, {at + size}) of {description} is outside the arena of {self.plan.arena_bytes} bytes."
            )
        if at % alignment:
            self.add_violation(
                f"{description[0].upper()}{description[1:]} at {at} is not aligned to {alignment}."
            )
