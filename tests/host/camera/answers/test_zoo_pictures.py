"""Tests that answers on real pictures agree with a reference in NumPy that computes in float64 without rounding.

The reference samples the picture at the same places as the model's recorded preprocessing steps. Pillow's ``resize``
averages over all pixels, which gives a different picture for a model with an input of 96x96 pixels.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.model.camera_model import CameraModel
from tests.development_models import shared_model
from tests.host.camera.answers.interpreter_runs import InterpreterModel, photographs, small_faces, zoo_model
from tests.host.camera.answers.own_answers import LoopPipeline

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def sampled(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return ``picture`` at another size, as float64 [height, width, channels]. It is interpolated linearly between
    the two nearest pixel centers of each axis."""
    resized = picture.astype(np.float64)
    for axis, (old_size, new_size) in enumerate(((picture.shape[0], height), (picture.shape[1], width))):
        positions = np.clip((np.arange(new_size) + 0.5) * old_size / new_size - 0.5, 0, old_size - 1)
        first = np.minimum(positions.astype(int), old_size - 2)
        weight = (positions - first).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        resized = resized.take(first, axis) * (1 - weight) + resized.take(first + 1, axis) * weight
    return resized


def views(picture: np.ndarray) -> list[np.ndarray]:
    """Return the picture, three parts of it, and its mirror image."""
    height, width, _ = picture.shape
    left, right = picture[:, : 2 * width // 3], picture[:, width // 3 :]
    middle = picture[height // 5 : -height // 5, width // 5 : -width // 5]
    return [picture, left, right, middle, picture[:, ::-1]]


def pictures() -> list[np.ndarray]:
    """Return five views of each photograph."""
    return [view for picture in photographs().values() for view in views(picture)]


#: The function that normalizes the pixels (0 to 255) for each classifier.
CLASSIFIERS = {
    "efficientnet-lite0": lambda p: (p - 127) / 128,
    "vww": lambda p: p,
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_class_is_that_of_the_float_reference(name: str) -> None:
    model = zoo_model(name)
    assert_same_class(model, CLASSIFIERS[name])


def test_mlperfs_person_detector_gives_the_class_of_the_float_reference() -> None:
    assert_same_class(zoo_model(shared_model("vww01_int8")), lambda p: p / 255)


def assert_same_class(model: CameraModel, normalise) -> None:  # type: ignore[no-untyped-def]
    """Check that the camera loop and the interpreter give each picture the same best class. The interpreter's input is
    computed in float64 with the function ``normalise``."""
    ours, running = LoopPipeline(model), InterpreterModel(model)
    tensor, (_, height, width, _) = model.inputs[0], model.inputs[0].shape
    unclear = 0
    for picture in pictures():
        normalized = normalise(sampled(picture, width, height))
        stored = normalized
        if tensor.quant is not None:
            info = np.iinfo(tensor.dtype)
            stored = np.clip(np.round(normalized / tensor.scale) + tensor.zero_point, info.min, info.max)
        running.inputs[0][...] = stored
        running.invoke()
        scores = running.outputs[0].reshape(-1).astype(np.float64)
        if (output := model.outputs[0]).quant is not None:
            scores = (scores - output.zero_point) * output.scale
        scores.sort()
        if scores[-1] - scores[-2] < 0.05:
            unclear += 1  # the two best scores are so close that a rounded pixel can decide
            continue
        predicted = ours.answer(picture).classes
        best_class = int(np.argmax(running.outputs[0]))
        assert predicted[0].index == best_class
        assert predicted[0].label == model.labels[best_class]
        assert predicted[0].score == pytest.approx(scores[-1], abs=0.07)
    assert unclear < len(pictures()) / 4


def test_labels_are_in_the_right_order() -> None:
    """The labels are in the right order: a photo of a cat is labelled as a cat, a cup as a cup."""
    photos = photographs()
    ours = LoopPipeline(zoo_model("efficientnet-lite0"))
    assert ours.answer(photos["chelsea"]).classes[0].label in ("Egyptian cat", "tabby", "tiger cat")
    assert ours.answer(photos["coffee"]).classes[0].label in ("espresso", "cup", "coffee mug")
    assert LoopPipeline(zoo_model("vww")).answer(photos["astronaut"]).classes[0].label == "person"


# BlazeFace as defined by MediaPipe (face_detection_short_range, tensors_to_detections, non_max_suppression).

#: The x and y of the center of each anchor, as fractions of the canvas.
ANCHORS = np.array(
    [((x + 0.5) / n, (y + 0.5) / n) for n, per_cell in ((16, 2), (8, 6)) for y in range(n) for x in range(n)
     for _ in range(per_cell)]
)  # fmt: skip


def letterboxed(picture: np.ndarray) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Return a black canvas of 128x128 pixels with the picture in its middle, and left, top, width and height of the
    picture as fractions of the canvas."""
    height, width, _ = picture.shape
    scale = min(128 / width, 128 / height)
    wide, high = round(width * scale), round(height * scale)
    left, top = (128 - wide) // 2, (128 - high) // 2
    canvas = np.zeros((128, 128, 3))
    canvas[top : top + high, left : left + wide] = sampled(picture, wide, high)
    return canvas, (left / 128, top / 128, wide / 128, high / 128)


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union of two boxes (left, top, right, bottom)."""
    sides = np.minimum(a[2:4], b[2:4]) - np.maximum(a[:2], b[:2])
    intersection = float(np.prod(np.maximum(sides, 0)))
    return intersection / (float(np.prod(a[2:4] - a[:2]) + np.prod(b[2:4] - b[:2])) - intersection)


def detected(raw: np.ndarray, logits: np.ndarray) -> list[np.ndarray]:
    """Return the faces in BlazeFace's outputs ``raw`` and ``logits``, best first. A face is an array: left, top, right,
    bottom, x and y of 6 points, and score. Coordinates are fractions of the canvas."""
    scores = 1 / (1 + np.exp(-np.clip(logits.reshape(-1).astype(np.float64), -100, 100)))
    values = raw.reshape(896, 16).astype(np.float64) / 128
    center, size = values[:, :2] + ANCHORS, values[:, 2:4]
    points = (values[:, 4:].reshape(896, 6, 2) + ANCHORS[:, None]).reshape(896, 12)
    rows = np.concatenate([center - size / 2, center + size / 2, points, scores[:, None]], axis=1)
    candidates = sorted((row for row in rows if row[-1] >= 0.5), key=lambda row: -row[-1])
    faces = []
    while candidates:
        best_face = candidates[0]
        overlapping = [row for row in candidates if row is best_face or iou(row, best_face) > 0.3]
        candidates = [row for row in candidates if not any(row is member for member in overlapping)]
        weights = np.array([row[-1] for row in overlapping])
        average = (np.array(overlapping)[:, :-1] * weights[:, None]).sum(axis=0) / weights.sum()
        faces.append(np.append(average, best_face[-1]))
    return faces


def reference_faces(running: InterpreterModel, picture: np.ndarray) -> list[np.ndarray]:
    """Return the faces that the reference detects, as ``detected`` does but in fractions of the picture."""
    canvas, (left, top, wide, high) = letterboxed(picture)
    running.inputs[0][...] = canvas / 127.5 - 1
    running.invoke()
    faces = detected(running.outputs[0], running.outputs[1])
    for row in faces:
        row[0:16:2] = (row[0:16:2] - left) / wide
        row[1:16:2] = (row[1:16:2] - top) / high
    return faces


def assert_same_faces(answer: Answer, expected: list[np.ndarray]) -> bool:
    """Check that the best face of ``answer`` is the best expected face. Return False, after a weaker check, if no
    expected face has a score well above the threshold."""
    if not expected or expected[0][-1] < 0.55:
        assert not answer.boxes or answer.boxes[0].score < 0.6
        return False
    best_face, box = expected[0], answer.boxes[0]
    edges = np.clip(best_face[:4], 0, 1)
    assert iou(edges, np.array([box.left, box.top, box.right, box.bottom])) >= 0.9
    assert box.score == pytest.approx(best_face[-1], abs=0.05)
    assert np.allclose(np.array(box.points).reshape(-1), best_face[4:16], atol=0.1 * (edges[2] - edges[0]))
    return True


def test_the_faces_are_those_of_the_float_reference() -> None:
    model = zoo_model("blazeface")
    ours, running = LoopPipeline(model), InterpreterModel(model)
    pictures_with_faces = sum(
        assert_same_faces(ours.answer(picture), reference_faces(running, picture)) for picture in pictures()
    )
    assert pictures_with_faces >= 5


@pytest.mark.slow
def test_faces_are_detected_at_their_place() -> None:
    """At least 95 of 100 faces are detected at their place, and a face is detected in at most 15 of 100 pictures
    without faces."""
    model = zoo_model("blazeface")
    ours, running = LoopPipeline(model), InterpreterModel(model)
    rng = np.random.default_rng(0)
    detected_faces = false_detections = 0
    for k, small in enumerate(small_faces()):
        size = int(rng.integers(40, 60))
        face = np.asarray(Image.fromarray(small).resize((size, size), Image.Resampling.BICUBIC))
        frame = np.full((120, 160, 3), 110, np.uint8)
        y, x = int(rng.integers(0, 120 - size)), int(rng.integers(0, 160 - size))
        frame[y : y + size, x : x + size] = face[..., None]
        answer = ours.answer(frame)
        assert_same_faces(answer, reference_faces(running, frame))
        if k < 100 and answer.boxes:
            box = answer.boxes[0]
            # The frame has 160x120 pixels, so half of the sum of two edges is their sum times 80 or 60.
            middle = (box.left + box.right) * 80, (box.top + box.bottom) * 60
            detected_faces += math.dist(middle, (x + size / 2, y + size / 2)) < size / 3
        elif k >= 100:
            false_detections += bool(answer.boxes)
    assert detected_faces >= 95
    assert false_detections <= 15
