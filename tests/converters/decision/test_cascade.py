"""A cascade runs a model only while the stage before it is active."""

from __future__ import annotations

import numpy as np

from arenite.converters.decision.cascade import CascadeModel, run_cascade
from arenite.converters.decision.plan import plan_gate
from arenite.converters.decision.record import Gate
from arenite.converters.decision.reference import decide_all
from tests.converters.decision.streams import plan_of

HOPS = 40


def stream() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return blocks that are loud in hops 10 to 29, scores of a small model that are high in hops 14 to 19, and scores
    of a large model that are high in hops 16 to 17 and in the quiet hop 35."""
    square = np.resize(np.array([1000, -1000], np.int16), 160)
    blocks = [square * (10 <= hop < 30) for hop in range(HOPS)]
    small, large = np.full((HOPS, 1), -128, np.int8), np.full((HOPS, 1), -128, np.int8)
    small[14:20] = 100
    large[[16, 17, 35]] = 100
    return blocks, small, large


def test_each_stage_opens_the_next() -> None:
    blocks, small, large = stream()
    gate = plan_gate(Gate(threshold=100.0, unit="counts", block=160, hang_blocks=3))
    ran: list[list[int]] = [[], []]

    def scores(stage: int, values: np.ndarray) -> CascadeModel:
        def run(hop: int) -> np.ndarray:
            ran[stage].append(hop)
            return values[hop]

        return CascadeModel(run, plan_of(1, threshold=0.5), hang=2)

    at = [160 * hop + 159 for hop in range(HOPS)]
    result = run_cascade(gate, [scores(0, small), scores(1, large)], blocks, at)
    assert ran[0] == list(range(10, 33))
    assert ran[1] == list(range(14, 22))
    assert result.runs == [23, 8]
    present = [14 <= hop < 22 for hop in range(HOPS)]
    assert result.events == decide_all(plan_of(1, threshold=0.5), large, at, present)
    assert [event.at for event in result.events] == [160 * 16 + 159, 160 * 18 + 159]


def test_without_a_gate_the_first_model_always_runs() -> None:
    blocks, small, _ = stream()
    plan = plan_of(1, threshold=0.5)
    at = list(range(HOPS))
    result = run_cascade(None, [CascadeModel(lambda hop: small[hop], plan)], blocks, at)
    assert result.runs == [HOPS] and result.events == decide_all(plan, small, at)
