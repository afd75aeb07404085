"""Tests of ``AnswerReader``, which computes answers from output tensors: detectors with float outputs, defaults,
labels, margins, and the NumPy code that replaces missing C code."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Quantization, Tensor
from arenite.converters.processing.native import library as native
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.frames.geometry import Geometry
from arenite.host.camera.runtimes.base import TensorMemory, TensorSlot
from tests.host.camera.answers.interpreter_runs import memory

PICTURE = np.zeros((1, 160, 320, 3), np.uint8)


def float_memory(array: np.ndarray) -> TensorMemory:
    """Return a tensor that is not quantized and has its values in ``array``."""
    return memory(Tensor(0, "t", array.shape, array.dtype.name), array)


def slot(*outputs: np.ndarray, picture: np.ndarray = PICTURE) -> TensorSlot:
    """Return a slot with the input ``picture`` and the given outputs, all without quantization."""
    return TensorSlot((float_memory(picture),), tuple(map(float_memory, outputs)))


def reader(
    steps: list[dict[str, Any]] | None,
    tensors: TensorSlot,
    labels: tuple[str, ...] = (),
    geometry: Geometry | None = None,
) -> AnswerReader:
    """Return a reader with the postprocessing ``steps``, given as in JSON. None means the default postprocessing."""
    spec = None if steps is None else Postprocessing.from_json({"steps": steps})
    return AnswerReader(spec, tensors, labels, geometry)


def yolo_rows(objectness: bool) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
    """Return the output of a YOLO model and the boxes in it.

    The output is float32 [40, 7], or [40, 8] with ``objectness``: x, y, width and height in pixels of a picture of
    320x160, then the objectness if ``objectness`` is true, and three class scores. A box is (left, top, right, bottom,
    score, class), with edges as fractions of the picture.
    """
    rows = np.zeros((40, 7 + objectness), np.float32)
    rng = np.random.default_rng(2)
    rows[:, 4:] = rng.uniform(0, 0.2, rows[:, 4:].shape)
    boxes = []
    for k, (x, y, w, h, index, score) in enumerate(
        [
            (50, 40, 40, 30, 2, 0.9),
            (52, 41, 40, 30, 2, 0.8),
            (50, 42, 38, 30, 0, 0.7),
            (250, 100, 60, 80, 1, 0.95),
        ]
    ):
        row = rows[7 * k + 3]  # any row; all other rows keep scores below 0.2
        row[:4] = x, y, w, h
        row[4 + objectness + index] = score
        if objectness:
            row[4] = 0.9
        if k != 1:  # box 1 overlaps box 0, which has the same class and a higher score
            box_score = score * 0.9 if objectness else score
            edges = ((x - w / 2) / 320, (y - h / 2) / 160, (x + w / 2) / 320, (y + h / 2) / 160)
            boxes.append((*edges, box_score, index))
    return rows, sorted(boxes, key=lambda box: -box[4])


def box_tuples(answer: Answer) -> list[tuple[Any, ...]]:
    """Return each box as (left, top, right, bottom, score, class)."""
    return [(b.left, b.top, b.right, b.bottom, b.score, b.index) for b in answer.boxes]


def close(boxes: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Return whether the boxes are the expected ones, in the same order and within 0.0001."""
    return len(boxes) == len(expected) and np.allclose(boxes, expected, atol=1e-4)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("objectness", [False, True])
@pytest.mark.parametrize("fractions", [False, True])
def test_yolo_boxes_in_each_layout_of_the_output(columns: bool, objectness: bool, fractions: bool) -> None:
    rows, expected = yolo_rows(objectness)
    if fractions:
        rows[:, :4] /= 320, 160, 320, 160
    output = np.ascontiguousarray(rows.T if columns else rows)[None]
    step: dict[str, Any] = {
        "do": "yolo",
        "objectness": objectness,
        "unit": "fractions" if fractions else "pixels",
    }
    answer = reader([step, {"do": "nms", "iou": 0.5}], slot(output), ("cat", "dog")).read()
    assert close(box_tuples(answer), expected)
    assert [b.label for b in answer.boxes] == ["dog", "", "cat"]  # there is no third label


def test_yolo_with_corners_logits_and_landmarks() -> None:
    # Columns: left, top, right, bottom, logit of the score, then x, y and score of two landmarks.
    rows = np.zeros((30, 4 + 1 + 2 * 3), np.float32)
    rows[:, 4] = -9  # a score near 0
    rows[11] = [32, 16, 96, 80, 2.0, 40, 30, 0.5, 90, 70, 0.1]
    step: dict[str, Any] = {"do": "yolo", "corners": True, "logits": True, "points": 2}
    answer = reader([step, {"do": "nms"}], slot(rows[None])).read()
    (box,) = answer.boxes
    assert close(box_tuples(answer), [(0.1, 0.1, 0.3, 0.5, 1 / (1 + math.exp(-2)), 0)])
    assert np.allclose(box.points, [(40 / 320, 30 / 160), (90 / 320, 70 / 160)], atol=1e-4)


