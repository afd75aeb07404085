"""The checker agrees with a machine that runs plans on real bytes, and names the mistake of each wrong plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.planner import OpRequirements, Plan, check, find_violations, plan
from arenite.errors import PlanError
from tests.converters.planner.arena_machine import outcome, reference, separate_plan
from tests.converters.planner.random_graphs import Case, GraphBuilder, cases
from tests.example_count import example_count


def make_plan(case: Case, **options: object) -> Plan:
    """Return the planner's plan."""
    return plan(case.graph, case.needs, persistent=case.persistent, **options)  # type: ignore[arg-type]


def violations(case: Case, wrong: Plan) -> list[str]:
    """Return the violations that the checker finds."""
    return find_violations(case.graph, wrong, case.needs, persistent=case.persistent)


@pytest.mark.slow
@settings(max_examples=example_count(150), deadline=None)
@given(cases(max_ops=14), st.booleans())
def test_plans_compute_the_same_as_separate_memory(case: Case, in_place: bool) -> None:
    result = make_plan(case, in_place=in_place)
    assert violations(case, result) == []
    assert outcome(case, result) == reference(case)
    assert violations(case, separate_plan(case)) == []


@st.composite
def mutants(draw: st.DrawFn) -> tuple[Case, Plan]:
    """Draw a case, and a plan for it with one or two random changes. Most plans are wrong, some are still correct."""
    case = draw(cases(max_ops=9))
    result = make_plan(case, alignment=draw(st.sampled_from([1, 16])))
    for _ in range(draw(st.integers(1, 2))):
        tables = [
            name for name in ("offsets", "scratch_offsets", "variable_offsets") if getattr(result, name)
        ]
        kind = draw(st.sampled_from([*tables, *tables, "swap", "order", "arena"]))
        if kind in tables:
            table = dict(getattr(result, kind))
            key = draw(st.sampled_from(sorted(table)))
            step = draw(st.sampled_from([1, -1, 2, -2, 5, -5])) * result.alignment
            table[key] = draw(st.sampled_from([table[key] + step, *table.values()]))
            changed: dict[str, Any] = {kind: table}
            result = replace(result, **changed)
        elif kind == "swap" and len(result.offsets) > 1:
            a, b = draw(
                st.lists(st.sampled_from(sorted(result.offsets)), min_size=2, max_size=2, unique=True)
            )
            table = dict(result.offsets)
            table[a], table[b] = table[b], table[a]
            result = replace(result, offsets=table)
        elif kind == "order" and len(result.order) > 1:
            order = list(result.order)
            p = draw(st.integers(0, len(order) - 2))
            order[p], order[p + 1] = order[p + 1], order[p]
            result = replace(result, order=tuple(order))
        elif kind == "arena":
            size = result.arena_bytes + draw(st.sampled_from([-16, 16]))
            result = replace(result, arena_bytes=size, lower_bound=size)
    # ``sharing`` only describes the plan. It is emptied, because this test checks the addresses.
    return case, replace(result, sharing=())


@pytest.mark.slow
@settings(max_examples=example_count(500), deadline=None)
@given(mutants())
def test_a_plan_without_violations_computes_the_right_bytes(mutant: tuple[Case, Plan]) -> None:
    case, changed = mutant
    if not violations(case, changed):
        assert outcome(case, changed) == reference(case)


def example() -> Case:
    """Return a graph with a view, an in-place operator, scratch, a variable tensor and a resource variable."""
    b = GraphBuilder()
    x = b.input(64)  # tensor 0
    state = b.tensor(32, variable=True)  # 1
    handle = b.handle("v", 48)  # operator 0, tensor 2
    (a,) = b.op([x, state], [160], needs=OpRequirements(scratch=40))  # operator 1, tensor 3
    (view,) = b.op([a], [160], name="RESHAPE", needs=OpRequirements(alias=((0, 0),)))  # operator 2, tensor 4
    # Operator 3, tensor 5.
    (act,) = b.op([view], [160], name="RELU", needs=OpRequirements(in_place=((0, 0),)))
    (old,) = b.op([handle], [48], name="READ_VARIABLE")  # operator 4, tensor 6
    y, z = b.op([act, old], [96, 80])  # operator 5, tensors 7 and 8
    b.op([handle, old], [], name="ASSIGN_VARIABLE")  # operator 6
    return b.case([y, z])


