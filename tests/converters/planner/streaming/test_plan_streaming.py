"""Streaming plans of random graphs: a plan without violations computes the right bytes on a simulated machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arenite.converters.planner import Plan, check, find_violations, plan
from arenite.converters.planner.plan import Segment
from arenite.converters.planner.row_requirements import row_unit
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.converters.planner.streaming.schedule import RowLifetimes, make_schedule, rows_kept
from arenite.errors import PlanError
from tests.converters.planner.random_graphs import Case
from tests.converters.planner.streaming.random_chains import ImageBuilder, chains
from tests.converters.planner.streaming.row_machine import Machine, reference
from tests.example_count import example_count


def violations(case: Case, streaming_plan: Plan) -> list[str]:
    """Return the violations that the checker finds."""
    return find_violations(case.graph, streaming_plan, case.needs)


def streamed(case: Case, streamed_input: bool = False, **options: Any) -> Plan | None:
    """Return a streaming plan of the case, or None if nothing can be streamed."""
    return plan_streaming(
        case.graph, case.needs, streamed_input=case.graph.inputs[0] if streamed_input else None, **options
    )


@pytest.mark.slow
@settings(max_examples=example_count(150), deadline=None)
@given(chains(), st.booleans(), st.sampled_from([1, 4, 16]))
def test_streaming_plans_compute_the_same_as_complete_tensors(
    case: Case, streamed_input: bool, alignment: int
) -> None:
    streaming_plan = streamed(case, streamed_input, alignment=alignment)
    assume(streaming_plan is not None)
    assert streaming_plan is not None
    assert violations(case, streaming_plan) == []
    assert streaming_plan.lower_bound <= streaming_plan.arena_bytes
    if streamed_input or streaming_plan.segments:
        assert Machine(case, streaming_plan).run() == reference(case)
    assert Plan.from_json(json.loads(json.dumps(streaming_plan.to_json()))) == streaming_plan


@st.composite
def mutants(draw: st.DrawFn) -> tuple[Case, Plan]:
    """Draw a case, and a plan for it with one random change. Most such plans are wrong, some are still correct."""
    case = draw(chains(max_ops=6))
    mutant = streamed(case, draw(st.booleans()), alignment=1)
    assume(mutant is not None and mutant.segments)
    assert mutant is not None
    index = draw(st.integers(0, len(mutant.segments) - 1))
    segment = mutant.segments[index]
    kind = draw(st.sampled_from(["offset", "row", "row", "scratch", "swap", "drop", "state", "arena"]))
    if kind == "offset":
        t = draw(st.sampled_from(sorted(mutant.offsets)))
        step = draw(st.sampled_from([1, -1, 5, -5, 16, -16, 48, -48]))
        mutant = replace(mutant, offsets={**mutant.offsets, t: mutant.offsets[t] + step})
    elif kind == "scratch" and mutant.scratch_offsets:
        k = draw(st.sampled_from(sorted(mutant.scratch_offsets)))
        step = draw(st.sampled_from([1, -1, 24, -24]))
        mutant = replace(
            mutant, scratch_offsets={**mutant.scratch_offsets, k: mutant.scratch_offsets[k] + step}
        )
    elif kind == "row" and segment.rows:
        t = draw(st.sampled_from(sorted(segment.rows)))
        r = draw(st.integers(0, len(segment.rows[t]) - 1))
        step = draw(st.sampled_from([4, -4, 16, -16, 48, -48]))
        mutant = move_row(mutant, index, t, r, segment.rows[t][r] + step)
    elif kind == "swap" and len(segment.schedule) > 1:
        order = list(segment.schedule)
        p = draw(st.integers(0, len(order) - 2))
        order[p], order[p + 1] = order[p + 1], order[p]
        mutant = _with_segment(mutant, index, replace(segment, schedule=tuple(order)))
    elif kind == "drop":
        p = draw(st.integers(0, len(segment.schedule) - 1))
        mutant = _with_segment(
            mutant, index, replace(segment, schedule=segment.schedule[:p] + segment.schedule[p + 1 :])
        )
    elif kind == "state":
        at = segment.state_offset + draw(st.sampled_from([1, -1, 8, -8]))
        mutant = _with_segment(mutant, index, replace(segment, state_offset=at))
    elif kind == "arena":
        mutant = replace(mutant, arena_bytes=mutant.arena_bytes - 1)
    return case, replace(mutant, status="optimal" if mutant.arena_bytes == mutant.lower_bound else "gap")


def _with_segment(original: Plan, index: int, segment: Segment) -> Plan:
    """Return the plan with another segment at ``index``."""
    segments = list(original.segments)
    segments[index] = segment
    return replace(original, segments=tuple(segments))


@pytest.mark.slow
@settings(max_examples=example_count(400), deadline=None)
@given(mutants())
def test_a_plan_without_violations_computes_the_right_bytes(mutant: tuple[Case, Plan]) -> None:
    case, changed = mutant
    if not violations(case, changed):
        assert Machine(case, changed).run() == reference(case)


def move_row(original: Plan, index: int, t: int, r: int, offset: int) -> Plan:
    """Return the plan in which row ``r`` of tensor ``t`` of the segment at ``index`` has another offset."""
    segment = original.segments[index]
    offsets = (*segment.rows[t][:r], offset, *segment.rows[t][r + 1 :])
    changed = _with_segment(original, index, replace(segment, rows={**segment.rows, t: offsets}))
    return replace(changed, offsets={**changed.offsets, t: min(offsets)})


def example() -> Case:
    """Return three convolutions, a residual addition, a mean, a view and a dense layer."""
    b = ImageBuilder()
    x = b.input(20, 8)
    first = b.window(x, 32)
    second = b.window(b.window(first, 32, scratch=8), 32)
    return b.case(b.dense(b.view(b.mean(b.add(second, first))), 10))


def test_a_residual_block_needs_a_few_rows() -> None:
    case = example()
    in_memory = streamed(case)
    assert in_memory is not None and len(in_memory.segments) == 1
    (segment,) = in_memory.segments
    assert segment.stages == (0, 1, 2, 3, 4)
    # The input and the output are complete. The last convolution needs three rows of its input, and meanwhile the
    # ADD's other input has two rows that are still needed.
    assert set(segment.rows) == {1, 2, 3, 4}
    assert [rows_kept(lifetimes(case, segment)[t]) for t in (1, 2, 3, 4)] == [3, 3, 1, 1]
    assert in_memory.arena_bytes < plan(case.graph, case.needs).arena_bytes / 1.5
    by_rows = streamed(case, streamed_input=True)
    assert by_rows is not None
    (arriving,) = by_rows.segments
    assert rows_kept(lifetimes(case, arriving)[0]) == 3 and arriving.streamed_input == 0
    assert by_rows.arena_bytes < in_memory.arena_bytes - 8 * 8


def lifetimes(case: Case, segment: Segment) -> Mapping[int, RowLifetimes]:
    """Return the lifetimes of the rows of a segment's tensors."""
    schedule = make_schedule(case.graph, case.needs, segment.stages, segment.streamed_input)
    assert schedule is not None
    return schedule.rows


