"""Tests of opening YOLO models with the metadata of Ultralytics' exporter. The tests write the ONNX and TFLite files
themselves."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.post.detector_steps import Detections, Yolo
from arenite.converters.processing.post.steps import Nms, TopK
from arenite.converters.processing.specification.image_steps import Letterbox
from arenite.converters.processing.specification.preprocessing import Normalize
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import AreniteError, UsageError
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.runtimes.base import TensorSlot
from tests.example_count import example_count
from tests.host.camera.answers.interpreter_runs import memory
from tests.host.camera.model.model_files import model
from tests.host.camera.runtimes.small_models import _bytes_field, _value_info, _varint_field

NAMES = {0: "person", 1: "bicycle", 2: "car"}
ENTRIES = {
    "task": "detect",
    "names": str(NAMES),
    "stride": "32",
    "imgsz": "[64, 96]",
    "author": "Ultralytics",
}

#: The shape of an input with a fixed size. At the strides 8, 16 and 32, YOLO predicts 8x12 + 4x6 + 2x3 = 126 boxes.
FIXED_SHAPE = (1, 3, 64, 96)


def onnx(output: tuple[int | str, ...], shape: tuple[int | str, ...], entries: dict[str, str]) -> bytes:
    """Return an ONNX file with an output of the shape ``output``, an input of ``shape`` in NCHW order, and the metadata
    ``entries``. The model is not meant to run."""
    graph = _bytes_field(
        1, _bytes_field(1, "x") + _bytes_field(2, "y") + _bytes_field(4, "Identity")
    ) + _bytes_field(2, "g")
    graph += _bytes_field(11, _value_info("x", shape)) + _bytes_field(12, _value_info("y", output))
    model_bytes = (
        _varint_field(1, 8)
        + _bytes_field(7, graph)
        + _bytes_field(8, _bytes_field(1, "") + _varint_field(2, 17))
    )
    for key, text in entries.items():
        model_bytes += _bytes_field(14, _bytes_field(1, key) + _bytes_field(2, text))
    return model_bytes


def opened(folder: Path, data: bytes, name: str) -> CameraModel:
    """Write ``data`` to the file ``name`` in ``folder`` and open it as a model."""
    (folder / name).write_bytes(data)
    return open_model(str(folder / name))


@pytest.mark.parametrize(
    ("output", "entries", "head"),
    [
        # Four numbers for the box and three scores, or with objectness, 32 mask coefficients, or 17 points.
        ((1, 7, 126), {}, Yolo(classes=3)),
        ((1, 126, 8), {}, Yolo(classes=3, objectness=True)),
        ((1, 39, 126), {"task": "segment"}, Yolo(classes=3)),
        ((1, 58, 126), {"task": "pose", "kpt_shape": "[17, 3]"}, Yolo(classes=3, points=17)),
        ((1, 300, 6), {}, Detections(output=0, order="xyxy", unit="pixels", threshold=0.25, most=100)),
        ((1, 3), {"task": "classify"}, TopK(3)),
    ],
)
def test_metadata_of_an_onnx_file_gives_labels_and_postprocessing(
    output: tuple[int, ...], entries: dict[str, str], head: Any, tmp_path: Path
) -> None:
    opened_model = opened(tmp_path, onnx(output, FIXED_SHAPE, ENTRIES | entries), "yolo.onnx")
    assert opened_model.inputs[0].shape == (1, 3, 64, 96)
    assert opened_model.labels == ("person", "bicycle", "car")
    assert opened_model.postprocessing is not None
    assert opened_model.postprocessing.steps == (
        (head, Nms(0.45, 100)) if isinstance(head, Yolo) else (head,)
    )
    if not isinstance(head, TopK):
        box = Letterbox(96, 64, (114,), convention="opencv")
        assert opened_model.preprocessing.steps == (box, Normalize(255.0))
    assert opened_model.notes == ()


def test_an_onnx_input_of_any_size_gets_the_size_in_the_metadata(tmp_path: Path) -> None:
    free_shape = ("batch", 3, "height", "width")
    opened_model = opened(tmp_path, onnx(("batch", 7, "anchors"), free_shape, ENTRIES), "yolo.onnx")
    assert opened_model.preprocessing.steps[0] == Letterbox(96, 64, (114,), convention="opencv")
    with pytest.raises(UsageError, match="any size"):
        opened(tmp_path, onnx(("batch", 7), free_shape, {}), "other.onnx")
    steps = tmp_path / "steps.json"
    steps.write_text('{"source": {"kind": "image"}, "steps": [{"do": "resize", "width": 8, "height": 8}]}')
    assert open_model(str(tmp_path / "other.onnx"), preprocessing=steps).preprocessing.steps


@settings(max_examples=example_count(100), deadline=None)
@given(st.data())
def test_damaged_onnx_opens_or_raises_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    damaged = bytearray(onnx((1, 7, 126), FIXED_SHAPE, ENTRIES))
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(1, len(damaged)))]
    with contextlib.suppress(AreniteError):
        opened(tmp_path_factory.getbasetemp(), bytes(damaged), "damaged.onnx")


@pytest.mark.parametrize(("name", "write"), [("metadata.json", json.dumps), ("temp_meta.txt", str)])
def test_tflite_outputs_are_fractions(name: str, write: Any, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, write({"task": "detect", "names": NAMES, "stride": 32}))
    data = to_flatbuffer(model((1, 64, 96, 3), outputs=((1, 7, 126),))) + packed.getvalue()
    opened_model = opened(tmp_path, data, "yolo.tflite")
    assert opened_model.labels == ("person", "bicycle", "car")
    assert opened_model.postprocessing is not None
    assert opened_model.postprocessing.steps[0] == Yolo(classes=3, unit="fractions")
    output = np.zeros((1, 7, 126), np.float32)
    output[0, :, 40] = 0.5, 0.25, 0.2, 0.1, 0.0, 0.0, 0.75
    slot = TensorSlot((), (memory(opened_model.outputs[0], output),))
    (box,) = AnswerReader(opened_model.postprocessing, slot, opened_model.labels).read().boxes
    assert (box.label, box.score) == ("car", pytest.approx(0.75))
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((0.4, 0.2, 0.6, 0.3), abs=1e-4)


@pytest.mark.parametrize(
    "entries",
    [
        {"names": "{0: 'a', 'x': 'b'}"},
        {"names": "__import__('os')"},
        {"names": "{" * 500},
        {"names": "{[0]: 'a'}"},
        {"names": "{1e999: 'a'}"},
        {"kpt_shape": "['a', 3]"},
        {"kpt_shape": "[1e999, 3]"},
        {"imgsz": "[64, 1e999]"},
        {"task": "obb"},
        {},
    ],
)
def test_unusable_metadata_is_ignored(entries: dict[str, str], tmp_path: Path) -> None:
    metadata = ENTRIES | entries if entries else {}
    opened_model = opened(tmp_path, onnx((1, 7, 126), FIXED_SHAPE, metadata), "yolo.onnx")
    assert opened_model.postprocessing is None
    assert opened_model.notes


def test_a_number_that_no_float_can_hold_counts_as_missing(tmp_path: Path) -> None:
    large = f"[{10**400}, 3]"
    opened_model = opened(
        tmp_path, onnx((1, 7, 126), FIXED_SHAPE, ENTRIES | {"kpt_shape": large}), "yolo.onnx"
    )
    assert opened_model.postprocessing is not None
    assert opened_model.postprocessing.steps == (Yolo(classes=3), Nms(0.45, 100))
    free_shape = ("batch", 3, "height", "width")
    with pytest.raises(UsageError, match="any size"):
        opened(tmp_path, onnx((1, 7, 126), free_shape, ENTRIES | {"imgsz": large}), "yolo.onnx")