def with_offset(wrong: Plan, tensor: int, offset: int) -> Plan:
    """Return the plan with another offset of a tensor."""
    return replace(wrong, offsets={**wrong.offsets, tensor: offset})


def without(table: dict, key: object) -> dict:
    """Return the table without ``key``."""
    return {k: v for k, v in table.items() if k != key}


#: Maps a mistake to a function that changes a correct plan, and to words of the checker's message.
WRONG: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "no offset": (lambda p: replace(p, offsets=without(dict(p.offsets), 3)), "tensor 3 has no address"),
    "offset of nothing": (lambda p: with_offset(p, 99, 0), "tensor 99 has an address .* needs none"),
    "offset of a handle": (lambda p: with_offset(p, 2, 0), "tensor 2 has an address .* needs none"),
    "no scratch": (lambda p: replace(p, scratch_offsets={}), "scratch of operator 1 has no address"),
    "no variable": (lambda p: replace(p, variable_offsets={}), "variable /v has no address"),
    "outside": (lambda p: with_offset(p, 7, p.arena_bytes - 16), "tensor 7 't7' is outside the arena"),
    "negative": (lambda p: with_offset(p, 7, -16), "tensor 7 't7' is outside the arena"),
    "unaligned": (lambda p: with_offset(p, 6, p.offsets[6] - 1), "'t6' at .* is not aligned to 16"),
    "scratch outside": (lambda p: replace(p, scratch_offsets={1: p.arena_bytes}), "scratch of .* is outside"),
    "arena too large": (lambda p: replace(p, arena_bytes=1 << 40), "The arena has 1099511627776 bytes"),
    "bad alignment": (lambda p: replace(p, alignment=3), "Alignment 3 is not a power of two"),
    "bound above": (lambda p: replace(p, lower_bound=p.arena_bytes + 1), "lower bound .* is above"),
    "bound below": (lambda p: replace(p, lower_bound=p.lower_bound - 16), "'optimal' contradicts"),
    "no status": (lambda p: replace(p, status="fine"), "Status 'fine' is unknown"),
    "twice": (lambda p: replace(p, order=(0, 0, 1, 2, 3, 4, 5)), "not a permutation"),
    "left out": (lambda p: replace(p, order=p.order[:-1]), "not a permutation"),
    "too early": (
        lambda p: replace(p, order=(0, 2, 1, 3, 4, 5, 6)),
        "operator 2 RESHAPE runs before operator 1",
    ),
    "state": (lambda p: replace(p, order=(0, 6, 1, 2, 3, 4, 5)), "runs before"),
    "view apart": (
        lambda p: with_offset(p, 4, p.offsets[4] + 16),
        "over its input tensor 3 't3': the operator does",
    ),
    "in place askew": (
        lambda p: with_offset(p, 5, p.offsets[5] + 16),
        "they do not begin at the same address",
    ),
    "output over input": (lambda p: with_offset(p, 7, p.offsets[5]), "'t7' over its input tensor 5 't5'"),
    "outputs together": (lambda p: with_offset(p, 8, p.offsets[7]), "and .* to the same bytes"),
    "overwritten": (lambda p: with_offset(p, 6, p.offsets[5]), "reads tensor 5 't5'.* holds tensor 6 't6'"),
    "input on variable": (
        lambda p: with_offset(p, 0, p.offsets[1]),
        "'t0' overlaps tensor 1 't1' at the start",
    ),
    "variables together": (
        lambda p: with_offset(p, 1, p.variable_offsets["/v"]),
        "'t1' overlaps that of variable",
    ),
    "over a variable": (lambda p: with_offset(p, 6, p.variable_offsets["/v"]), "overwrites variable '/v'"),
    "scratch on input": (
        lambda p: replace(p, scratch_offsets={1: p.offsets[0]}),
        "scratch .* overlaps its input",
    ),
    "scratch on output": (
        lambda p: replace(p, scratch_offsets={1: p.offsets[3]}),
        "its scratch and .* same bytes",
    ),
    "sharing claimed": (
        lambda p: replace(p, sharing=((5, 0, 0),)),
        "are listed as sharing an address but do not",
    ),
    "sharing of nothing": (
        lambda p: replace(p, sharing=((50, 0, 0),)),
        "does not name an operator",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_names_the_mistake_of_a_wrong_plan(name: str) -> None:
    case = example()
    correct = make_plan(case)
    assert violations(case, correct) == [] and correct.sharing == ((2, 0, 0), (3, 0, 0))
    change, message = WRONG[name]
    with pytest.raises(PlanError, match=message):
        check(case.graph, change(correct), case.needs, persistent=case.persistent)


def test_the_order_of_state_is_checked() -> None:
    b = GraphBuilder()
    x = b.input(16)
    handle = b.handle("v", 16)
    b.op([handle, x], [], name="ASSIGN_VARIABLE")
    (y,) = b.op([handle], [16], name="READ_VARIABLE")
    case = b.case([y])
    correct = make_plan(case)
    assert violations(case, correct) == []
    problems = violations(case, replace(correct, order=(0, 2, 1)))
    assert problems == ["The operators that use the state /v run in the order [2, 1] instead of [1, 2]."]


def test_initialization_stays_in_order_with_operators_on_state() -> None:
    b = GraphBuilder()
    handle = b.handle("v", 16)
    b.op([], [], name="CALL_ONCE")
    (y,) = b.op([handle], [16], name="READ_VARIABLE")
    case = b.case([y])
    correct = make_plan(case)
    assert correct.order.index(1) < correct.order.index(2) and violations(case, correct) == []
    assert "run in the order [2, 1]" in " ".join(violations(case, replace(correct, order=(0, 2, 1))))


def test_a_variable_that_is_read_in_place_may_not_change_before_the_last_reader() -> None:
    b = GraphBuilder()
    x, handle = b.input(16), b.handle("v", 16)
    (old,) = b.op([handle], [16], name="READ_VARIABLE", needs=OpRequirements(alias=((0, 0),)))
    (y,) = b.op([old], [16])
    b.op([handle, x], [], name="ASSIGN_VARIABLE")
    case = b.case([y])
    copying = make_plan(case, reorder=False)  # copies, because nothing makes operator 2 run before operator 3
    assert copying.offsets[old] != copying.variable_offsets["/v"]
    in_place = replace(copying, offsets={**copying.offsets, old: copying.variable_offsets["/v"]})
    assert violations(case, in_place) == []
    early = replace(in_place, order=(0, 1, 3, 2))
    assert "operator 2 CONV_2D reads tensor 2 't2'" in " ".join(violations(case, early))
    assert "holds variable '/v'" in " ".join(violations(case, early))
    assert violations(case, replace(copying, order=(0, 1, 3, 2))) == []


def test_requirements_of_another_graph_are_a_violation() -> None:
    case = example()
    assert find_violations(case.graph, make_plan(case), case.needs[1:]) == [
        "There are 6 requirements for 7 operators."
    ]


def test_an_error_contains_only_the_first_violations() -> None:
    case = example()
    with pytest.raises(PlanError, match=r"\(\d+ more\)"):
        check(case.graph, replace(make_plan(case), offsets={}), case.needs, persistent=case.persistent)


def test_an_in_place_operator_must_allow_every_position_it_reads() -> None:
    b = GraphBuilder()
    x = b.input(32)
    (y,) = b.op([x, x], [32], name="ADD", needs=OpRequirements(in_place=((0, 0), (1, 0))))
    case = b.case([y])
    in_place = make_plan(case)
    assert in_place.arena_bytes == 32 and violations(case, in_place) == []
    only_first = replace(case, needs=(OpRequirements(in_place=((0, 0),)),))
    assert "does not work in place there" in violations(only_first, in_place)[0]


def test_a_larger_output_may_not_grow_over_its_input() -> None:
    b = GraphBuilder()
    x = b.input(32)
    (y,) = b.op([x], [48], name="RELU", needs=OpRequirements(in_place=((0, 0),)))
    case = b.case([y])
    wrong = replace(make_plan(case), offsets={x: 0, y: 0})
    assert "the output is larger" in violations(case, wrong)[0]


def test_a_variable_is_never_shared() -> None:
    b = GraphBuilder()
    state = b.tensor(32, variable=True)
    (y,) = b.op([state], [32], name="RELU", needs=OpRequirements(in_place=((0, 0),), alias=((0, 0),)))
    case = b.case([y])
    assert make_plan(case).arena_bytes == 64
    wrong = replace(make_plan(case), offsets={state: 0, y: 0})
    assert "a variable cannot share its memory" in violations(case, wrong)[0]
