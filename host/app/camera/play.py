"""Play pictures to an application on an emulated board, and compare its scores and events with this computer's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.decision.reference import Decider, EventKind
from arenite.errors import UsageError
from arenite.host.app.camera.camera_file import CAMERA_FILE, camera_records
from arenite.host.app.camera.generate import CameraApp, decision_of
from arenite.host.app.emulated_run import run_with_file
from arenite.host.app.measured_time import MeasuredTime
from arenite.host.app.sensor_file import Fault
from arenite.host.bench.reference import Reference
from arenite.host.flash.build import direct_build

_EVENT = re.compile(r"\[\d+\.\d{3} s\] (.+?)(?: (\d+)%| (ended)) \(frame (\d+)\)")
_TIME = re.compile(r"\d+ frames, .*busiest frame ([\d.]+)% of its time, mean ([\d.]+)%.*")
_SCORES = re.compile(r"\[\d+\.\d{3} s\] scores((?: -?\d+)*) sum (\d+) \(frame (\d+)\)")


@dataclass(frozen=True)
class FrameEvent:
    """An event as the application prints it: its class, the start or the end, the score in percent at a start, and the
    number of the frame."""

    label: str
    is_start: bool
    percent: int | None
    frame: int


@dataclass(frozen=True)
class FramePlayback:
    """What an application printed while it saw pictures.

    Attributes:
        lines: all lines but those of scores; the last one has the counts.
        events: the events in ``lines``.
        expected: the events that this computer finds in the frames that the application answered.
        frames: frames that the model should answer.
        answered: frames that it answered.
        equal: answered frames whose scores are those of LiteRT's reference kernels for the whole frame.
        measured: the time that a frame took; None if the application did not tell it.
    """

    lines: tuple[str, ...]
    events: tuple[FrameEvent, ...]
    expected: tuple[FrameEvent, ...]
    frames: int
    answered: int
    equal: int
    measured: MeasuredTime | None = None

    @property
    def is_equal(self) -> bool:
        """Whether all scores and events of answered frames are those of this computer."""
        return self.events == self.expected and self.equal == self.answered

    @property
    def is_complete(self) -> bool:
        """Whether the application answered all frames that it should."""
        return self.answered == self.frames

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``playback`` of schema ``arenite.app/1``."""
        return {
            "events": [
                {"class": e.label, "kind": "start" if e.is_start else "end", "frame": e.frame}
                for e in self.events
            ],
            "frames": self.frames,
            "answered": self.answered,
            "equal_scores": self.equal,
            "equal_to_reference": self.is_equal,
            "measured": None if self.measured is None else self.measured.to_json(),
        }


def parse_frame_event(line: str) -> FrameEvent | None:
    """Return the event that ``line`` describes, or None for another line."""
    match = _EVENT.fullmatch(line)
    if match is None:
        return None
    percent = None if match[2] is None else int(match[2])
    return FrameEvent(match[1], match[3] is None, percent, int(match[4]))


def parse_time(lines: Sequence[str], events: Sequence[FrameEvent], frames: int) -> MeasuredTime | None:
    """Return the times in the last of ``lines`` that tells them, or None. The application printed ``events``, and saw
    ``frames``."""
    match = next((m for line in reversed(lines) if (m := _TIME.fullmatch(line))), None)
    if match is None:
        return None
    most = max(Counter(event.frame for event in events).values(), default=0)
    return MeasuredTime(float(match[2]), float(match[1]), None, most, frames, frames, 0)


def checksum(scores: np.ndarray) -> int:
    """Return the FNV-1a checksum of all stored scores, as the application prints it."""
    value = 2166136261
    for byte in scores.tobytes():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def play_frames(
    application: CameraApp,
    frames: Sequence[np.ndarray],
    faults: Sequence[Fault] = (),
    on_line: Callable[[str], None] = lambda _: None,
    on_frame: Callable[[int], None] = lambda _: None,
) -> FramePlayback:
    """Build ``application``, and run it on its emulated board until it has seen ``frames`` (see
    :func:`arenite.host.app.camera.frames.read_frames`).

    Rows that are stuck count as pictures that the camera saw. ``on_line`` is called with each line that the application
    prints, except scores; for those ``on_frame`` is called with their
    number so far.

    Raises:
        DoesNotFitError: the application does not fit the board.
        ToolError: the compiler or the emulator is missing.
        DeviceError: the application stopped.
        UsageError: the board is not emulated, or a fault begins after the last row.
    """
    board, settings = application.board, application.settings
    if board.emulator is None:
        raise UsageError(f"{board.name} is a real board.", "Choose a board qemu_mps2_* to play pictures.")
    elf = direct_build(application.directory)
    records = camera_records(frames, settings, faults)
    lines: list[str] = []
    scores: dict[int, int] = {}
    for line in run_with_file(elf, board, CAMERA_FILE, records):
        match = _SCORES.fullmatch(line)
        if match is None:
            on_line(line)
            lines.append(line)
        else:
            scores[int(match[3])] = int(match[2])
            on_frame(len(scores))
    events = tuple(event for line in lines if (event := parse_frame_event(line)) is not None)
    answers = list(_answers(application, frames, sorted(scores)))
    return FramePlayback(
        lines=tuple(lines),
        events=events,
        expected=tuple(event for _, _, found in answers for event in found),
        frames=-(-len(frames) // settings.hop),
        answered=len(scores),
        equal=sum(scores[frame] == value for frame, value, _ in answers),
        measured=parse_time(lines, events, len(frames)),
    )


def _answers(
    application: CameraApp, frames: Sequence[np.ndarray], answered: Sequence[int]
) -> Iterator[tuple[int, int, list[FrameEvent]]]:
    """Yield the number of each answered frame, the checksum of its scores, and its events, as this computer finds them
    in whole frames."""
    settings, names = application.settings, application.scores
    _, plan = decision_of(application.prepared)
    reference, decider = Reference(application.prepared.reference), Decider(plan)
    last: int | None = None
    for number in answered:
        is_restarted = last is None or number - last > settings.fault_frames
        if is_restarted:
            decider = Decider(plan)
        last = number
        inputs = [application.pictures.model_input(frames[number])]
        values = reference.run(inputs, reset=is_restarted)[plan.output].reshape(-1)
        found = [
            FrameEvent(
                names.names[event.index],
                event.kind == EventKind.START,
                names.percent(event.score) if event.kind == EventKind.START else None,
                event.at,
            )
            for event in decider.decide(values, number)
        ]
        yield number, checksum(values), found
