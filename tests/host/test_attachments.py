"""What is recorded beside the graph."""

from __future__ import annotations

import pytest

from arenite.converters.errors import UsageError
from arenite.converters.processing.spec import Preprocessing
from arenite.converters.processing.steps_post import Postprocessing
from arenite.host.attachments import Attachments, recorded_preprocessing
from tests.host.bench.graphs import classifier

BEFORE = Preprocessing.from_json(
    {"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 12, "height": 12}]}
)


def test_steps_are_recorded_and_read_back() -> None:
    model = classifier()
    after = Postprocessing.from_json({"steps": [{"do": "top_k", "k": 2, "threshold": 0.25}]})
    extra = Attachments(BEFORE, after).extra(model, {"kind": "test"})
    assert recorded_preprocessing(extra) == BEFORE.bound(model.main.tensors[model.main.inputs[0]])
    assert Postprocessing.from_json(extra["postprocessing"]) == after


def test_an_output_that_is_not_there_is_refused() -> None:
    after = Postprocessing.from_json({"steps": [{"do": "top_k", "output": 4}]})
    with pytest.raises(UsageError, match="speaks of output 4"):
        Attachments(None, after).extra(classifier(), {})


def test_a_damaged_record_is_refused() -> None:
    with pytest.raises(UsageError, match="The image's preprocessing, step 1"):
        recorded_preprocessing({"preprocessing": {"source": {"kind": "image"}, "steps": [{"do": "nothing"}]}})
