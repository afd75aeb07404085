from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.camera.answers.base import Answer, Box, Class
from arenite.host.camera.cascade_rules import MARGIN, Seen, StagePlan, Unsure, parse_cascade, parse_rerun

PERSON = Answer("classes", classes=(Class(0, "person", 0.7), Class(1, "cat", 0.2)))
FACES = Answer("boxes", boxes=(Box(0, 0, 0.1, 0.1, 0.6, 0, "face"), Box(0.5, 0.5, 1, 1, 0.9, 0, "face")))
NOTHING = Answer("boxes")


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        (
            "vww01.tflite:person>=0.6 -> blazeface",
            (StagePlan("vww01.tflite", Seen((("person", 0.6),))), StagePlan("blazeface")),
        ),
        (
            "blazeface:face>=.5 crop 1.4->mesh.tflite",
            (StagePlan("blazeface", Seen((("face", 0.5),), 1.4)), StagePlan("mesh.tflite")),
        ),
        (
            "a:traffic light >= 0.5|cat>=1 crop -> b:>=0.3 -> c",
            (
                StagePlan("a", Seen((("traffic light", 0.5), ("cat", 1.0)), MARGIN)),
                StagePlan("b", Seen((("", 0.3),))),
                StagePlan("c"),
            ),
        ),
        (
            "/models/v:2/vww.tflite:person>=0.6 -> blazeface",
            (StagePlan("/models/v:2/vww.tflite", Seen((("person", 0.6),))), StagePlan("blazeface")),
        ),
    ],
)
def test_cascades_are_read(text: str, stages: tuple[StagePlan, ...]) -> None:
    assert parse_cascade(text) == stages


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no two models"),
        ("vww:person>=0.6", "no two models"),
        ("vww:person>=0.6 ->", "no two models"),
        ("vww -> blazeface", "does not say when"),
        (":person>=0.6 -> blazeface", "does not say when"),
        ("vww:person -> blazeface", "'person' is not LABEL>=SCORE"),
        ("vww:person>0.6 -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=high -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=1.5 -> blazeface", "is 1.5"),
        ("vww:person>=0 -> blazeface", "is 0,"),
        ("vww:person>=0.5 crop 0.5 -> blazeface", "crop of 0.5"),
        ("vww:person>=0.5 crop big -> blazeface", "is not LABEL>=SCORE"),
        ("vww:person>=0.5 -> blazeface:face>=0.3", "no model behind"),
    ],
)
def test_what_is_no_cascade(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as error:
        parse_cascade(text)
    assert error.value.hint


def test_reruns_are_read() -> None:
    assert parse_rerun("0.55:model_f16.tflite") == (0.55, "model_f16.tflite")
    assert parse_rerun(" .5 : /a:b/model.tflite") == (0.5, "/a:b/model.tflite")


@pytest.mark.parametrize(
    "text", ["", "0.5", "0.5:", ":model", "model:0.5", "1.5:model", "0:model", "-1:model"]
)
def test_what_is_no_rerun(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rerun(text)


def test_seen() -> None:
    assert Seen((("person", 0.7),)).look(PERSON) is not None
    assert Seen((("person", 0.71),)).look(PERSON) is None
    assert Seen((("cat", 0.2),)).look(PERSON) is not None
    assert Seen((("", 0.6),)).look(PERSON) is not None
    assert Seen((("dog", 0.1),)).look(PERSON) is None
    assert Seen((("dog", 0.1), ("cat", 0.1))).look(PERSON) is not None
    assert Seen((("", 0.1),)).look(NOTHING) is None
    assert Seen((("", 0.5),)).look(Answer("score", score=0.6)) is not None


def test_the_best_box_is_looked_at() -> None:
    found = Seen((("face", 0.5),)).look(FACES)
    assert found is not None
    assert found.box is FACES.boxes[1]


def test_unsure() -> None:
    assert Unsure(0.8).look(PERSON) is not None
    assert Unsure(0.7).look(PERSON) is None
    assert Unsure(0.65).look(FACES) is not None, "boxes come best first; here the first has 0.6"
    assert Unsure(0.9).look(NOTHING) is None


def test_labels_are_checked() -> None:
    with pytest.raises(UsageError, match="vww never answers 'dog': its labels are person, cat"):
        Seen((("dog", 0.5),)).check(("person", "cat"), "vww")
    with pytest.raises(UsageError, match="it has no labels"):
        Seen((("dog", 0.5),)).check((), "vww")
    Seen((("", 0.5),)).check((), "vww")
    Seen((("cat", 0.5),)).check(("person", "cat"), "vww")
