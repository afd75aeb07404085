"""Which models may replace the one that serves, and how they are opened."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import ModelError
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.updates.candidate import candidate_options, check_facts, short_turns
from tests.host.camera.serving.real_servers import server_of
from tests.host.camera.updates.runs import copy_of

MODEL = "visual_wake_words"


@pytest.fixture
def model() -> CameraModel:
    server = server_of(MODEL)
    server.close()
    return server.model


def facts(model: CameraModel, **changes: Any) -> dict[str, Any]:
    same = {
        "kind": "classes", "labels": tuple(model.labels), "input": tuple(model.inputs[0].shape),
        "inputs": len(model.inputs), "slots": 2, "keeps_state": False, "notes": (),
    }  # fmt: skip
    return {**same, **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "boxes"}, "answers are boxes, and those of the present model are classes"),
        ({"inputs": 2}, "has 2 inputs"),
        ({"slots": 1}, "processes 1 frames at a time, and 2 are in use"),
        ({"keeps_state": True}, "--warm-model would change its answers"),
    ],
)
def test_models_that_cannot_replace_the_present_one(
    model: CameraModel, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        check_facts(facts(model, **changes), model, "classes", 2, warm_model=True)


def test_differences_that_are_allowed(model: CameraModel) -> None:
    assert check_facts(facts(model), model, "classes", 2, warm_model=True) == []
    assert check_facts(facts(model, kind="boxes", keeps_state=True), model, None, 2, warm_model=False) == []
    notes = check_facts(
        facts(model, labels=("a",), input=(1, 9, 9, 3)), model, "classes", 2, warm_model=False
    )
    assert ["1 labels" in notes[0], "1x9x9x3" in notes[1]] == [True, True]


def test_a_file_without_recorded_steps_uses_those_of_the_version_before(
    model: CameraModel, tmp_path: Path
) -> None:
    newer = copy_of(MODEL, tmp_path / "newer.tflite", padding=16)
    alone, after = open_model(str(newer)), open_model(str(newer), previous=model)
    assert after.preprocessing == model.preprocessing and after.postprocessing == model.postprocessing
    assert after.labels == model.labels
    assert any("the steps of the version before apply" in note for note in after.notes)
    assert alone.labels != model.labels
    # The steps of a model with other shapes do not apply.
    other = replace(model, inputs=(replace(model.inputs[0], shape=(1, 9, 9, 3)),), outputs=())
    assert open_model(str(newer), previous=other).labels == alone.labels


def test_the_runtime_of_a_new_version(tmp_path: Path) -> None:
    old, tflite, onnx = Path("old.tflite"), Path("new.tflite"), Path("new.onnx")
    options = CameraOptions.of(
        model="old.tflite", repository="models", measure_runtimes=True, labels=Path("l")
    )
    new = candidate_options(options, tflite, "litert-cpu", old)
    assert (new.model.name, new.model.runtime, new.model.measure_runtimes) == (
        "new.tflite",
        "litert-cpu",
        False,
    )
    assert new.updates.repository is None and new.model.labels == Path("l")
    assert candidate_options(options, onnx, "litert-cpu", old).model.runtime == "auto"
    given = CameraOptions.of(model="old.tflite", runtime="litert-gpu")
    assert candidate_options(given, tflite, "litert-cpu", old).model.runtime == "litert-gpu"


def test_short_turns_end() -> None:
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before