def test_yolo_with_objectness_in_an_int8_output() -> None:
    rows, expected = yolo_rows(True)
    rows[:, :4] /= 320, 160, 320, 160
    stored = np.round(rows[None] * 255).astype(np.int16)
    stored -= 128
    output = stored.astype(np.int8)
    tensor = Tensor(0, "t", output.shape, "int8", Quantization((1 / 255,), (-128,)))
    tensors = TensorSlot((float_memory(PICTURE),), (memory(tensor, output),))
    steps: list[dict[str, Any]] = [{"do": "yolo", "objectness": True, "unit": "fractions"}, {"do": "nms"}]
    assert np.allclose(
        box_tuples(reader(steps, tensors).read()), expected, atol=0.006
    )  # 1.5 quantization steps


def test_detections_of_a_model_that_already_applied_nms() -> None:
    boxes = np.array([[[0.1, 0.2, 0.5, 0.6], [0.0, 0.0, 1.0, 1.0], [0.3, 0.3, 0.4, 0.4]]], np.float32)
    classes = np.array([[16, 0, 1]], np.float32)
    scores, count = np.array([[0.9, 0.7, 0.6]], np.float32), np.array([2], np.float32)
    answer = reader([{"do": "detections", "count": 3}], slot(boxes, classes, scores, count)).read()
    assert close(box_tuples(answer), [(0.2, 0.1, 0.6, 0.5, 0.9, 16), (0, 0, 1, 1, 0.7, 0)])
    rows = np.array([[[32, 16, 160, 80, 0.4, 2], [0, 0, 320, 160, 0.8, 1]]], np.float32)
    steps: list[dict[str, Any]] = [
        {"do": "detections", "output": 0, "order": "xyxy", "unit": "pixels", "threshold": 0.3}
    ]
    answer = reader(steps, slot(rows)).read()
    assert close(box_tuples(answer), [(0, 0, 1, 1, 0.8, 1), (0.1, 0.1, 0.5, 0.5, 0.4, 2)])


def test_boxes_are_mapped_and_cut_to_the_frame() -> None:
    """The frame is twice as wide as high and the input is square, with bars above and below the frame. So the input
    shows the frame from -0.5 to 1.5 of its height."""
    boxes = np.array([[[0.5, 0.5, 0.2, 0.4], [0.05, 0.2, 0.2, 0.4]]], np.float32)
    scores = np.array([[[0.9], [0.8]]], np.float32)
    steps = [{"do": "boxes", "order": "xywh"}, {"do": "nms"}]
    answer_reader = reader(steps, slot(boxes, scores), ("it",), Geometry(0.0, -0.5, 1.0, 2.0))
    assert close(
        box_tuples(answer_reader.read()), [(0.4, 0.1, 0.6, 0.9, 0.9, 0), (0.0, 0.0, 0.15, 0.3, 0.8, 0)]
    )
    answer_reader.geometry = Geometry(0.5, 0.0, 0.5, 1.0)  # the input now shows the right half of the frame
    assert close(box_tuples(answer_reader.read())[:1], [(0.7, 0.3, 0.8, 0.7, 0.9, 0)])


def test_averaged_boxes_are_the_weighted_mean() -> None:
    boxes = np.array([[[0.5, 0.5, 0.2, 0.2], [0.52, 0.5, 0.2, 0.2], [0.9, 0.9, 0.1, 0.1]]], np.float32)
    scores = np.array([[[0.9], [0.6], [0.7]]], np.float32)
    steps: list[dict[str, Any]] = [{"do": "boxes", "order": "xywh"}, {"do": "nms", "average": True}]
    x = (0.5 * 0.9 + 0.52 * 0.6) / 1.5
    expected = [(x - 0.1, 0.4, x + 0.1, 0.6, 0.9, 0), (0.85, 0.85, 0.95, 0.95, 0.7, 0)]
    assert close(box_tuples(reader(steps, slot(boxes, scores)).read()), expected)


def test_top_k_with_softmax_gives_probabilities() -> None:
    logits = np.array([[1.0, 3.0, 2.5, -4.0]], np.float32)
    answer = reader([{"do": "top_k", "k": 4, "softmax": True, "threshold": 0.05}], slot(logits)).read()
    probabilities = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert [c.index for c in answer.classes] == [1, 2, 0]
    assert np.allclose([c.score for c in answer.classes], probabilities[[1, 2, 0]], atol=2e-5)


