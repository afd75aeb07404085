"""An image (a converted model) records preprocessing, postprocessing and labels beside the graph."""

from __future__ import annotations

import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.host.build.attachments import Attachments, recorded_preprocessing
from tests.host.small_graphs import classifier

PREPROCESSING = Preprocessing.from_json(
    {"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 12, "height": 12}]}
)


def test_steps_are_recorded_and_read_back() -> None:
    model = classifier()
    postprocessing = Postprocessing.from_json({"steps": [{"do": "top_k", "k": 2, "threshold": 0.25}]})
    extra = Attachments(PREPROCESSING, postprocessing).extra(model, {"kind": "test"})
    assert recorded_preprocessing(extra) == PREPROCESSING.bound(model.main.tensors[model.main.inputs[0]])
    assert Postprocessing.from_json(extra["postprocessing"]) == postprocessing


def test_a_missing_output_raises_an_error() -> None:
    postprocessing = Postprocessing.from_json({"steps": [{"do": "top_k", "output": 4}]})
    with pytest.raises(UsageError, match="reads output 4"):
        Attachments(None, postprocessing).extra(classifier(), {})


def test_an_anomaly_head_is_recorded_if_it_suits_the_model() -> None:
    head = AnomalyHead(warmup=20, memory=64, classes=2)
    extra = Attachments(anomaly=head).extra(classifier(), {"kind": "test"})
    assert AnomalyHead.from_json(extra["anomaly"]) == head
    again = Attachments().extra(classifier(), {}, known=extra)
    assert again["anomaly"] == extra["anomaly"], "a plan of an image removed its anomaly head"
    with pytest.raises(UsageError, match="output is 7, but the model has"):
        Attachments(anomaly=AnomalyHead(output=7)).extra(classifier(), {})


def test_a_damaged_record_raises_an_error() -> None:
    with pytest.raises(UsageError, match="The image's preprocessing, step 1"):
        recorded_preprocessing({"preprocessing": {"source": {"kind": "image"}, "steps": [{"do": "nothing"}]}})


@pytest.mark.parametrize(
    ("source", "steps", "input_shape"),
    [
        ({}, [{"do": "resize", "width": 14, "height": 12}], "12x14x3"),
        ({"format": "grey"}, [], "12x12x1"),
        ({"width": 20, "height": 20}, [], "20x20x3"),
        ({"width": 20, "height": 20}, [{"do": "crop", "width": 12, "height": 12}], None),
        ({}, [{"do": "crop", "width": 20, "height": 20}, {"do": "resize", "width": 12, "height": 12}], None),
        ({}, [{"do": "resize", "short_side": 16}, {"do": "crop", "width": 12, "height": 12}], None),
    ],
)
def test_preprocessing_must_yield_the_input_of_the_model(
    source: dict[str, object], steps: list[dict[str, object]], input_shape: str | None
) -> None:
    spec = Preprocessing.from_json({"source": {"kind": "image", **source}, "steps": steps})
    if input_shape is None:
        assert "preprocessing" in Attachments(spec).extra(classifier(), {})
        return
    with pytest.raises(UsageError, match=f"yields {input_shape} values, but .* has 1x12x12x3"):
        Attachments(spec).extra(classifier(), {})


def test_audio_of_another_length_raises_an_error() -> None:
    steps = [
        {"do": "frame", "length": 16, "step": 16},
        {"do": "fft", "length": 16},
        {"do": "log", "offset": 1},
    ]
    spec = Preprocessing.from_json(
        {"source": {"kind": "audio", "rate": 8000, "samples": 160}, "steps": steps}
    )
    with pytest.raises(UsageError, match="yields 10x9x1 values"):
        Attachments(spec).extra(classifier(), {})


def test_the_records_of_an_image_are_the_defaults() -> None:
    recorded = Attachments(PREPROCESSING, labels=("a", "b", "c", "d", "e")).extra(classifier(), {})
    attachments = Attachments().fill_from_image(recorded)
    assert attachments.labels == ("a", "b", "c", "d", "e") and attachments.preprocessing is not None
    assert attachments.preprocessing.real == PREPROCESSING
    assert Attachments(labels=("v", "w", "x", "y", "z")).fill_from_image(recorded).labels[0] == "v"
