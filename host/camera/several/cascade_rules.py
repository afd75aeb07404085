"""The rules that decide whether the next model of a cascade runs, and their text form.

Examples of the text of a cascade, and their meaning:

    vww:person>=0.6 -> blazeface                        blazeface runs if vww finds a person with a score of 0.6 or more
    blazeface:face>=0.5 crop 1.4 -> landmarks.tflite    landmarks.tflite gets a square around the best face; its side is
                                                        1.4 times the longer side of the face's box
    ssd:cat>=0.4|dog>=0.4 -> breeds.tflite              breeds.tflite runs if ssd finds a cat or a dog
    detector:>=0.3 -> classifier                        classifier runs if detector finds any object
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer, Box

EXAMPLE = 'for example --cascade "vww:person>=0.6 -> blazeface"'
RERUN_EXAMPLE = "for example --rerun-below 0.55:model_float16.tflite"
#: The side of the square for the next model, as a multiple of the longer side of the box, if the rule does not give it.
DEFAULT_CROP_FACTOR = 1.25


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A match of a rule, so that the next model runs. ``box`` is the detection that matched; None if the answer has no
    boxes."""

    box: Box | None = None


class CascadeRule(Protocol):
    """Decides from the answer of a model whether the next model of a cascade runs."""

    @property
    def crop_factor(self) -> float | None:
        """The side of the square around a detection that the next model gets, as a multiple of the longer side of the
        box; None if the next model gets the whole frame."""
        ...

    def match(self, answer: Answer) -> RuleMatch | None:
        """Return the match, so that the next model runs, or None if the answer does not match."""
        ...

    def check(self, labels: Sequence[str], model: str) -> None:
        """Raise ``UsageError`` if no answer of ``model`` can ever match. ``labels`` are the labels of the model."""
        ...


@dataclass(frozen=True, slots=True)
class LabelRule:
    """Matches if a class or a box has one of the wanted labels, with at least the score for that label. ``wanted`` has
    pairs of label and score; the label "" stands for any label."""

    wanted: tuple[tuple[str, float], ...]
    crop_factor: float | None = None

    def match(self, answer: Answer) -> RuleMatch | None:
        best: Box | None = None
        for box in answer.boxes:
            if self._fits(box.label, box.score) and (best is None or box.score > best.score):
                best = box
        if best is not None:
            return RuleMatch(best)
        if any(self._fits(entry.label, entry.score) for entry in answer.classes):
            return RuleMatch()
        if answer.score is not None and self._fits("", answer.score):
            return RuleMatch()
        return None

    def _fits(self, label: str, score: float) -> bool:
        return any(score >= min_score and wanted in ("", label) for wanted, min_score in self.wanted)

    def check(self, labels: Sequence[str], model: str) -> None:
        for wanted, _ in self.wanted:
            if wanted and wanted not in labels:
                known = ", ".join(list(labels)[:8]) + (", ..." if len(labels) > 8 else "")
                raise UsageError(
                    f"{model} never answers '{wanted}': {f'its labels are {known}' if labels else 'it has no labels'}.",
                    f"Use one of its labels in --cascade, or no label for any label: {model}:>=0.5.",
                )


@dataclass(frozen=True, slots=True)
class LowConfidenceRule:
    """Matches if the confidence of the best answer is below a limit. An empty list of boxes does not match, because a
    detector has no score for objects that it did not find."""

    below: float
    crop_factor: float | None = None

    def match(self, answer: Answer) -> RuleMatch | None:
        if answer.kind == "boxes" and not answer.boxes:
            return None
        return RuleMatch() if answer.confidence < self.below else None

    def check(self, labels: Sequence[str], model: str) -> None:
        """Do nothing, because the score of every model can be low."""


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One stage as the user wrote it. ``rule`` decides whether the next stage runs; the last stage has no rule."""

    model: str
    rule: CascadeRule | None = None


_CONDITION = re.compile(r"(?P<label>[^<>=]*?)\s*>=\s*(?P<score>\d*\.?\d+)")
_CROP = re.compile(r"\s+crop(?:\s+(?P<crop_factor>\d*\.?\d+))?$")


def parse_cascade(text: str) -> tuple[StageSpec, ...]:
    """Parse ``MODEL:CONDITION -> MODEL``, with any number of stages, and return the stages. Raises ``UsageError``,
    which names the wrong part."""
    parts = [part.strip() for part in text.split("->")]
    if len(parts) < 2 or not all(parts):
        raise UsageError(
            f"The cascade {text!r} does not have two models with '->' between them.", f"Give {EXAMPLE}."
        )
    stages = []
    for part in parts[:-1]:
        model, colon, condition = part.rpartition(":")
        if not colon or not model.strip():
            raise UsageError(
                f"The cascade's part {part!r} has no condition for the next model.",
                f"Write MODEL:LABEL>=SCORE, {EXAMPLE}.",
            )
        stages.append(StageSpec(model.strip(), _parse_rule(condition.strip())))
    if ">=" in parts[-1]:
        raise UsageError(
            f"The cascade's last part {parts[-1]!r} has a condition, but no model follows it.",
            f"Leave the condition out, {EXAMPLE}.",
        )
    stages.append(StageSpec(parts[-1]))
    return tuple(stages)


def parse_rerun(text: str) -> tuple[float, str]:
    """Parse ``SCORE:MODEL`` and return both. MODEL runs on a frame if the confidence of the first model is below SCORE.
    Raises ``UsageError``."""
    score, colon, model = (part.strip() for part in text.partition(":"))
    if not colon or not model or not re.fullmatch(r"\d*\.?\d+", score):
        raise UsageError(f"{text!r} is not a score and a model.", f"Give {RERUN_EXAMPLE}.")
    return _parse_score(score, text), model


def _parse_rule(text: str) -> LabelRule:
    crop = _CROP.search(text)
    crop_factor = None
    if crop is not None:
        text = text[: crop.start()]
        crop_factor = float(crop["crop_factor"]) if crop["crop_factor"] else DEFAULT_CROP_FACTOR
        if not 1.0 <= crop_factor <= 10.0:
            raise UsageError(
                f"A crop of {crop_factor:g} times the box is not possible.",
                "Give 1 to 10; 1.25 leaves some context.",
            )
    wanted = []
    for alternative in text.split("|"):
        condition = _CONDITION.fullmatch(alternative.strip())
        if condition is None:
            raise UsageError(
                f"The cascade's condition {alternative.strip()!r} is not LABEL>=SCORE.",
                f"Give {EXAMPLE}; '>=0.5' without a label stands for any label.",
            )
        wanted.append((condition["label"].strip(), _parse_score(condition["score"], alternative.strip())))
    return LabelRule(tuple(wanted), crop_factor)


def _parse_score(text: str, where: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise UsageError(
            f"The score of {where!r} is {value:g}, expected above 0 and at most 1.", "Give for example 0.5."
        )
    return value
