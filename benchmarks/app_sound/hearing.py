"""Let an application hear a recording, and read its events and its counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.processing.long_sound import open_sound
from arenite.errors import DeviceError
from arenite.host.app.emulated_run import EventLine, parse_event, run_emulated
from arenite.host.app.flash_memory import flash_contents
from arenite.host.app.generate import App
from arenite.host.app.play import expected_events
from arenite.host.flash.build import direct_build

_COUNTS = re.compile(
    r"(?P<samples>\d+) samples, (?P<lost>\d+) lost, (?P<windows>\d+) windows, .*?(?P<late>\d+) late, .*?"
    r"(?P<dropped>\d+) lines dropped, slowest window (?P<slowest_percent>[\d.]+)% of its time, "
    r"mean (?P<mean_percent>[\d.]+)%"
)


@dataclass(frozen=True)
class Hearing:
    """The events that an application printed, and the counts of its answer to ``status``."""

    events: list[EventLine]
    counts: dict[str, float]


def hear(application: App, sound: Path) -> Hearing:
    """Build ``application``, and run it on its emulated board until it has heard ``sound``."""
    return sense(application, open_sound(sound, application.settings.rate))


def sense(application: App, samples: np.ndarray) -> Hearing:
    """Build ``application``, and run it on its emulated board until it has taken int16 ``samples`` [samples] or
    [samples, channels]."""
    rate, learning = application.settings.rate, application.learning
    elf = direct_build(application.directory)
    flash = None if learning is None else bytearray(flash_contents(None, learning))
    lines = run_emulated(
        elf, application.board, samples, rate=rate, silence_s=3600, last_command="status", flash=flash
    )
    events, counts = [], None
    for line in lines:
        event = parse_event(line)
        counts = _COUNTS.search(line)
        if event is not None:
            events.append(event)
    if counts is None:
        raise DeviceError("The application did not answer `status`.", "Run it again.")
    numbers = {name: float(text) if "." in text else int(text) for name, text in counts.groupdict().items()}
    return Hearing(events, numbers)


def reference_lines(application: App, sound: Path) -> list[EventLine]:
    """Return the events of this computer, as the application prints them."""
    return list(expected_events(application, open_sound(sound, application.settings.rate)))