def test_outputs_without_postprocessing() -> None:
    """One row of numbers gives classes, a single number gives a score, and other outputs give their values."""
    answer = reader(None, slot(np.array([[0.1, 0.6, 0.3]], np.float32)), ("a", "b")).read()
    assert [(c.index, c.label) for c in answer.classes] == [(1, "b"), (2, ""), (0, "a")]
    assert answer.confidence == pytest.approx(0.6)
    assert reader(None, slot(np.array([[0.25]], np.float32))).read().score == 0.25
    two = slot(np.array([[[1.0, 2.0], [3.0, 4.5]]], np.float32), np.zeros((1, 3), np.float32))
    assert reader(None, two).read().values == (1.0, 2.0, 3.0, 4.5)
    stored = np.array([[10, 60, 20]], np.uint8)
    tensor = Tensor(0, "t", stored.shape, "uint8", Quantization((0.1,), (10,)))
    answer = reader(None, TensorSlot((), (memory(tensor, stored),))).read()
    logits = np.exp([0.0, 5.0, 1.0])
    assert answer.classes[0].score == pytest.approx(logits[1] / logits.sum(), abs=1e-4)


def test_mse_is_the_mean_squared_difference_of_input_and_output() -> None:
    original, reconstruction = np.ones((1, 8), np.float32), np.full((1, 8), 1.5, np.float32)
    assert reader([{"do": "mse"}], slot(reconstruction, picture=original)).read().score == pytest.approx(0.25)


def test_nan_outputs_give_no_answer() -> None:
    boxes, scores = np.full((1, 4, 4), np.nan, np.float32), np.full((1, 4, 1), np.nan, np.float32)
    tensors = slot(boxes, scores)
    read_answer = reader([{"do": "boxes", "order": "xywh"}, {"do": "nms"}], tensors).read
    assert read_answer().boxes == ()
    scores[0, 2] = 0.7
    (box,) = read_answer().boxes
    assert (box.left, box.right, box.score) == (0.0, 0.0, pytest.approx(0.7))
    answer = reader([{"do": "top_k", "k": 2}], slot(scores.reshape(1, 4))).read()
    assert answer.classes[0].index == 2
    json.loads(json.dumps(answer.to_json(), allow_nan=False))


def test_every_read_returns_the_current_outputs() -> None:
    scores = np.array([[0.1, 0.6, 0.3]], np.float32)
    read_answer = reader([{"do": "top_k", "k": 3, "threshold": 0.2}], slot(scores)).read
    first = read_answer()
    scores[...] = 0.9, 0.05, 0.05
    assert [c.index for c in read_answer().classes] == [0]
    assert [c.index for c in first.classes] == [1, 2]


def test_steps_that_do_not_match_the_outputs_raise_an_error() -> None:
    for steps, problem in (
        ([{"do": "yolo"}, {"do": "nms"}], "is not a table of boxes"),
        ([{"do": "detections", "output": 0}], "is not a table of boxes"),
        ([{"do": "points", "values": 7}], "not a multiple of 7"),
        ([{"do": "mask"}], "expected height, width and channels"),
        ([{"do": "top_k", "output": 4}], "reads output 4"),
    ):
        with pytest.raises(UsageError, match=problem):
            reader(steps, slot(np.zeros(5, np.float32)))


KINDS: dict[str, tuple[list[dict[str, Any]], tuple[tuple[int, ...], ...]]] = {
    "top_k": ([{"do": "top_k", "k": 4}], ((1, 40),)),
    "softmax": ([{"do": "top_k", "k": 4, "softmax": True}], ((1, 40),)),
    "boxes": (
        [{"do": "boxes", "points": 2, "logits": True}, {"do": "nms", "average": True}],
        ((1, 30, 8), (1, 30, 2)),
    ),
    "yolo": ([{"do": "yolo"}, {"do": "nms"}], ((1, 9, 60),)),
    "detections": ([{"do": "detections", "output": 0}], ((1, 9, 6),)),
    "points": ([{"do": "points", "score": 2, "presence": 1, "threshold": -9}], ((1, 20, 3), (1, 1))),
    "mask": ([{"do": "mask"}], ((1, 8, 9, 3),)),
    "mse": ([{"do": "mse"}], ((1, 8),)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_numpy_reader_gives_equal_answers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if native.library() is None:
        pytest.skip(native.unavailable_reason())
    steps, shapes = KINDS[kind]
    outputs = [np.random.default_rng(5).normal(0.3, 0.6, shape).astype(np.float32) for shape in shapes]
    picture = np.zeros((1, 8), np.float32) if kind == "mse" else PICTURE
    tensors, geometry = slot(*outputs, picture=picture), Geometry(0.1, -0.2, 0.8, 1.4)
    fast = reader(steps, tensors, ("a",), geometry).read()
    monkeypatch.setattr(native, "library", lambda: None)
    slow = reader(steps, tensors, ("a",), geometry).read()
    assert fast.to_json() == slow.to_json()
    # The answer is not empty.
    assert fast.kind in ("score", "points") or fast.classes or fast.boxes or fast.mask is not None


def test_nan_and_infinity_are_null_in_json() -> None:
    content = Answer("values", values=(float("nan"), float("inf"), 0.5), score=float("nan")).to_json()
    assert content["values"] == [None, None, 0.5] and content["score"] is None
    json.dumps(content, allow_nan=False)
