"""Answers in words, and which of them are news."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.host.camera.answers.answer import Answer, Box, Class
from arenite.host.camera.answers.answer_text import (
    MAX_BOXES,
    answer_content,
    answer_text,
    answers_text,
)

FACE = Box(0.4, 0.3, 0.6, 0.7, 0.934, 0, "face")
DOG = Box(-0.1, 0.6, 0.2, 1.1, 0.5, 3)
CATS = Answer("classes", classes=tuple(Class(i, f"cat {i}", 0.9 - i / 10) for i in range(5)))
MASK = np.zeros((10, 10), np.uint8)
MASK[:3] = 15
MASK[9, :4] = 2  # 4 % of the mask


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            Answer("boxes", boxes=(FACE,)),
            "1 object: face (score 0.93) in the centre, 20 % wide and 40 % high",
        ),
        (
            Answer("boxes", boxes=(FACE, DOG)),
            "2 objects: face (score 0.93) in the centre, 20 % wide and 40 % high; "
            "class 3 (score 0.50) at the bottom left, 30 % wide and 50 % high",
        ),
        (Answer("boxes"), "nothing was found"),
        (CATS, "cat 0 (score 0.90), or cat 1 (score 0.80), or cat 2 (score 0.70)"),
        (Answer("classes"), "nothing was recognized"),
        (Answer("points", points=((0.1, 0.2, 0.9),) * 21, score=0.875), "21 points of one thing, score 0.88"),
        (Answer("mask", mask=MASK), "areas: class 0 on 66%, class 15 on 30%"),
        (Answer("score", score=1.5), "a score of 1.50"),
        (Answer("values", values=(1.0, -2.25)), "the numbers 1.00, -2.25"),
        (Answer("values"), "nothing"),
    ],
)
def test_labels_scores_and_places_are_named(answer: Answer, text: str) -> None:
    assert answer_text(answer) == answers_text({4: answer}) == text


def test_long_lists_are_cut() -> None:
    text = answer_text(Answer("boxes", boxes=(FACE,) * (MAX_BOXES + 3)))
    assert text.startswith("11 objects: ") and text.count("face") == MAX_BOXES
    assert text.endswith("; and 3 more")


def test_several_cameras_are_named_in_their_order() -> None:
    text = answers_text({1: Answer("boxes"), 0: Answer("score", score=0.5)})
    assert text == "Camera 0: a score of 0.50\nCamera 1: nothing was found"


def test_labels_are_news_and_scores_and_places_are_not() -> None:
    moved = replace(FACE, left=0.1, score=0.7)
    assert answer_content(Answer("boxes", boxes=(FACE, DOG))) == answer_content(
        Answer("boxes", boxes=(DOG, moved))
    )
    assert answer_content(Answer("boxes", boxes=(FACE,))) != answer_content(
        Answer("boxes", boxes=(FACE,) * 2)
    )
    less = replace(CATS, classes=(replace(CATS.classes[0], score=0.3), *CATS.classes[2:]))
    assert answer_content(CATS) == answer_content(less)
    assert answer_content(CATS) != answer_content(replace(CATS, classes=CATS.classes[1:]))
    assert answer_content(Answer("mask", mask=MASK)) == answer_content(Answer("mask", mask=MASK[::-1]))
    assert answer_content(Answer("mask", mask=MASK)) != answer_content(Answer("mask", mask=MASK[3:]))
    assert answer_content(Answer("score", score=0.501)) == answer_content(Answer("score", score=0.502))