def test_rows_of_several_tensors_share_memory() -> None:
    """Each convolution reads three rows, but only one tensor has three rows at a time: its oldest row is no longer
    needed when a row of another tensor is computed."""
    b = ImageBuilder()
    at = b.input(40, 96)
    for _ in range(4):
        at = b.window(at, 96)
    case = b.case(b.dense(b.view(b.mean(at)), 10))
    streaming_plan = streamed(case, streamed_input=True, alignment=4)
    assert streaming_plan is not None
    (segment,) = streaming_plan.segments
    kept = [rows_kept(rows) for t, rows in lifetimes(case, segment).items() if t in segment.rows]
    assert sorted(kept) == [1, 3, 3, 3, 3]
    # Two rows of each of the four tensors, the newest row of one, and the row that is computed.
    assert streaming_plan.arena_bytes == (4 * 2 + 2) * 96 + segment.state_bytes
    at_once = set.intersection(*(set(segment.rows[t]) for t in sorted(segment.rows)[:2]))
    assert at_once, "rows of different tensors are at the same address"


def test_an_output_row_overwrites_an_input_row() -> None:
    """Each output row is at the address of the oldest row of its window, which no later step reads."""

    def chain(in_place: bool) -> Case:
        b = ImageBuilder()
        at = b.input(30, 64)
        for _ in range(3):
            at = b.window(b.window(at, 64, in_place=in_place), 64, taps=1, in_place=in_place)
        return b.case(b.mean(at))

    plans: dict[bool, Plan] = {}
    for in_place in (False, True):
        case = chain(in_place)
        streaming_plan = streamed(case, streamed_input=True, alignment=4)
        assert streaming_plan is not None and violations(case, streaming_plan) == []
        plans[in_place] = streaming_plan
    rows = plans[True].segments[0].rows
    assert rows[1][5] == rows[0][4] and rows[2][5] == rows[1][5]
    # Without it, the row that is computed needs memory of its own.
    assert plans[True].arena_bytes == plans[False].arena_bytes - 64


