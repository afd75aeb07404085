"""The record of a frame that the loop served: its answer and times. Sinks, dashboard and statistics receive it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import Frame

#: The stages in the order in which they run. All times come from time.monotonic_ns.
STAGES = ("capture", "preprocess", "invoke", "postprocess")


@dataclass(slots=True)
class ServedFrame:
    """A served frame with its answer and times. ``spans`` maps each stage that ran to its (start, end) in
    nanoseconds."""

    number: int  # number of the answer; the loop counts from 0
    source: int  # index of the camera
    sequence: int  # number of the frame; the source counts from 0
    time_ns: int  # time of the capture
    spans: dict[str, tuple[int, int]]
    answer: Answer | None
    #: The origin of the answer: model; cache (an earlier input was identical); motion (nothing moved, so the last
    #: answer is repeated); stand-in (a camera was late, so its last frame and answer are repeated).
    by: str = "model"
    model: str = ""  # the name of the model that computed the answer
    late: bool = False  # the answer came after the latency limit
    missed: int = 0  # frames dropped since the previous served frame
    width: int = 0
    height: int = 0
    extra: dict[str, Any] = field(default_factory=dict)  # further entries of the JSON

    @property
    def total_ns(self) -> int:
        """The time from the start of the first stage to the end of the last stage, without the wait for the camera."""
        ends = [end for _, end in self.spans.values()]
        starts = [start for start, _ in self.spans.values()]
        return max(ends) - min(starts) if ends else 0

    @property
    def age_ns(self) -> int:
        """The time from the capture to the answer."""
        ends = [end for _, end in self.spans.values()]
        return max(ends) - self.time_ns if ends else 0

    def to_json(self) -> dict[str, Any]:
        """Return the object that the option ``--output`` writes as one line."""
        return {
            "number": self.number,
            "source": self.source,
            "sequence": self.sequence,
            "time_s": round(self.time_ns / 1e9, 6),
            "size": [self.width, self.height],
            "stage_ms": {k: round((b - a) / 1e6, 4) for k, (a, b) in self.spans.items()},
            "total_ms": round(self.total_ns / 1e6, 4),
            "by": self.by,
            "model": self.model,
            "late": self.late,
            "missed": self.missed,
            "answer": self.answer.to_json() if self.answer is not None else None,
        } | self.extra


class Sink(Protocol):
    """A receiver of all served frames. The loop calls it in its own thread, so it must not block. ``frame`` is valid
    only during the call: a sink that needs the pixels later must retain the frame, or copy them."""

    def take(self, served: ServedFrame, frame: Frame | None) -> None: ...

    def close(self) -> None: ...
