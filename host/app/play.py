"""Play a recording to an application on an emulated board, and compare its events with those of this computer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.decision.reference import EventKind
from arenite.errors import UsageError
from arenite.host.app.emulated_run import EventLine, parse_event, run_emulated
from arenite.host.app.generate import App
from arenite.host.app.reference import reference_events
from arenite.host.app.sensor_file import LATE, Fault, samples_that_arrive
from arenite.host.flash.build import direct_build


@dataclass(frozen=True)
class Playback:
    """What an application printed while it took the samples of a recording.

    ``lines`` are all lines, ``events`` those of events. ``expected`` are the events that this computer finds in the
    same samples; None if samples were late, because the board may have lost some of them.
    """

    lines: tuple[str, ...]
    events: tuple[EventLine, ...]
    expected: tuple[EventLine, ...] | None

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
        }


def play(
    application: App,
    samples: np.ndarray,
    faults: Sequence[Fault] = (),
    on_line: Callable[[str], None] = lambda _: None,
) -> Playback:
    """Build ``application``, and run it on its emulated board until it has taken int16 ``samples``
    [samples] or [samples, channels].

    ``on_line`` is called with each line that the application prints.

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
    lines = []
    for line in run_emulated(elf, board, samples, faults, rate=application.settings.rate):
        on_line(line)
        lines.append(line)
    late = any(fault.kind == LATE for fault in faults)  # samples may find no room in the board's buffer
    expected = None if late else _expected(application, samples, faults)
    events = tuple(event for line in lines if (event := parse_event(line)) is not None)
    return Playback(tuple(lines), events, expected)


def _expected(application: App, samples: np.ndarray, faults: Sequence[Fault]) -> tuple[EventLine, ...]:
    """Return the events of this computer, as the application prints them."""
    scores = application.scores
    values, arrive = samples_that_arrive(samples, faults) if faults else (samples, None)
    return tuple(
        EventLine(
            scores.names[event.index],
            event.kind == EventKind.START,
            scores.percent(event.score) if event.kind == EventKind.START else None,
            event.at,
        )
        for event in reference_events(application.prepared, values, arrive)
    )