def test_a_row_that_is_needed_later_is_not_overwritten() -> None:
    """The ADD reads the first convolution's rows too, so the second convolution cannot overwrite them."""
    b = ImageBuilder()
    first = b.window(b.input(12, 16), 16)
    case = b.case(b.mean(b.add(b.window(first, 16, taps=1, in_place=True), first)))
    streaming_plan = streamed(case, streamed_input=True)
    assert streaming_plan is not None and violations(case, streaming_plan) == []
    (segment,) = streaming_plan.segments
    assert all(a != b for a, b in zip(segment.rows[first], segment.rows[first + 1], strict=True))
    shared = move_row(streaming_plan, 0, first + 1, 5, segment.rows[first][5])
    assert any("but byte" in sentence for sentence in violations(case, shared))


def test_a_row_has_an_address_of_16_bits() -> None:
    """Rows of an arena above 256 KB have a larger alignment."""
    b = ImageBuilder()
    wide = 100_004
    x = b.input(9, wide)
    case = b.case(b.mean(b.window(b.window(x, wide), wide)))
    streaming_plan = streamed(case, streamed_input=True)
    assert streaming_plan is not None and violations(case, streaming_plan) == []
    (segment,) = streaming_plan.segments
    offsets = [offset for rows in segment.rows.values() for offset in rows]
    assert max(offsets) >= 4 * 65536 and max(offsets) // row_unit(offsets) < 65536


def test_the_output_overwrites_input_rows_that_are_no_longer_needed() -> None:
    b = ImageBuilder()
    x = b.input(40, 16)
    case = b.case(b.window(x, 16))
    streaming_plan = streamed(case)
    assert (
        streaming_plan is not None
        # the 40 rows of the input and four more rows, of 16 bytes each
        and streaming_plan.arena_bytes <= 40 * 16 + 4 * 16 + streaming_plan.segments[0].state_bytes
    )


def test_a_limit_of_zero_allows_no_extra_instructions() -> None:
    case = example()
    unlimited, limited = streamed(case), streamed(case, extra_limit=0)
    assert unlimited is not None and unlimited.segments
    assert limited is None or all(
        case.needs[k].rows.extra == 0  # type: ignore[union-attr]
        for s in limited.segments
        for k in s.stages
    )


def test_a_graph_without_row_operators_has_no_streaming_plan() -> None:
    b = ImageBuilder()
    x = b.input(4, 4)
    case = b.case(b.dense(x, 3))
    assert streamed(case) is None
    assert streamed(case, streamed_input=True) is None


def test_two_inputs_cannot_arrive_by_rows() -> None:
    b = ImageBuilder()
    x, y = b.input(4, 4), b.input(4, 4)
    case = b.case(b.add(x, y))
    with pytest.raises(PlanError, match="one input"):
        streamed(case, streamed_input=True)


def test_an_accumulating_operator_ends_a_segment() -> None:
    b = ImageBuilder()
    x = b.input(9, 8)
    case = b.case(b.window(b.mean(b.window(x, 8)), 8, taps=1))
    streaming_plan = streamed(case)
    assert streaming_plan is not None and violations(case, streaming_plan) == []
    assert all(s.stages[-1] != 2 or len(s.stages) == 1 for s in streaming_plan.segments)


