"""Tests of opening models by name and by file: the sources of their metadata, the order of these sources, and errors of
damaged files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.processing.post.detector_steps import Detections
from arenite.converters.processing.post.landmark_mask_steps import Mask
from arenite.converters.processing.post.steps import Boxes, TopK
from arenite.converters.processing.specification.image_steps import Colour, Letterbox, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Quantize
from arenite.converters.tflite.image import image_bytes, load_image
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError, ModelError, UsageError
from arenite.host.camera.model import tflite_metadata
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.models import picture_models as pictures
from arenite.models import zoo
from arenite.models.manifest import manifest
from tests.development_models import shared_model
from tests.example_count import example_count
from tests.host.camera.answers.interpreter_runs import zoo_model
from tests.host.camera.model.model_files import model
from tests.host.camera.runtimes.small_models import onnx_model


def opened(folder: Path, built: Model | bytes, name: str = "model.tflite", **options: Any) -> CameraModel:
    """Write a model to a file of ``folder`` and open it as ``arenite camera`` does."""
    path = folder / name
    path.write_bytes(built if isinstance(built, bytes) else to_flatbuffer(built))
    return open_model(str(path), **options)


def steps(opened_model: CameraModel) -> list[Any]:
    """Return the preprocessing steps of the model."""
    return list(opened_model.preprocessing.steps)


@pytest.mark.parametrize("name", ["blazeface", "BlazeFace", "face_detection_short_range", "face-detection"])
def test_a_zoo_model_is_opened_by_its_name_or_an_alias(name: str) -> None:
    opened_model = zoo_model(name)
    entry = manifest().models["face_detection_short_range"]
    assert (opened_model.name, opened_model.sha256, opened_model.path) == (
        entry.name,
        entry.sha256,
        zoo.cached_path(entry),
    )
    (x,), (boxes, scores) = opened_model.inputs, opened_model.outputs
    assert (x.shape, x.dtype, x.quant) == ((1, 128, 128, 3), "float32", None)
    assert (boxes.shape, scores.shape) == ((1, 896, 16), (1, 896, 1))
    assert steps(opened_model) == [
        Letterbox(128, 128, method="bilinear", convention="opencv"),
        Normalize(127.5, (1.0,)),
    ]
    assert opened_model.postprocessing is not None
    assert [type(step).__name__ for step in opened_model.postprocessing.steps] == ["Boxes", "Nms"]
    assert opened_model.labels == ("face",)
    assert opened_model.notes == ()


def test_the_authors_metadata_and_labels_are_read() -> None:
    opened_model = zoo_model("efficientnet-lite0")
    assert steps(opened_model)[1:] == [
        Normalize(1.0, (127.0,), (128.0,)),
        Quantize("uint8", opened_model.inputs[0].scale, 131),
    ]
    assert (len(opened_model.labels), opened_model.labels[0], opened_model.labels[281]) == (
        1000,
        "tench",
        "tabby",
    )


def test_the_header_reader_agrees_with_the_importer() -> None:
    path = shared_model("ic01_int8")
    opened_model, graph = open_model(str(path)), load_image(path).model.main
    assert opened_model.inputs == (graph.tensors[graph.inputs[0]],)
    assert opened_model.outputs == (graph.tensors[graph.outputs[0]],)
    assert opened_model.labels[3] == "cat"  # MLPerf's models are recognized by the hash of the file


@pytest.mark.slow
def test_every_record_belongs_to_a_zoo_model_that_opens() -> None:
    for record in pictures.picture_models():
        if record.zoo:
            assert manifest().models[record.name].sha256 == record.sha256
            assert zoo.zoo_entry(record.aliases[0]).name == record.name
            opened_model = zoo_model(record.name)
            assert opened_model.notes == ()
            assert opened_model.preprocessing.to_json()["steps"]
    names = [name for record in pictures.picture_models() for name in (record.name, *record.aliases)]
    assert len(names) == len(set(names))


def test_options_override_the_image_and_the_image_overrides_the_zoo(tmp_path: Path) -> None:
    model_without_metadata = model()
    record = {"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 6, "height": 4}]}
    extra = {
        "preprocessing": record,
        "postprocessing": {"steps": [{"do": "top_k", "k": 2}]},
        "labels": list("abcdefg"),
    }
    image = image_bytes(model_without_metadata, None, extra=extra)
    opened_model = opened(tmp_path, image)
    assert steps(opened_model) == [Resize(6, 4)]
    assert opened_model.postprocessing is not None
    assert (opened_model.postprocessing.steps, opened_model.labels) == ((TopK(2),), tuple("abcdefg"))
    assert opened_model.notes == ()

    files = [tmp_path / name for name in ("pre.json", "post.toml", "labels.txt")]
    files[0].write_text(json.dumps(record | {"steps": [*record["steps"], {"do": "normalise", "divide": 2}]}))
    files[1].write_text('[[steps]]\ndo = "top_k"\nk = 3\n')
    files[2].write_text("x\ny\n")
    opened_model = opened(tmp_path, image, preprocessing=files[0], postprocessing=files[1], labels=files[2])
    assert steps(opened_model) == [Resize(6, 4), Normalize(2.0)]
    assert opened_model.postprocessing is not None
    assert (opened_model.postprocessing.steps, opened_model.labels) == ((TopK(3),), ("x", "y"))


@pytest.mark.parametrize(
    ("dtype", "scale", "zero", "step"),
    [
        ("int8", 1 / 255, -128, Normalize(255.0)),
        ("uint8", 1 / 255, 0, Normalize(255.0)),
        ("uint8", 1 / 128, 128, Normalize(127.5, (1.0,))),
        ("int8", 1 / 127.5, 0, Normalize(127.5, (1.0,))),
        ("int8", 1.0, -128, Normalize()),
        ("int8", 1.0, 0, Normalize(1.0, (128.0,))),
    ],
)
def test_the_quantization_suggests_the_input_range(
    dtype: str, scale: float, zero: int, step: Normalize, tmp_path: Path
) -> None:
    quant = Quantization((float(np.float32(scale)),), (zero,))
    opened_model = opened(tmp_path, model(dtype=dtype, quant=quant))
    assert steps(opened_model)[:2] == [Resize(6, 4, convention="opencv"), step]
    assert opened_model.preprocessing.quantize_step == Quantize(dtype, quant.scale[0], zero)
    assert "suggests" in opened_model.notes[0]


def test_unknown_preprocessing_is_assumed_with_a_note(tmp_path: Path) -> None:
    opened_model = opened(tmp_path, model((1, 4, 6, 1)))
    assert steps(opened_model) == [
        Colour("grey", "opencv"),
        Resize(6, 4, convention="opencv"),
        Normalize(255.0),
    ]
    assert "0 to 1 is assumed" in opened_model.notes[0]
    assert "best 5" in opened_model.notes[1]
    pixels = opened(tmp_path, model(dtype="uint8"))
    assert pixels.preprocessing.quantize_step == Quantize("uint8", 1.0, 0)
    assert "taken as pixel values" in pixels.notes[0]
    planes = opened(tmp_path, model((1, 3, 4, 6)))
    assert steps(planes)[0] == Resize(6, 4, convention="opencv")
    several = opened(tmp_path, model(outputs=((1, 7), (1, 3))))
    assert several.postprocessing is None
    assert "as they are" in several.notes[1]


def test_outputs_of_detection_postprocess_in_any_order(tmp_path: Path) -> None:
    shapes = ((1, 9, 4), (1, 9), (1, 9), (1,))
    detector = model(outputs=shapes, custom="TFLite_Detection_PostProcess")
    (graph,) = detector.subgraphs
    boxes, classes, scores, count = graph.outputs
    reordered = replace(graph, outputs=(scores, boxes, count, classes))
    opened_model = opened(tmp_path, replace(detector, subgraphs=(reordered,)))
    assert opened_model.postprocessing is not None
    assert opened_model.postprocessing.steps == (Detections(boxes=1, classes=3, scores=0, count=2),)


def test_a_label_for_each_channel_means_a_mask(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("background\nroad\ncar\n")
    opened_model = opened(tmp_path, model(outputs=((1, 4, 6, 3),)), labels=labels)
    assert opened_model.postprocessing is not None
    assert opened_model.postprocessing.steps == (Mask(),)
    assert "classes of pixels" in opened_model.notes[1]
    assert opened(tmp_path, model(outputs=((1, 4, 6, 3),))).postprocessing is None


def test_damaged_onnx_files_and_inputs_that_are_no_pictures_raise_an_error(tmp_path: Path) -> None:
    weights = np.zeros((12, 5), np.float32)
    with pytest.raises(UsageError, match="is not that of a picture"):
        opened(tmp_path, onnx_model(weights), "model.onnx")
    for damaged_bytes in (b"\xff" * 40, onnx_model(weights)[:60], b"\0\0\0\0"):
        with pytest.raises(ModelError):
            opened(tmp_path, damaged_bytes, "model.onnx")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nothing/there.tflite", "There is no file|Cannot read"),
        ("blazefce", "no model 'blazefce'"),
        ("keyword_spotting", "takes no pictures"),
        ("smollm2_135m", "takes no pictures"),
        ("nothing/there.gguf", "there.gguf is a language model"),
    ],
)
def test_an_unknown_name_raises_an_error(name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        open_model(name)
    assert caught.value.hint


def test_files_that_are_not_models_raise_an_error(tmp_path: Path) -> None:
    for data, problem in ((b"", "is empty"), (b"hello, this is a text", "is not a TFLite model")):
        with pytest.raises(ModelError, match=problem):
            opened(tmp_path, data)
    with pytest.raises(UsageError, match="Cannot read"):
        open_model(str(tmp_path / "missing.tflite"))
    (tmp_path / "folder.tflite").mkdir()
    with pytest.raises(UsageError, match="Cannot read"):
        open_model(str(tmp_path / "folder.tflite"))


def test_steps_that_do_not_match_the_model_raise_an_error(tmp_path: Path) -> None:
    record = {"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 5, "height": 4}]}
    (tmp_path / "pre.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match=r"5x4.*takes 6x4"):
        opened(tmp_path, model(), preprocessing=tmp_path / "pre.json")
    with pytest.raises(UsageError, match="is not that of a picture"):
        opened(tmp_path, model((1, 40)))
    with pytest.raises(UsageError, match="bool"):
        opened(tmp_path, model(dtype="bool"))


@pytest.fixture(scope="module")
def described() -> bytes:
    """Return a model file with every kind of metadata that ``open_model`` reads."""
    metadata = {tflite_metadata.NAME: b"\x10\0\0\0M001" + bytes(60)}
    extra = {"labels": ["a"], "preprocessing": {"source": {"kind": "image"}, "steps": []}}
    detector = model(outputs=((1, 9, 4), (1, 9), (1, 9), (1,)), custom="TFLite_Detection_PostProcess")
    return image_bytes(replace(detector, metadata=metadata), None, extra=extra)


@settings(max_examples=example_count(150), deadline=None)
@given(st.data())
def test_damaged_files_open_or_raise_an_error(
    described: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A damaged file opens or raises ``AreniteError``, never another error."""
    damaged = bytearray(described)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(1, len(damaged)))]
    path = tmp_path_factory.getbasetemp() / "damaged.tflite"
    path.write_bytes(damaged)
    try:
        open_model(str(path))
    except AreniteError as error:
        assert error.problem


