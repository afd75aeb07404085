"""Plans of random graphs pass the checker, have correct bounds, are repeatable and as small as those of brute force."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.planner import OpRequirements, Plan, check, find_violations, plan
from arenite.converters.planner.lifetimes import arena_requirements, lifetimes
from arenite.errors import PlanError
from tests.converters.planner.brute_force import live_sum, orders, smallest_arena
from tests.converters.planner.random_graphs import Case, GraphBuilder, cases
from tests.example_count import example_count

#: Requirements of a RESHAPE, whose output is the same bytes as its input, and of an operator that may work in place.
VIEW = OpRequirements(alias=((0, 0),))
IN_PLACE = OpRequirements(in_place=((0, 0),))


def checked_plan(case: Case, **options: object) -> Plan:
    """Plan a case, check the plan and return it."""
    arena_plan = plan(case.graph, case.needs, persistent=case.persistent, folded=case.folded, **options)  # type: ignore[arg-type]
    check(case.graph, arena_plan, case.needs, persistent=case.persistent, folded=case.folded)
    return arena_plan


@pytest.mark.slow
@settings(max_examples=example_count(250), deadline=None)
@given(cases(max_ops=14), st.sampled_from([1, 4, 8, 16]))
def test_random_graphs_are_planned_without_violation(case: Case, alignment: int) -> None:
    arena_plan = checked_plan(case, alignment=alignment)
    assert arena_plan.lower_bound <= arena_plan.arena_bytes
    assert arena_plan.statistics.graph_bound <= arena_plan.statistics.live_bound <= arena_plan.lower_bound
    assert arena_plan.alignment == alignment and arena_plan.arena_bytes % alignment == 0
    assert plan(case.graph, case.needs, persistent=case.persistent, alignment=alignment) == arena_plan


@pytest.mark.slow
@settings(max_examples=example_count(120), deadline=None)
@given(cases(max_ops=14), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0, 3, 50]))
def test_options_and_small_budgets_give_valid_plans(
    case: Case, reorder: bool, in_place: bool, alias: bool, budget: int
) -> None:
    switches = {"reorder": reorder, "in_place": in_place, "alias": alias}
    arena_plan = checked_plan(case, **switches, order_budget=budget, offset_budget=budget)
    if not reorder:
        assert arena_plan.order == tuple(range(len(case.graph.ops)))
    # Maps (operator, input, output) to whether it is an alias; otherwise the operator works in place.
    kinds = {(k, i, o): (i, o) in case.needs[k].alias for k, i, o in arena_plan.sharing}
    assert in_place or all(kinds.values())
    assert alias or not any(kinds.values())
    assert arena_plan.statistics.graph_bound <= checked_plan(case, **switches).arena_bytes


@pytest.mark.slow
@settings(max_examples=example_count(60), deadline=None)
@given(cases(max_ops=5, plain=True))
def test_order_and_offsets_are_optimal(case: Case) -> None:
    arena_plan = checked_plan(case)
    requirements = arena_requirements(case.graph, case.needs, alignment=16)
    peaks = {}
    for order in orders(case.graph):
        buffers, _ = lifetimes(requirements, order)
        peaks[order] = live_sum(buffers)
    assert arena_plan.order_proven
    assert min(peaks.values()) == peaks[arena_plan.order] == arena_plan.statistics.graph_bound
    if peaks[tuple(range(len(case.graph.ops)))] == min(peaks.values()):
        assert arena_plan.order == tuple(range(len(case.graph.ops)))
    buffers, _ = lifetimes(requirements, arena_plan.order)
    if len(buffers) <= 7:
        assert arena_plan.arena_bytes == arena_plan.lower_bound == smallest_arena(buffers, 16)


def chain(sizes: list[int], needs: OpRequirements) -> Case:
    """Return a chain of operators between tensors of ``sizes`` bytes."""
    b = GraphBuilder()
    last = b.input(sizes[0])
    for size in sizes[1:]:
        (last,) = b.op([last], [size], needs=needs)
    return b.case([last])


def test_a_chain_needs_the_bytes_of_its_two_largest_neighbors() -> None:
    arena_plan = checked_plan(chain([160, 320, 480, 16], OpRequirements()))
    assert (arena_plan.arena_bytes, arena_plan.status, arena_plan.order_proven) == (800, "optimal", True)
    assert arena_plan.sharing == ()


def test_a_chain_in_place_needs_one_block() -> None:
    arena_plan = checked_plan(chain([160, 160, 80, 80, 16], IN_PLACE))
    assert arena_plan.arena_bytes == 160
    assert set(arena_plan.offsets.values()) == {0}
    assert arena_plan.sharing == tuple((k, 0, 0) for k in range(4))


def test_a_larger_output_is_not_computed_in_place() -> None:
    arena_plan = checked_plan(chain([160, 176], IN_PLACE))
    assert arena_plan.arena_bytes == 160 + 176 and arena_plan.sharing == ()


def test_a_view_shares_the_memory_of_an_input_that_is_read_later() -> None:
    b = GraphBuilder()
    x = b.input(64)
    (a,) = b.op([x], [640])
    (view,) = b.op([a], [640], name="RESHAPE", needs=VIEW)
    (y,) = b.op([a, view], [16])
    arena_plan = checked_plan(b.case([y, view]))
    assert arena_plan.offsets[a] == arena_plan.offsets[view]
    assert arena_plan.arena_bytes == 640 + 64


def test_an_input_that_is_read_later_is_not_overwritten() -> None:
    b = GraphBuilder()
    x = b.input(320)
    (a,) = b.op([x], [320], needs=IN_PLACE)
    (y,) = b.op([x, a], [16])
    arena_plan = checked_plan(b.case([y]), reorder=False)
    assert arena_plan.offsets[a] != arena_plan.offsets[x]


def test_an_addition_works_in_place_on_one_of_its_inputs() -> None:
    b = GraphBuilder()
    x = b.input(320)
    (a,) = b.op([x], [320])
    (s,) = b.op([x, a], [320], name="ADD", needs=OpRequirements(in_place=((0, 0), (1, 0))))
    arena_plan = checked_plan(b.case([s]))
    assert arena_plan.arena_bytes == 640
    assert arena_plan.offsets[s] in (arena_plan.offsets[x], arena_plan.offsets[a])


def test_an_operator_that_reads_a_tensor_twice_must_allow_in_place_for_both_inputs() -> None:
    for pairs, arena in ((((0, 0),), 640), (((0, 0), (1, 0)), 320)):
        b = GraphBuilder()
        x = b.input(320)
        (s,) = b.op([x, x], [320], name="ADD", needs=OpRequirements(in_place=pairs))
        assert checked_plan(b.case([s])).arena_bytes == arena


def test_the_order_is_changed_if_that_saves_memory() -> None:
    b = GraphBuilder()
    x = b.input(16)
    (wide_1,) = b.op([x], [1600])
    (wide_2,) = b.op([x], [1600])  # runs better after small_1 has replaced wide_1
    (small_1,) = b.op([wide_1], [16])
    (small_2,) = b.op([wide_2], [16])
    (y,) = b.op([small_1, small_2], [16])
    case = b.case([y])
    arena_plan = checked_plan(case)
    assert arena_plan.order_proven and arena_plan.order in ((0, 2, 1, 3, 4), (1, 3, 0, 2, 4))
    assert arena_plan.arena_bytes == 16 + 1600 + 16
    assert checked_plan(case, reorder=False).arena_bytes == 3200 + 16


def test_an_order_search_that_is_stopped_early_still_finds_a_good_order() -> None:
    b = GraphBuilder()
    x = b.input(16)
    wide = [b.op([x], [160 + 16 * n])[0] for n in range(12)]
    small = [b.op([w], [16])[0] for w in wide]
    case = b.case(list(b.op(small, [16])))
    arena_plan = checked_plan(case, order_budget=5)
    # Each branch is finished before the next one starts.
    # The input, the largest wide tensor (336 bytes) and at most 12 small tensors and the output are live together.
    assert arena_plan.arena_bytes < 16 + 352 + 16 * 13
    assert arena_plan.statistics.order_nodes == 5


def two_variables() -> tuple[GraphBuilder, int]:
    """Return a builder with two variables that are read and assigned, and the tensor of the output."""
    b = GraphBuilder()
    x = b.input(32)
    first, second = b.handle("first", 96), b.handle("second", 48)
    (old,) = b.op([first], [96], name="READ_VARIABLE")
    (joined,) = b.op([old, x], [128], name="CONCATENATION", needs=OpRequirements(scratch=20))
    (state,) = b.op([joined], [96], name="STRIDED_SLICE")
    b.op([first, state], [], name="ASSIGN_VARIABLE")
    (unchanged,) = b.op([second], [48], name="READ_VARIABLE")
    b.op([second, unchanged], [], name="ASSIGN_VARIABLE")
    return b, joined


def test_variables_keep_their_bytes_and_their_order() -> None:
    b, joined = two_variables()
    case = b.case([joined])
    arena_plan = checked_plan(case)
    assert set(arena_plan.variable_offsets) == {"/first", "/second"}
    blocks = [(arena_plan.variable_offsets["/first"], 96), (arena_plan.variable_offsets["/second"], 48)]
    assert sorted(blocks) == [(0, 96), (96, 48)] or sorted(blocks) == [(0, 48), (48, 96)]
    # The operators that read and assign a variable keep their order: 2 before 5, 6 before 7.
    state = [k for k in arena_plan.order if case.graph.ops[k].name in ("READ_VARIABLE", "ASSIGN_VARIABLE")]
    assert state.index(2) < state.index(5) and state.index(6) < state.index(7)
    assert arena_plan.scratch_offsets.keys() == {3}


def test_a_variable_is_read_without_a_copy_until_it_is_assigned() -> None:
    b = GraphBuilder()
    x, handle = b.input(32), b.handle("v", 96)
    (old,) = b.op([handle], [96], name="READ_VARIABLE", needs=VIEW)
    (flat,) = b.op([old], [96], name="RESHAPE", needs=VIEW)
    (joined,) = b.op([flat, x], [128], name="CONCATENATION")
    (state,) = b.op([joined], [96], name="STRIDED_SLICE", needs=IN_PLACE)
    b.op([handle, state], [], name="ASSIGN_VARIABLE")
    arena_plan = checked_plan(b.case([joined]))
    assert arena_plan.offsets[old] == arena_plan.offsets[flat] == arena_plan.variable_offsets["/v"]
    assert arena_plan.arena_bytes == 96 + 128 + 96
    assert checked_plan(b.case([joined]), alias=False).arena_bytes == 96 + 128 + 32 + 96


@pytest.mark.parametrize(
    "reason", ["read after the assignment", "assigned itself", "a graph output", "another size"]
)
def test_a_variable_that_changes_too_early_is_copied(reason: str) -> None:
    b = GraphBuilder()
    x, handle = b.input(96), b.handle("v", 96)
    (old,) = b.op([handle], [64 if reason == "another size" else 96], name="READ_VARIABLE", needs=VIEW)
    (y,) = b.op([old], [96])
    if reason != "another size":
        b.op([handle, old if reason == "assigned itself" else x], [], name="ASSIGN_VARIABLE")
    if reason == "read after the assignment":
        (y,) = b.op([old, y], [96])
    arena_plan = checked_plan(b.case([y, old] if reason == "a graph output" else [y]))
    assert arena_plan.offsets[old] != arena_plan.variable_offsets["/v"]


def test_variable_tensors_live_for_the_whole_run() -> None:
    b = GraphBuilder()
    x = b.input(64)
    state = b.tensor(96, variable=True)
    (a,) = b.op([x, state], [640], name="SVDF")
    (y,) = b.op([a], [640], needs=IN_PLACE)
    arena_plan = checked_plan(b.case([y]))
    assert arena_plan.arena_bytes == 96 + 64 + 640 and arena_plan.offsets[state] == 0


def test_constants_handles_and_folded_operators_need_no_memory() -> None:
    b = GraphBuilder()
    x, weights = b.input(64), b.tensor(1000, constant=True)
    (folded,) = b.op([weights], [1000])
    handle = b.handle("v", 0)
    (y,) = b.op([x, folded, weights], [32])
    arena_plan = checked_plan(b.case([y], folded=frozenset({0})))
    assert set(arena_plan.offsets) == {x, y} and arena_plan.variable_offsets == {}
    assert handle not in arena_plan.offsets and arena_plan.order == (1, 2)
    assert arena_plan.arena_bytes == 96


def test_inputs_and_outputs_that_no_operator_reads_have_memory_too() -> None:
    b = GraphBuilder()
    x, unread = b.input(32), b.input(48)
    y, ignored = b.op([x], [32, 64])
    (z,) = b.op([y], [16])
    arena_plan = checked_plan(b.case([z]))
    assert {unread, ignored} <= set(arena_plan.offsets)
    assert arena_plan.arena_bytes == 32 + 48 + 32 + 64


def test_empty_graphs_and_empty_tensors_can_be_planned() -> None:
    b = GraphBuilder()
    x = b.input(48)
    assert checked_plan(b.case([x])).arena_bytes == 48
    b = GraphBuilder()
    (y,) = b.op([b.input(0)], [0])
    arena_plan = checked_plan(b.case([y]))
    assert (
        arena_plan.arena_bytes == 0 and arena_plan.offsets == {0: 0, 1: 0} and arena_plan.status == "optimal"
    )


@pytest.mark.parametrize(
    "change", ["missing needs", "alignment", "never written", "unsorted", "position", "string"]
)
def test_an_invalid_graph_is_an_error(change: str) -> None:
    case = chain([16, 16, 16], OpRequirements())
    graph, needs, alignment = case.graph, list(case.needs), 16
    if change == "missing needs":
        needs.pop()
    elif change == "alignment":
        alignment = 12
    elif change == "never written":
        graph = replace(graph, inputs=())
    elif change == "unsorted":
        a, b = graph.ops
        graph = replace(graph, ops=(replace(b, index=0), replace(a, index=1)))
    elif change == "position":
        needs[0] = OpRequirements(in_place=((0, 1),))
    else:
        tensors = (*graph.tensors[:1], replace(graph.tensors[1], dtype="string"), *graph.tensors[2:])
        graph = replace(graph, tensors=tensors)
    with pytest.raises(PlanError):
        plan(graph, needs, alignment=alignment)


@settings(max_examples=example_count(50), deadline=None)
@given(cases())
def test_a_stored_plan_is_read_back(case: Case) -> None:
    arena_plan = checked_plan(case)
    assert Plan.from_json(json.loads(json.dumps(arena_plan.to_json()))) == arena_plan


VALID_RECORD = plan(chain([16, 16], OpRequirements()).graph, (OpRequirements(),)).to_json()


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {**VALID_RECORD, "schema": "arenite.plan/0"},
        {**VALID_RECORD, "status": "best"},
        {**VALID_RECORD, "order": [0, -1]},
        {**VALID_RECORD, "order": 3},
        {**VALID_RECORD, "offsets": {"a": 0}},
        {**VALID_RECORD, "offsets": {"0": 1.5}},
        {**VALID_RECORD, "arena_bytes": True},
        {**VALID_RECORD, "order_proven": 1},
        {**VALID_RECORD, "sharing": [[0, 0]]},
        {**VALID_RECORD, "statistics": {"unknown": 1}},
    ],
)
def test_a_malformed_record_is_refused(record: object) -> None:
    with pytest.raises(PlanError, match="stored plan is malformed"):
        Plan.from_json(record)


def test_a_graph_with_variables_has_a_valid_plan_for_every_alignment() -> None:
    b, joined = two_variables()
    case = b.case([joined])
    for alignment in (1, 2, 4, 8, 16, 32):
        arena_plan = checked_plan(case, alignment=alignment)
        assert find_violations(case.graph, arena_plan, case.needs, persistent=case.persistent) == []
