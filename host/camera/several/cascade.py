"""Run several models one after another: each model's answer decides whether the next model runs on the frame.

A cheap model can decide whether a costly model runs, or a precise model can run again on frames with a low score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.region import crop_frame, square_around, to_frame_coordinates
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.serving.frame_server import FrameServer
from arenite.host.camera.several.cascade_rules import CascadeRule


@dataclass(slots=True)
class CascadeStage:
    """A model of a cascade. ``rule`` decides whether the next stage runs; the last stage has no rule. ``runs`` counts
    the frames on which the model ran. ``changed`` counts the frames on which its best label differed from the best
    label of the previous stage."""

    server: FrameServer
    rule: CascadeRule | None = None
    runs: int = 0
    changed: int = 0


class Cascade:
    """A ``FrameServer`` of several models. The answer is the answer of the last model that ran; ``ServedFrame.model``
    is its name. The spans of later models have the model's name in their keys: ``invoke:blazeface``.

    Raises:
        UsageError: there are fewer than two stages, a stage other than the last one has no rule, or a rule can never
        match.
    """

    slots = 1
    staged = None

    def __init__(self, stages: Sequence[CascadeStage]) -> None:
        self.stages = list(stages)
        if len(stages) < 2 or any(stage.rule is None for stage in stages[:-1]):
            raise UsageError(
                "A cascade needs at least two models, and a rule for each model except the last.",
                'Give for example --cascade "vww:person>=0.6 -> blazeface".',
            )
        for stage in stages[:-1]:
            if stage.rule is not None:
                stage.rule.check(stage.server.labels, stage.server.name)
        self.name = " -> ".join(stage.server.name for stage in stages)
        self.bytes_written = 0  # bytes written for the last frame, by the servers of all models that ran

    @property
    def labels(self) -> Sequence[str]:
        """The labels of the last model."""
        return self.stages[-1].server.labels

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Do nothing, because each stage was warmed up separately."""

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        """Serve ``frame``. ``window`` applies to the stages that do not get a square around a detection."""
        first = self.stages[0]
        served = first.server.serve(frame, 0, window)
        first.runs += 1
        written = first.server.bytes_written
        stage_results = [_stage_result(served)]
        for stage, next_stage in zip(self.stages, self.stages[1:], strict=False):
            assert stage.rule is not None
            answer = served.answer
            match = stage.rule.match(answer) if answer is not None else None
            if match is None:
                break
            if match.box is not None and stage.rule.crop_factor is not None:
                square = square_around(match.box, frame.format, stage.rule.crop_factor)
                next_served = next_stage.server.serve(crop_frame(frame, square))
                if next_served.answer is not None:
                    next_served.answer = to_frame_coordinates(
                        next_served.answer, square, frame.format.width, frame.format.height
                    )
            else:
                next_served = next_stage.server.serve(frame, 0, window)
            next_stage.runs += 1
            written += next_stage.server.bytes_written
            next_stage.changed += _best(next_served.answer) != _best(answer)
            served.spans |= {
                f"{name}:{next_stage.server.name}": span for name, span in next_served.spans.items()
            }
            served.answer, served.model = next_served.answer, next_served.model
            stage_results.append(_stage_result(next_served))
        if len(stage_results) > 1:
            served.extra["cascade"] = stage_results
        self.bytes_written = written
        return served

    def to_json(self) -> list[dict[str, Any]]:
        """Return JSON with one entry per stage: the number of frames on which it ran, their share of all frames, and
        the number of frames on which its best label differed from the best label of the previous stage."""
        frames = self.stages[0].runs
        return [
            {
                "model": stage.server.name,
                "asked": stage.runs,
                "share": round(stage.runs / frames, 4) if frames else 0.0,
                "changed": stage.changed,
            }
            for stage in self.stages
        ]

    def close(self) -> None:
        for stage in self.stages:
            stage.server.close()


def _best(answer: Answer | None) -> str | int | None:
    """Return the label of the best class or box, or its class number if it has no label; None if there is no class and
    no box."""
    if answer is None:
        return None
    best = answer.classes[0] if answer.classes else answer.boxes[0] if answer.boxes else None
    return None if best is None else best.label or best.index


def _stage_result(served: ServedFrame) -> dict[str, Any]:
    """Return the entry of one stage in ``ServedFrame.extra["cascade"]``."""
    answer = served.answer
    return {
        "model": served.model,
        "best": _best(answer),
        "confidence": round(answer.confidence, 4) if answer is not None else 0.0,
    }
