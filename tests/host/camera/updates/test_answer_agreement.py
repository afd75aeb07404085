"""The agreement of two answers to the same frame."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.host.camera.answers.answer import Answer, Box, Class
from arenite.host.camera.updates.answer_agreement import agreement


def classes(*best: tuple[int, str]) -> Answer:
    return Answer("classes", classes=tuple(Class(index, label, 0.5) for index, label in best))


def boxes(*corners: tuple[float, float, float, float], label: str = "") -> Answer:
    return Answer("boxes", boxes=tuple(Box(*each, 0.9, label=label) for each in corners))


def points(*places: tuple[float, float]) -> Answer:
    return Answer("points", points=tuple((x, y, 1.0) for x, y in places))


def mask(*rows: list[int]) -> Answer:
    return Answer("mask", mask=np.array(rows, np.uint8))


LEFT, RIGHT = (0.0, 0.0, 0.4, 0.4), (0.5, 0.5, 1.0, 1.0)
CASES = [
    (classes((1, "cat"), (2, "dog")), classes((7, "cat")), 1.0),
    (classes((1, "cat")), classes((1, "dog")), 0.0),
    (classes((1, "")), classes((1, "")), 1.0),
    (classes((1, "")), classes((2, "")), 0.0),
    (classes(), classes(), 1.0),
    (boxes(), boxes(), 1.0),
    (boxes(LEFT), boxes(), 0.0),
    (boxes(LEFT), boxes(LEFT), 1.0),
    (boxes(LEFT), boxes((0.0, 0.0, 0.4, 0.3)), 1.0),
    (boxes(LEFT), boxes((0.3, 0.3, 0.7, 0.7)), 0.0),
    (boxes(LEFT, RIGHT), boxes(RIGHT), 2 / 3),
    (boxes(LEFT, LEFT), boxes(LEFT), 2 / 3),
    (boxes(LEFT, label="cat"), boxes(LEFT, label="dog"), 0.0),
    (points((0.5, 0.5), (0.2, 0.2)), points((0.5, 0.54), (0.3, 0.2)), 0.5),
    (points((0.5, 0.5), (0.2, 0.2)), points((0.5, 0.5)), 0.5),
    (points(), points(), 1.0),
    (mask([0, 1], [1, 1]), mask([0, 1], [1, 0]), 0.75),
    (mask([1]), mask([1, 1], [1, 0]), 0.75),
    (Answer("score", score=0.5), Answer("score", score=0.58), 1.0),
    (Answer("score", score=0.5), Answer("score", score=0.7), 0.0),
    (Answer("score", score=100.0), Answer("score", score=109.0), 1.0),
    (Answer("values", values=(1.0, 0.0)), Answer("values", values=(2.0, 0.0)), 1.0),
    (Answer("values", values=(1.0, 0.0)), Answer("values", values=(0.0, 1.0)), 0.0),
    (Answer("values", values=(1.0, 0.0)), Answer("values", values=(-1.0, 0.0)), 0.0),
    (Answer("values", values=(0.0,)), Answer("values", values=(0.0,)), 1.0),
    (Answer("values", values=(1.0,)), Answer("values", values=(1.0, 1.0)), 0.0),
    (Answer("values", values=(float("nan"),)), Answer("values", values=(1.0,)), 0.0),
    (Answer("score", score=1.0), boxes(), 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "expected"), CASES)
def test_agreement(first: Answer, second: Answer, expected: float) -> None:
    assert agreement(first, second) == pytest.approx(expected)
    assert agreement(second, first) == pytest.approx(expected)
