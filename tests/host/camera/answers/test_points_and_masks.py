"""Tests that the landmarks and masks of real networks on real pictures agree with the networks' float outputs and with
what the pictures show."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Tensor
from arenite.converters.processing.post.landmark_mask_steps import Mask
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.frames.geometry import Geometry
from arenite.host.camera.runtimes.base import TensorSlot
from tests.host.camera.answers.interpreter_runs import InterpreterModel, memory, photographs, zoo_model
from tests.host.camera.answers.own_answers import LoopPipeline

# Most of these tests fetch large models.
pytestmark = pytest.mark.slow

#: Left, top, right and bottom of a window around the face in the photograph "astronaut" (512x512), in pixels.
FACE = (130, 50, 310, 230)


def test_mesh_points_agree_with_the_points_of_the_detector() -> None:
    picture = photographs()["astronaut"]
    left, top, right, bottom = FACE
    box = LoopPipeline(zoo_model("blazeface")).answer(picture).boxes[0]
    answer = LoopPipeline(zoo_model("face-mesh")).answer(picture[top:bottom, left:right])
    assert len(answer.points) == 468
    assert answer.score is not None
    assert answer.score > 0.9
    points = np.array(answer.points)[:, :2] * (right - left, bottom - top) + (left, top)
    # Indices of the same place in the face mesh and in the detector's points: first the nose, then the mouth (upper lip
    # in the mesh). Below, points 33 and 263 of the mesh are the outer corners of the eyes.
    for mesh, mark in ((1, 2), (13, 3)):
        assert np.hypot(*(points[mesh] - np.array(box.points[mark]) * 512)) < 12
    eyes = np.array(box.points[:2]) * 512
    assert points[33][0] < eyes[0][0] < eyes[1][0] < points[263][0]


def test_no_points_without_a_face() -> None:
    answer = LoopPipeline(zoo_model("face-mesh")).answer(photographs()["coffee"])
    assert answer.points == ()
    assert answer.score == 0.0
    assert answer.confidence == 0.0


def test_points_are_computed_from_the_float_output() -> None:
    model = zoo_model("pose")
    running = InterpreterModel(model)
    rng = np.random.default_rng(0)
    running.outputs[0][...] = rng.normal(100, 60, (1, 195))
    running.outputs[1][...] = 0.75
    place = Geometry(-0.25, 0.1, 1.5, 0.8)  # left, top, width and height of the input in the frame
    answer = AnswerReader(model.postprocessing, running.slot, model.labels, place).read()
    # One row per point: x and y in pixels of the 256x256 input, z, the logit of the visibility, and a number that is
    # not used.
    rows = running.outputs[0].reshape(39, 5).astype(np.float64)
    expected = np.stack(
        [-0.25 + 1.5 * rows[:, 0] / 256, 0.1 + 0.8 * rows[:, 1] / 256, 1 / (1 + np.exp(-rows[:, 3]))], axis=1
    )
    assert np.allclose(np.array(answer.points), expected, atol=6e-5)
    assert answer.score == pytest.approx(0.75)
    running.outputs[1][...] = 0.49  # below the threshold
    assert AnswerReader(model.postprocessing, running.slot, model.labels, place).read().points == ()


def test_a_mask_separates_a_person_from_the_background() -> None:
    model = zoo_model("selfie")
    answer = LoopPipeline(model).answer(photographs()["astronaut"])
    assert model.labels == ("background", "selfie")
    assert answer.mask is not None
    assert answer.mask.shape == (256, 256)
    assert answer.mask[110:130, 105:125].all(), "her face"
    assert not answer.mask[:40, :20].any(), "the flag beside her"
    assert answer.mask_box == (0.0, 0.0, 1.0, 1.0)


def test_every_pixel_gets_its_class() -> None:
    model, photos = zoo_model("deeplabv3"), photographs()
    ours = LoopPipeline(model)
    for name, label in (("astronaut", "person"), ("chelsea", "cat")):
        mask = ours.answer(photos[name]).mask
        assert mask is not None
        assert mask.shape == (257, 257)
        expected = model.labels.index(label)
        assert (mask == expected).mean() > 0.25
        assert np.isin(mask, (0, expected)).mean() > 0.9
    running = InterpreterModel(model)
    running.outputs[0][...] = np.random.default_rng(3).normal(0, 1, (1, 257, 257, 21))
    mask = AnswerReader(model.postprocessing, running.slot, model.labels).read().mask
    assert np.array_equal(mask, running.outputs[0][0].argmax(axis=-1))  # type: ignore[arg-type]


def test_a_mask_does_not_change_when_the_next_answer_is_read() -> None:
    model = zoo_model("selfie")
    running = InterpreterModel(model)
    reader = AnswerReader(model.postprocessing, running.slot, model.labels, Geometry(0.0, -0.5, 1.0, 2.0))
    running.outputs[0][...] = np.random.default_rng(1).random((1, 256, 256, 1))
    first = reader.read()
    expected = running.outputs[0][0, :, :, 0] >= 0.5
    running.outputs[0][...] = 0
    assert not reader.read().mask.any()  # type: ignore[union-attr]
    assert np.array_equal(first.mask, expected)  # type: ignore[arg-type]
    assert first.mask_box == (0.0, -0.5, 1.0, 1.5)


def test_an_output_of_class_numbers_is_the_mask() -> None:
    classes = np.random.default_rng(2).integers(0, 21, (1, 9, 7))
    output = memory(Tensor(0, "t", classes.shape, "int64"), classes)
    answer = AnswerReader(Postprocessing((Mask(),)), TensorSlot((), (output,))).read()
    assert np.array_equal(answer.mask, classes[0])  # type: ignore[arg-type]
