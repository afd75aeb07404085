"""What an application learns: the anomaly head that an image records, its files and the names of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arenite.converters.anomaly.head import KEY, AnomalyHead
from arenite.converters.decision.plan import DecisionPlan
from arenite.converters.decision.record import recorded_decision
from arenite.firmware.app.learning_glue import HEADER, Learning, learning_header
from arenite.firmware.app.model_glue import Scores
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.library.processing import Processing
from arenite.firmware.library.processing_writer import source_files
from arenite.host.build.prepare import Prepared


def recorded_head(extra: Mapping[str, Any]) -> AnomalyHead | None:
    """Return the anomaly head that an image records, or None. Raises ``UsageError`` when it is damaged."""
    return AnomalyHead.from_json(extra[KEY]) if KEY in extra else None


def planned_learning(processing: Processing, rate: float, hop: int) -> Learning | None:
    """Return what the application learns, or None. ``rate`` is the number of samples per second, ``hop`` the number of
    samples from window to window."""
    if processing.anomaly is None:
        return None
    first = 0 if processing.decision is None else processing.decision.classes
    return Learning(processing.anomaly, first, max(1, round(rate)), hop)


def event_scores(
    prepared: Prepared, decision: DecisionPlan | None, learning: Learning | None, labels: Sequence[str]
) -> Scores:
    """Return the names and the scores of all events: of the decision, then of what is learned."""
    graph = prepared.model.main
    if decision is not None:
        record = recorded_decision(prepared.extra)
        assert record is not None
        output = graph.tensors[graph.outputs[decision.output]]
        scores = Scores.of(output, labels, record.logits, decision.output)
        return scores if learning is None else replace(scores, names=(*scores.names, *learning.names))
    assert learning is not None
    index = learning.plan.head.output
    output = graph.tensors[graph.outputs[index]]
    return Scores(learning.names, float(output.scale), output.zero_point, output=index)


def learning_files(g: Generated, learning: Learning | None) -> dict[str, str]:
    """Return the text of the further files of an application that learns, by their names."""
    if learning is None:
        return {}
    headers = {f"arenite/{name}": text for name, text in source_files(["decision.h"]).items()}
    return {HEADER: learning_header(g, learning), **headers}
