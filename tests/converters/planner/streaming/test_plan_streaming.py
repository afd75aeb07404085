"""Streaming plans of random graphs: the independent checker and a machine on real bytes agree about right and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arenite.converters.planner import Plan, check, find_violations, plan
from arenite.converters.planner.plan import Segment
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.errors import PlanError
from tests.converters.planner.random_graphs import Case
from tests.converters.planner.streaming.random_chains import ImageBuilder, chains
from tests.converters.planner.streaming.row_machine import Machine, reference


def violations(case: Case, made: Plan) -> list[str]:
    return find_violations(case.graph, made, case.needs)


def streamed(case: Case, streamed_input: bool = False, **options: Any) -> Plan | None:
    return plan_streaming(
        case.graph, case.needs, streamed_input=case.graph.inputs[0] if streamed_input else None, **options
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(chains(), st.booleans(), st.sampled_from([1, 4, 16]))
def test_plans_compute_what_whole_tensors_compute(case: Case, streamed_input: bool, alignment: int) -> None:
    made = streamed(case, streamed_input, alignment=alignment)
    assume(made is not None)
    assert made is not None
    assert violations(case, made) == []
    assert made.lower_bound <= made.arena_bytes
    if streamed_input or made.segments:
        assert Machine(case, made).run() == reference(case)
    assert Plan.from_json(json.loads(json.dumps(made.to_json()))) == made


@st.composite
def mutants(draw: st.DrawFn) -> tuple[Case, Plan]:
    """A plan with one thing changed at random: mostly wrong, sometimes just another right one."""
    case = draw(chains(max_ops=6))
    made = streamed(case, draw(st.booleans()), alignment=1)
    assume(made is not None and made.segments)
    assert made is not None
    which = draw(st.integers(0, len(made.segments) - 1))
    segment = made.segments[which]
    kind = draw(st.sampled_from(["offset", "offset", "scratch", "slots", "swap", "drop", "state", "arena"]))
    if kind == "offset":
        t = draw(st.sampled_from(sorted(made.offsets)))
        step = draw(st.sampled_from([1, -1, 5, -5, 16, -16, 48, -48]))
        made = replace(made, offsets={**made.offsets, t: made.offsets[t] + step})
    elif kind == "scratch" and made.scratch_offsets:
        k = draw(st.sampled_from(sorted(made.scratch_offsets)))
        step = draw(st.sampled_from([1, -1, 24, -24]))
        made = replace(made, scratch_offsets={**made.scratch_offsets, k: made.scratch_offsets[k] + step})
    elif kind == "slots":
        t = draw(st.sampled_from(sorted(segment.slots)))
        slots = max(segment.slots[t] + draw(st.sampled_from([1, -1])), 1)
        made = _with(made, which, replace(segment, slots={**segment.slots, t: slots}))
    elif kind == "swap" and len(segment.schedule) > 1:
        order = list(segment.schedule)
        p = draw(st.integers(0, len(order) - 2))
        order[p], order[p + 1] = order[p + 1], order[p]
        made = _with(made, which, replace(segment, schedule=tuple(order)))
    elif kind == "drop":
        p = draw(st.integers(0, len(segment.schedule) - 1))
        made = _with(made, which, replace(segment, schedule=segment.schedule[:p] + segment.schedule[p + 1 :]))
    elif kind == "state":
        at = segment.state_offset + draw(st.sampled_from([1, -1, 8, -8]))
        made = _with(made, which, replace(segment, state_offset=at))
    elif kind == "arena":
        made = replace(made, arena_bytes=made.arena_bytes - 1)
    return case, replace(made, status="optimal" if made.arena_bytes == made.lower_bound else "gap")


def _with(made: Plan, which: int, segment: Segment) -> Plan:
    segments = list(made.segments)
    segments[which] = segment
    return replace(made, segments=tuple(segments))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(mutants())
def test_a_plan_without_violations_computes_the_right_bytes(mutant: tuple[Case, Plan]) -> None:
    case, changed = mutant
    if not violations(case, changed):
        assert Machine(case, changed).run() == reference(case)


def example() -> Case:
    """Two windows, a residual addition over them, a mean, and what follows it."""
    b = ImageBuilder()
    x = b.input(20, 8)
    first = b.window(x, 32)
    second = b.window(b.window(first, 32, scratch=8), 32)
    return b.case(b.whole(b.view(b.mean(b.add(second, first))), 10))


def test_a_residual_block_needs_a_few_rows() -> None:
    case = example()
    made = streamed(case)
    assert made is not None and len(made.segments) == 1
    (segment,) = made.segments
    assert segment.stages == (0, 1, 2, 3, 4)
    assert [segment.slots[t] for t in range(6)] == [20, 3, 3, 1, 1, 1]
    assert made.arena_bytes < plan(case.graph, case.needs).arena_bytes / 1.5
    taken = streamed(case, streamed_input=True)
    assert taken is not None
    assert taken.segments[0].slots[0] == 3 and taken.segments[0].streamed_input == 0
    assert taken.arena_bytes < made.arena_bytes - 8 * 8


def test_the_output_grows_over_the_rows_that_are_consumed() -> None:
    b = ImageBuilder()
    x = b.input(40, 16)
    case = b.case(b.window(x, 16))
    made = streamed(case)
    assert made is not None and made.arena_bytes <= 40 * 16 + 4 * 16 + made.segments[0].state_bytes


def test_extra_instructions_are_limited() -> None:
    case = example()
    free, bound = streamed(case), streamed(case, extra_limit=0)
    assert free is not None and free.segments
    assert bound is None or all(
        case.needs[k].rows.extra == 0  # type: ignore[union-attr]
        for s in bound.segments
        for k in s.stages
    )


def test_nothing_to_stream() -> None:
    b = ImageBuilder()
    x = b.input(4, 4)
    case = b.case(b.whole(x, 3))
    assert streamed(case) is None
    assert streamed(case, streamed_input=True) is None


def test_two_inputs_cannot_be_taken_by_rows() -> None:
    b = ImageBuilder()
    x, y = b.input(4, 4), b.input(4, 4)
    case = b.case(b.add(x, y))
    with pytest.raises(PlanError, match="one input"):
        streamed(case, streamed_input=True)


def test_what_accumulates_ends_a_segment() -> None:
    b = ImageBuilder()
    x = b.input(9, 8)
    case = b.case(b.window(b.mean(b.window(x, 8)), 8, taps=1))
    made = streamed(case)
    assert made is not None and violations(case, made) == []
    assert all(s.stages[-1] != 2 or len(s.stages) == 1 for s in made.segments)


Change = Callable[[Plan], Plan]


def first(change: Callable[[Segment], Segment]) -> Change:
    return lambda p: _with(p, 0, change(p.segments[0]))


WRONG: dict[str, tuple[Change, str]] = {
    "arena": (lambda p: replace(p, arena_bytes=p.arena_bytes - 16), "lower bound|outside the arena"),
    "no offset": (
        lambda p: replace(p, offsets={t: o for t, o in p.offsets.items() if t != 1}),
        "tensor 1 has no address",
    ),
    "unaligned": (lambda p: replace(p, offsets={**p.offsets, 3: p.offsets[3] + 1}), "not aligned"),
    "stages apart": (first(lambda s: replace(s, stages=(0, 2, 1, 3, 4))), "are not adjacent"),
    "no rows": (first(lambda s: replace(s, stages=(*s.stages, 5))), "cannot run by rows"),
    "twice": (lambda p: replace(p, segments=p.segments * 2), "not separate operators"),
    "sources": (first(lambda s: replace(s, sources=(0, 1))), "names wrong sources"),
    "slots of others": (
        first(lambda s: replace(s, slots={**s.slots, 6: 1})),
        "gives slots to tensors that it does not use",
    ),
    "too many slots": (first(lambda s: replace(s, slots={**s.slots, 1: 30})), "30 slots for 20 rows"),
    "ring outside": (
        first(lambda s: replace(s, slots={**s.slots, 0: 3})),
        "tensor 0 't0' must be held whole",
    ),
    "few slots": (first(lambda s: replace(s, slots={**s.slots, 1: 2})), "whose slot is taken again|but byte"),
    "pushed": (first(lambda s: replace(s, streamed_input=1)), "not an input that the segment reads"),
    "state": (first(lambda s: replace(s, state_bytes=s.state_bytes - 4)), "bytes of state"),
    "short": (first(lambda s: replace(s, schedule=s.schedule[:-1])), "computes 19 rows instead of 20"),
    "early": (first(lambda s: replace(s, schedule=s.schedule[1:])), "before it is computed"),
    "no stage": (first(lambda s: replace(s, schedule=(*s.schedule, 9))), "which is not a stage"),
    "ring on ring": (
        lambda p: replace(p, offsets={**p.offsets, 2: p.offsets[1]}),
        "but byte|overlaps what the same step uses",
    ),
    "scratch on rows": (
        lambda p: replace(p, scratch_offsets={**p.scratch_offsets, 1: p.offsets[1]}),
        "scratch of operator 1 .* overlaps what the same step uses",
    ),
    "state on rows": (
        lambda p: _with(p, 0, replace(p.segments[0], state_offset=p.offsets[4])),
        "but byte",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_plan_is_named(name: str) -> None:
    case = example()
    right = streamed(case)
    assert right is not None and violations(case, right) == []
    change, sentence = WRONG[name]
    changed = change(right)
    changed = replace(changed, status="optimal" if changed.arena_bytes == changed.lower_bound else "gap")
    with pytest.raises(PlanError, match=sentence):
        check(case.graph, changed, case.needs)
