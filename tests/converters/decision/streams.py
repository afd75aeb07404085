"""Score tensors and random decisions for the tests of decisions."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from arenite.converters.decision.plan import DecisionPlan, GatePlan, plan_decision
from arenite.converters.decision.record import Decision
from arenite.converters.graph.tensor import Quantization, Tensor


def score_tensor(classes: int, scale: float = 1 / 256, zero: int = -128, dtype: str = "int8") -> Tensor:
    """Return an output tensor of ``classes`` scores. The default scale is that of a softmax."""
    return Tensor(0, "scores", (1, classes), dtype, Quantization((scale,), (zero,)))


def plan_of(count: int = 3, labels: tuple[str, ...] = (), rate: int = 0, **fields: Any) -> DecisionPlan:
    """Return the plan of a decision with these fields for a softmax of ``count`` classes."""
    return plan_decision(Decision.from_json(fields), [score_tensor(count)], labels, rate)


@st.composite
def decision_plans(draw: st.DrawFn) -> DecisionPlan:
    """Return random plans. Their thresholds are often within the range of smoothed scores."""
    classes, exclusive = draw(st.integers(1, 6)), draw(st.booleans())
    factor = draw(st.sampled_from([0, 1, 2048, 8192, 16384, 32768]) | st.integers(0, 32768))
    hops = 1 if factor else draw(st.integers(1, 9))
    one = 32768 if factor else hops
    on, off = [], []
    for _ in range(classes):
        start = draw(st.integers(-60 * one, 100 * one) | st.just(2**31 - 1))
        on.append(start)
        off.append(min(start, 127 * one) - draw(st.integers(0, 40 * one)))
    return DecisionPlan(
        output=0,
        on=tuple(on),
        off=tuple(off),
        hops=hops,
        factor=factor,
        minimum=draw(st.integers(1, 4)),
        refractory=draw(st.sampled_from([0, 1, 500, 2000])),
        exclusive=exclusive,
    )


@st.composite
def gate_plans(draw: st.DrawFn) -> GatePlan:
    """Return random plans of gates for blocks of at most 64 samples."""
    on = draw(st.integers(0, 2**30))
    return GatePlan(
        on=on,
        off=draw(st.integers(0, on)),
        hang=draw(st.integers(0, 5)),
        channels=draw(st.integers(1, 3)),
        block=draw(st.integers(1, 64)),
    )


def logit(probability: float) -> float:
    """Return the value whose sigmoid is ``probability``."""
    return math.log(probability / (1 - probability))
