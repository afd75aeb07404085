"""When the next model of a cascade looks, and how a user writes it.

vww:person>=0.6 -> blazeface                    blazeface looks where vww is sure enough of a person
blazeface:face>=0.5 crop 1.4 -> landmarks.tflite    landmarks sees a square around the best face, 1.4 times as large
ssd:cat>=0.4|dog>=0.4 -> breeds.tflite          any of several
detector:>=0.3 -> classifier                    anything
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer, Box

EXAMPLE = 'for instance --cascade "vww:person>=0.6 -> blazeface"'
RERUN_EXAMPLE = "for instance --rerun-below 0.55:model_float16.tflite"
#: How much larger than the box a crop is, unless it says so.
DEFAULT_CROP_MARGIN = 1.25


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """Why the next model looks. ``box``: the part of the frame that it is about, where the answer has boxes."""

    box: Box | None = None


class CascadeRule(Protocol):
    @property
    def margin(self) -> float | None:
        """Of a crop around what was found, as a multiple of its box; None: the next model sees the whole frame."""
        ...

    def look(self, answer: Answer) -> RuleMatch | None:
        """None: this answer is the last word."""
        ...

    def check(self, labels: Sequence[str], model: str) -> None:
        """Raises ``UsageError`` where the model can never give what the rule asks for."""
        ...


@dataclass(frozen=True, slots=True)
class LabelRule:
    """A class or box of one of the labels with at least its score. ``wanted``: label to score; "" is any label."""

    wanted: tuple[tuple[str, float], ...]
    margin: float | None = None

    def look(self, answer: Answer) -> RuleMatch | None:
        best: Box | None = None
        for box in answer.boxes:
            if self._fits(box.label, box.score) and (best is None or box.score > best.score):
                best = box
        if best is not None:
            return RuleMatch(best)
        if any(self._fits(each.label, each.score) for each in answer.classes):
            return RuleMatch()
        if answer.score is not None and self._fits("", answer.score):
            return RuleMatch()
        return None

    def _fits(self, label: str, score: float) -> bool:
        return any(score >= least and wanted in ("", label) for wanted, least in self.wanted)

    def check(self, labels: Sequence[str], model: str) -> None:
        for wanted, _ in self.wanted:
            if wanted and wanted not in labels:
                known = ", ".join(list(labels)[:8]) + (", ..." if len(labels) > 8 else "")
                raise UsageError(
                    f"{model} never answers '{wanted}': {f'its labels are {known}' if labels else 'it has no labels'}.",
                    f"Name one of its labels in --cascade, or none for any: {model}:>=0.5.",
                )


@dataclass(frozen=True, slots=True)
class LowConfidenceRule:
    """The best answer is below a confidence. An answer of boxes without any is no such: a detector says nothing of what
    it did not see."""

    below: float
    margin: float | None = None

    def look(self, answer: Answer) -> RuleMatch | None:
        if answer.kind == "boxes" and not answer.boxes:
            return None
        return RuleMatch() if answer.confidence < self.below else None

    def check(self, labels: Sequence[str], model: str) -> None:
        """Every model can be unsure."""


@dataclass(frozen=True, slots=True)
class StageSpec:
    """``rule``: when the stage behind it looks; None of the last one."""

    model: str
    rule: CascadeRule | None = None


_CONDITION = re.compile(r"(?P<label>[^<>=]*?)\s*>=\s*(?P<score>\d*\.?\d+)")
_CROP = re.compile(r"\s+crop(?:\s+(?P<margin>\d*\.?\d+))?$")


def parse_cascade(text: str) -> tuple[StageSpec, ...]:
    """``MODEL:CONDITION -> MODEL``, with more stages as wanted. Raises ``UsageError`` naming the part that is wrong."""
    parts = [part.strip() for part in text.split("->")]
    if len(parts) < 2 or not all(parts):
        raise UsageError(
            f"The cascade {text!r} has no two models with '->' between them.", f"Give {EXAMPLE}."
        )
    stages = []
    for part in parts[:-1]:
        model, colon, condition = part.rpartition(":")
        if not colon or not model.strip():
            raise UsageError(
                f"The cascade's part {part!r} does not say when the next model looks.",
                f"Write MODEL:LABEL>=SCORE, {EXAMPLE}.",
            )
        stages.append(StageSpec(model.strip(), _rule(condition.strip())))
    if ">=" in parts[-1]:
        raise UsageError(
            f"The cascade's last part {parts[-1]!r} has a condition, and no model behind it.",
            f"Leave the condition out, {EXAMPLE}.",
        )
    stages.append(StageSpec(parts[-1]))
    return tuple(stages)


def parse_rerun(text: str) -> tuple[float, str]:
    """``SCORE:MODEL``: below which confidence which model looks again. Raises ``UsageError``."""
    score, colon, model = (part.strip() for part in text.partition(":"))
    if not colon or not model or not re.fullmatch(r"\d*\.?\d+", score):
        raise UsageError(f"{text!r} is not a score and a model.", f"Give {RERUN_EXAMPLE}.")
    return _score(score, text), model


def _rule(text: str) -> LabelRule:
    crop = _CROP.search(text)
    margin = None
    if crop is not None:
        text = text[: crop.start()]
        margin = float(crop["margin"]) if crop["margin"] else DEFAULT_CROP_MARGIN
        if not 1.0 <= margin <= 10.0:
            raise UsageError(
                f"A crop of {margin:g} times the box is not possible.",
                "Give 1 to 10; 1.25 leaves some context.",
            )
    wanted = []
    for each in text.split("|"):
        found = _CONDITION.fullmatch(each.strip())
        if found is None:
            raise UsageError(
                f"The cascade's condition {each.strip()!r} is not LABEL>=SCORE.",
                f"Give {EXAMPLE}; '>=0.5' without a label is any.",
            )
        wanted.append((found["label"].strip(), _score(found["score"], each.strip())))
    return LabelRule(tuple(wanted), margin)


def _score(text: str, where: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise UsageError(f"The score of {where!r} is {value:g}, expected above 0 and at most 1.", "Give 0.5.")
    return value
