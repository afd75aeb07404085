"""Tests of the texts that describe cascades and reruns, and of the rules that decide whether the next model runs."""

from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer, Box, Class
from arenite.host.camera.several.cascade_rules import (
    DEFAULT_CROP_FACTOR,
    LabelRule,
    LowConfidenceRule,
    StageSpec,
    parse_cascade,
    parse_rerun,
)

PERSON = Answer("classes", classes=(Class(0, "person", 0.7), Class(1, "cat", 0.2)))
FACES = Answer("boxes", boxes=(Box(0, 0, 0.1, 0.1, 0.6, 0, "face"), Box(0.5, 0.5, 1, 1, 0.9, 0, "face")))
NOTHING = Answer("boxes")


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        (
            "vww01.tflite:person>=0.6 -> blazeface",
            (StageSpec("vww01.tflite", LabelRule((("person", 0.6),))), StageSpec("blazeface")),
        ),
        (
            "blazeface:face>=.5 crop 1.4->mesh.tflite",
            (StageSpec("blazeface", LabelRule((("face", 0.5),), 1.4)), StageSpec("mesh.tflite")),
        ),
        (
            "a:traffic light >= 0.5|cat>=1 crop -> b:>=0.3 -> c",
            (
                StageSpec("a", LabelRule((("traffic light", 0.5), ("cat", 1.0)), DEFAULT_CROP_FACTOR)),
                StageSpec("b", LabelRule((("", 0.3),))),
                StageSpec("c"),
            ),
        ),
        (
            "/models/v:2/vww.tflite:person>=0.6 -> blazeface",
            (StageSpec("/models/v:2/vww.tflite", LabelRule((("person", 0.6),))), StageSpec("blazeface")),
        ),
    ],
)
def test_cascades_are_parsed(text: str, stages: tuple[StageSpec, ...]) -> None:
    assert parse_cascade(text) == stages


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "does not have two models"),
        ("vww:person>=0.6", "does not have two models"),
        ("vww:person>=0.6 ->", "does not have two models"),
        ("vww -> blazeface", "no condition for the next model"),
        (":person>=0.6 -> blazeface", "no condition for the next model"),
        ("vww:person -> blazeface", "'person' is not LABEL>=SCORE"),
        ("vww:person>0.6 -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=high -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=1.5 -> blazeface", "is 1.5"),
        ("vww:person>=0 -> blazeface", "is 0,"),
        ("vww:person>=0.5 crop 0.5 -> blazeface", "crop of 0.5"),
        ("vww:person>=0.5 crop big -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=0.5 -> blazeface:face>=0.3", "no model follows"),
    ],
)
def test_an_invalid_cascade_raises_an_error(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        parse_cascade(text)
    assert error.value.hint


def test_reruns_are_parsed() -> None:
    assert parse_rerun("0.55:model_f16.tflite") == (0.55, "model_f16.tflite")
    assert parse_rerun(" .5 : /a:b/model.tflite") == (0.5, "/a:b/model.tflite")


@pytest.mark.parametrize(
    "text", ["", "0.5", "0.5:", ":model", "model:0.5", "1.5:model", "0:model", "-1:model"]
)
def test_an_invalid_rerun_raises_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rerun(text)


def test_a_label_rule_matches_its_label_and_score() -> None:
    assert LabelRule((("person", 0.7),)).match(PERSON) is not None
    assert LabelRule((("person", 0.71),)).match(PERSON) is None
    assert LabelRule((("cat", 0.2),)).match(PERSON) is not None
    assert LabelRule((("", 0.6),)).match(PERSON) is not None
    assert LabelRule((("dog", 0.1),)).match(PERSON) is None
    assert LabelRule((("dog", 0.1), ("cat", 0.1))).match(PERSON) is not None
    assert LabelRule((("", 0.1),)).match(NOTHING) is None
    assert LabelRule((("", 0.5),)).match(Answer("score", score=0.6)) is not None


def test_a_label_rule_returns_the_best_box() -> None:
    detection = LabelRule((("face", 0.5),)).match(FACES)
    assert detection is not None
    assert detection.box is FACES.boxes[1]


def test_a_low_confidence_rule_matches_answers_below_its_limit() -> None:
    assert LowConfidenceRule(0.8).match(PERSON) is not None
    assert LowConfidenceRule(0.7).match(PERSON) is None
    assert LowConfidenceRule(0.65).match(FACES) is not None, "the first box counts, and it has 0.6"
    assert LowConfidenceRule(0.9).match(NOTHING) is None


def test_labels_are_checked() -> None:
    with pytest.raises(UsageError, match="vww never answers 'dog': its labels are person, cat"):
        LabelRule((("dog", 0.5),)).check(("person", "cat"), "vww")
    with pytest.raises(UsageError, match="it has no labels"):
        LabelRule((("dog", 0.5),)).check((), "vww")
    LabelRule((("", 0.5),)).check((), "vww")
    LabelRule((("cat", 0.5),)).check(("person", "cat"), "vww")
