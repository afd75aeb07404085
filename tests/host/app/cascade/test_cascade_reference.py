"""The reference of a cascade of applications is the cascade of decisions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.decision.cascade import CascadeModel, run_cascade
from arenite.converters.decision.plan import plan_decision
from arenite.converters.decision.record import recorded_decision
from arenite.converters.processing.preprocess import preprocess_samples
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.cascade.reference import ReferenceCascade
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import load_board
from tests.host.app.cascade.cascade_models import sound_pair
from tests.host.app.sound_models import DECISION, LABELS, LENGTH, RATE, STEP, sounds


def whole_windows(prepared: Prepared, rows: int, samples: np.ndarray, hang: int) -> CascadeModel:
    """Return a model whose scores are those of whole windows that end at the hops."""
    graph = prepared.model.main
    tensor = graph.tensors[graph.inputs[0]]
    spec, reference = (
        Preprocessing.from_json(prepared.extra[KEY]).bound(tensor),
        Reference(prepared.reference),
    )
    window = (rows - 1) * STEP + LENGTH

    def scores(end: int) -> np.ndarray:
        features = preprocess_samples(spec, samples[end - window : end])
        return reference.run([features.reshape(tensor.shape)])[0].reshape(-1)

    record = recorded_decision(prepared.extra)
    assert record is not None
    outputs = [graph.tensors[i] for i in graph.outputs]
    return CascadeModel(scores, plan_decision(record, outputs, LABELS, RATE), hang)


@pytest.mark.parametrize("hang", [0, 3])
def test_it_finds_the_events_of_run_cascade(hang: int, tmp_path: Path) -> None:
    """Both windows begin with the recording, and the large one is shorter, so that each hop has both windows."""
    rows = (16, 12)
    models = sound_pair(tmp_path, rows=rows)
    board, hang_ms = load_board("qemu_mps2_an386"), 1000 * hang * DECISION.hop / RATE
    plan = generate_cascade(*models, board, tmp_path / "app", hang_ms=hang_ms).cascade
    assert plan is not None and plan.hang == hang and plan.skip == 4 * STEP
    samples = sounds(12)
    first = (rows[0] - 1) * STEP + LENGTH
    ends = range(first, len(samples) + 1, DECISION.hop)
    chain = [whole_windows(m, r, samples, hang) for m, r in zip(models, rows, strict=True)]

    def at_hop(model: CascadeModel) -> CascadeModel:
        return CascadeModel(lambda hop: model.scores(ends[hop]), model.plan, model.hang)

    blocks = [np.zeros(0, np.int16)] * len(ends)
    expected = run_cascade(None, [at_hop(m) for m in chain], blocks, [end - 1 for end in ends])
    reference = ReferenceCascade(plan)
    pieces = np.split(samples[:, None], [1, 700, 701, 50_000])
    events = [event for piece in pieces for event in reference.feed(piece)]
    assert events == expected.events and len(events) > 4
    assert [reference.windows, reference.large_runs] == expected.runs
    assert 0 < reference.large_slept == reference.windows - reference.large_runs
