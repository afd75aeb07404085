"""Run a cascade: a gate, then models from small to large, each of which runs only while the stage before it is
active."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arenite.converters.decision.plan import DecisionPlan, GatePlan
from arenite.converters.decision.reference import Decider, Event, SampleGate


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
    holds = [SampleGate(GatePlan(0, 0, model.hang, 1, 1)) for model in models[:-1]]
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
