"""Play a recording to an application on an emulated board, and compare its events with those of this computer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.reference import Event, EventKind
from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.firmware.app.model_glue import Scores
from arenite.host.app.app_machine import start_app
from arenite.host.app.cascade.reference import ReferenceCascade
from arenite.host.app.emulated_run import EventLine, parse_event, run_emulated
from arenite.host.app.flash_memory import flash_contents, newest_record
from arenite.host.app.generate import App
from arenite.host.app.learned_events import LearnedEvent, LearnedEvents
from arenite.host.app.measured_time import STATUS, MeasuredTime, parse_status
from arenite.host.app.reference import events_with_gaps, reference_events
from arenite.host.app.sensor_file import LATE, Fault, samples_that_arrive
from arenite.host.flash.build import direct_build


@dataclass(frozen=True)
class Playback:
    """What an application printed while it took the samples of a recording.

    ``lines`` are all lines, ``events`` those of events. ``expected`` are the events that this computer finds in the
    same samples; None if samples were late, because the board may have lost some of them. ``measured`` is the time that
    its windows took; None if the run ended with another command.
    """

    lines: tuple[str, ...]
    events: tuple[EventLine, ...]
    expected: tuple[EventLine, ...] | None
    measured: MeasuredTime | None = None

    @property
    def is_equal(self) -> bool | None:
        """Whether the device found the events of this computer at the same samples; None if that is not known."""
        return None if self.expected is None else self.events == self.expected

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``playback`` of schema ``arenite.app/1``."""
        return {
            "events": [
                {"class": e.label, "kind": "start" if e.is_start else "end", "sample": e.sample}
                for e in self.events
            ],
            "equal_to_reference": self.is_equal,
            "measured": None if self.measured is None else self.measured.to_json(),
        }


def play(
    application: App,
    samples: np.ndarray,
    faults: Sequence[Fault] = (),
    on_line: Callable[[str], None] = lambda _: None,
    *,
    flash: Path | None = None,
    commands: Sequence[str] = (),
) -> Playback:
    """Build ``application``, and run it on its emulated board until it has taken int16 ``samples``
    [samples] or [samples, channels].

    ``on_line`` is called with each line that the application prints. ``flash`` is the file with the flash memory in
    which the board keeps what it learned; it is created if it does not exist, and the state is saved at the end.
    Without it, the memory is erased before each run. ``commands`` are sent when the application starts.

    Raises:
        DoesNotFitError: the application does not fit the board.
        ToolError: the compiler or the emulator is missing.
        DeviceError: the application stopped.
        UsageError: the board is not emulated.
    """
    board = application.board
    if board.emulator is None:
        raise UsageError(f"{board.name} is a real board.", "Choose a board qemu_mps2_* to play a recording.")
    elf = direct_build(application.directory)
    learning = application.learning
    memory = None if learning is None else bytearray(flash_contents(flash, learning))
    before = None if memory is None else bytes(memory)
    last = STATUS if flash is None or learning is None else "save"
    rate = application.settings.rate
    lines: list[str] = []
    answer = ""  # to the last command
    for line in run_emulated(
        elf,
        board,
        samples,
        faults,
        commands,
        rate=rate,
        last_command=last,
        flash=memory,
        launch=lambda folder: start_app(application.directory, elf, board, folder),
    ):
        if answer:
            on_line(answer)
            lines.append(answer)
        answer = line
    measured = parse_status(answer, _events_in(lines)) if last == STATUS else None
    if measured is None or application.cascade is not None:  # it tells how often each model ran
        on_line(answer)
        lines.append(answer)
    if flash is not None and memory is not None:
        write_atomic(flash, bytes(memory))
    late = any(fault.kind == LATE for fault in faults)  # samples may find no room in the board's buffer
    expected = None if late else expected_events(application, samples, faults, before, lines)
    return Playback(tuple(lines), _events_in(lines), expected, measured)


def _events_in(lines: Sequence[str]) -> tuple[EventLine, ...]:
    """Return the events of those ``lines`` that tell one."""
    return tuple(event for line in lines if (event := parse_event(line)) is not None)


def expected_events(
    application: App,
    samples: np.ndarray,
    faults: Sequence[Fault] = (),
    flash: bytes | None = None,
    lines: Sequence[str] = (),
) -> tuple[EventLine, ...]:
    """Return the events of this computer, as the application prints them. ``flash`` is the flash memory with which the
    application started, and ``lines`` are those that it printed."""
    learning, learned = application.learning, None
    if learning is not None and flash is not None:
        record = newest_record(flash, learning, application.image_sha256)
        learned = LearnedEvents(learning, record, lines)
    values, arrive = samples_that_arrive(samples, faults) if faults else (samples, None)
    if application.cascade is None:
        events = reference_events(application.prepared, values, arrive, learned)
    else:
        events = events_with_gaps(ReferenceCascade(application.cascade), values, arrive)
    return tuple(_line(application.scores, event) for event in events)


def _line(scores: Scores, event: Event) -> EventLine:
    """Return an event as the application prints it."""
    is_start = event.kind == EventKind.START
    if isinstance(event, LearnedEvent):
        return EventLine(event.label, is_start, None, event.at, event.detail if is_start else None)
    percent = scores.percent(event.score) if is_start else None
    return EventLine(scores.names[event.index], is_start, percent, event.at)