PlanChange = Callable[[Plan], Plan]


def change_first_segment(change: Callable[[Segment], Segment]) -> PlanChange:
    """Return a function that applies ``change`` to the first segment of a plan."""
    return lambda p: _with_segment(p, 0, change(p.segments[0]))


#: Maps a mistake to a function that changes a correct plan, and to words of the checker's message.
WRONG: dict[str, tuple[PlanChange, str]] = {
    "arena": (lambda p: replace(p, arena_bytes=p.arena_bytes - 16), "lower bound|outside the arena"),
    "no offset": (
        lambda p: replace(p, offsets={t: o for t, o in p.offsets.items() if t != 0}),
        "tensor 0 has no address",
    ),
    "unaligned": (lambda p: replace(p, offsets={**p.offsets, 0: p.offsets[0] + 1}), "not aligned to 16"),
    "stages apart": (change_first_segment(lambda s: replace(s, stages=(0, 2, 1, 3, 4))), "are not adjacent"),
    "no rows": (change_first_segment(lambda s: replace(s, stages=(*s.stages, 5))), "cannot run by rows"),
    "twice": (lambda p: replace(p, segments=p.segments * 2), "not separate operators"),
    "sources": (change_first_segment(lambda s: replace(s, sources=(0, 1))), "names wrong sources"),
    "rows of others": (
        change_first_segment(lambda s: replace(s, rows={**s.rows, 6: (0,)})),
        "Tensor 6 must be completely in memory",
    ),
    "too many rows": (
        change_first_segment(lambda s: replace(s, rows={**s.rows, 1: (*s.rows[1], 0)})),
        "21 addresses for 20 rows",
    ),
    "rows of a source": (
        change_first_segment(lambda s: replace(s, rows={**s.rows, 0: (0,) * 20})),
        "Tensor 0 must be completely in memory",
    ),
    "lowest row": (
        lambda p: replace(p, offsets={**p.offsets, 1: p.offsets[1] + 4}),
        "not that of its lowest row",
    ),
    "row overwritten": (lambda p: move_row(p, 0, 1, 5, p.segments[0].rows[1][4]), "but byte|overlaps what"),
    "row unaligned": (lambda p: move_row(p, 0, 1, 5, p.segments[0].rows[1][5] + 2), "not aligned to 4"),
    "row outside": (lambda p: move_row(p, 0, 1, 5, p.arena_bytes - 28), "row 5 of tensor 1 .* is outside"),
    "pushed": (
        change_first_segment(lambda s: replace(s, streamed_input=1)),
        "not an input that the segment reads",
    ),
    "state": (change_first_segment(lambda s: replace(s, state_bytes=s.state_bytes - 4)), "bytes of state"),
    "short": (
        change_first_segment(lambda s: replace(s, schedule=s.schedule[:-1])),
        "computes 19 rows instead of 20",
    ),
    "early": (change_first_segment(lambda s: replace(s, schedule=s.schedule[1:])), "before it is computed"),
    "no stage": (
        change_first_segment(lambda s: replace(s, schedule=(*s.schedule, 9))),
        "which is not a stage",
    ),
    "row on input": (
        lambda p: move_row(p, 0, 2, 5, p.segments[0].rows[1][5]),
        "overlaps what the same step uses",
    ),
    "scratch on rows": (
        lambda p: replace(p, scratch_offsets={**p.scratch_offsets, 1: p.segments[0].rows[1][5] // 16 * 16}),
        "scratch of operator 1 .* overlaps what the same step uses",
    ),
    "state on rows": (
        lambda p: _with_segment(
            p, 0, replace(p.segments[0], state_offset=p.segments[0].rows[1][8] // 16 * 16)
        ),
        "but byte",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_names_the_mistake_of_a_wrong_plan(name: str) -> None:
    case = example()
    correct = streamed(case)
    assert correct is not None and violations(case, correct) == []
    change, message = WRONG[name]
    changed = change(correct)
    changed = replace(changed, status="optimal" if changed.arena_bytes == changed.lower_bound else "gap")
    with pytest.raises(PlanError, match=message):
        check(case.graph, changed, case.needs)
