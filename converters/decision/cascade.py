"""Run a cascade: a gate, then models from small to large, each of which runs only while the stage before it is
active."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from arenite.converters.decision.plan import DecisionPlan, GatePlan
from arenite.converters.decision.record import MAX_HANG, Decision
from arenite.converters.decision.reference import Decider, Event, SampleGate
from arenite.errors import UsageError


@dataclass(frozen=True)
class CascadeModel:
    """A model of a cascade. ``scores`` runs the model for the hop with the given number and returns int8 scores.
    ``hang`` is the number of hops for which the next model still runs after this one's last event."""

    scores: Callable[[int], np.ndarray]
    plan: DecisionPlan
    hang: int = 0


@dataclass
class CascadeResult:
    """The events of the last model, and how many hops each model ran."""

    events: list[Event] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)


def plan_hang(decision: Decision, rate: int, window: int, hang_ms: float | None = None) -> int:
    """Return the number of hops of a small model for which the large model still runs after the small one's events.

    Args:
        decision: the record of the small model.
        rate: samples per second.
        window: samples that an inference of the large model depends on: the time if none is recorded or given.
        hang_ms: a time in milliseconds instead of the recorded one.

    Raises ``UsageError`` if the time is negative or too long.
    """
    hops = decision.hang_hops
    milliseconds = decision.hang_ms if hang_ms is None else hang_ms
    if milliseconds is not None and not 0 <= milliseconds <= 1e9:
        raise UsageError(
            f"The hang time is {milliseconds:g} ms, expected 0 to 1,000,000,000.",
            "Give a time in this range.",
        )
    if hang_ms is not None or hops is None:
        samples = Fraction(window) if milliseconds is None else Fraction(milliseconds) * rate / 1000
        hops = math.ceil(samples / decision.hop)
    if hops > MAX_HANG:
        raise UsageError(
            f"The hang time is {hops:,} hops, expected at most {MAX_HANG:,}.", "Give a shorter time."
        )
    return hops


def hold_plan(hang: int) -> GatePlan:
    """Return the plan of the gate that a small model holds open for ``hang`` hops."""
    return GatePlan(0, 0, hang, 1, 1)


def run_cascade(
    gate: GatePlan | None, models: Sequence[CascadeModel], blocks: Sequence[np.ndarray], at: Sequence[int]
) -> CascadeResult:
    """Return the events of the last model for a stream.

    Args:
        gate: the gate before the first model, or None.
        models: the models, from small to large.
        blocks: the int16 samples of each hop, which the gate measures.
        at: the index of the last sample of each hop.
    """
    level = None if gate is None else SampleGate(gate)
    deciders = [Decider(model.plan) for model in models]
    holds = [SampleGate(hold_plan(model.hang)) for model in models[:-1]]
    result = CascadeResult(runs=[0] * len(models))
    for hop, (block, end) in enumerate(zip(blocks, at, strict=True)):
        is_open = level is None or level.measure(block)
        for k, (model, decider) in enumerate(zip(models, deciders, strict=True)):
            result.runs[k] += is_open
            events = decider.decide(model.scores(hop) if is_open else None, end)
            if k == len(models) - 1:
                result.events += events
            else:
                is_open = holds[k].hold(decider.is_active)
    return result