@settings(max_examples=example_count(150), deadline=None)
@given(st.data())
def test_damaged_metadata_is_ignored(data: st.DataObject) -> None:
    blob = bytearray(data.draw(st.binary(min_size=8, max_size=120)))
    tflite_metadata.read_metadata(bytes(blob))
    damaged = bytearray(_metadata())
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    metadata = tflite_metadata.read_metadata(bytes(damaged))
    assert metadata is None or all(s > 0 for s in metadata.std)


def _metadata() -> bytes:
    """Return the TFLite metadata of EfficientNet-Lite0."""
    from arenite.host.camera.model.tflite_header import read_header

    path = zoo_model("efficientnet-lite0").path
    return read_header(memoryview(path.read_bytes()), (tflite_metadata.NAME,), "").metadata[
        tflite_metadata.NAME
    ]


def test_opening_a_model_imports_no_large_module() -> None:
    """Opening a model imports no importer schema, no downloader, no runtime and no TensorFlow."""
    zoo_model("blazeface")
    code = (
        "import sys; from arenite.host.camera.model.camera_model import open_model; open_model('blazeface');"
        "heavy = {'ai_edge_litert', 'tensorflow', 'onnxruntime', 'cv2', 'urllib.request', 'zipfile', 'PIL',"
        " 'arenite.models.zoo', 'arenite.converters.tflite.image'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


@pytest.mark.slow
def test_recorded_anchors_match_the_outputs_of_the_model() -> None:
    from arenite.converters.processing.post.plan import plan_post

    for record in pictures.picture_models():
        if record.zoo:
            opened_model = zoo_model(record.name)
            assert opened_model.postprocessing is not None
            plan = plan_post(opened_model.postprocessing, opened_model.inputs, opened_model.outputs)
            if isinstance(opened_model.postprocessing.steps[0], Boxes):
                assert plan.count == opened_model.outputs[0].shape[1]  # type: ignore[union-attr]
