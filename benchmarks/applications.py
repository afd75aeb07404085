"""Measure every shipped application on an emulated board: ``python -m benchmarks.applications``.

Each application is generated, built, and run: listeners hear composed speech with their keywords, person detectors see
pictures, ``gestures`` and ``machine_sounds`` take their examples. The program prints a Markdown table of the RAM and
flash of the linked ELF, of the instructions from one inference to the next, and of the events that are those of this
computer. The exit code is 1 if an event differs, or a sample or a frame was lost.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.decision.record import recorded_decision
from arenite.converters.processing.long_sound import open_sound
from arenite.host.app.applications import (
    application_image,
    application_names,
    application_sensor,
    example_samples,
)
from arenite.host.app.camera.frames import frame_of
from arenite.host.app.camera.generate import CAMERA, generate_camera_app
from arenite.host.app.camera.play import play_frames
from arenite.host.app.flash_memory import flash_contents
from arenite.host.app.generate import App, generate_app
from arenite.host.app.play import expected_events
from arenite.host.app.trained_applications import RECIPES
from arenite.host.build.prepare import prepare
from arenite.host.flash.build import direct_build
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board
from benchmarks.app_camera import pictures
from benchmarks.app_sound.compose import compose
from benchmarks.app_sound.hearing import sense
from benchmarks.app_sound.speech import recordings, sentences
from tests.host.app.camera.elf_ram import ram_of

ROOT = Path(__file__).resolve().parents[1]
_FRAMES = re.compile(r"busiest frame ([\d.]+)% of its time, mean ([\d.]+)%")


@dataclass(frozen=True)
class Row:
    """The figures of an application. ``instructions`` is the mean number from one inference to the next, of those that
    the board has time for, ``available``."""

    name: str
    ram: int
    flash: int
    instructions: int
    available: int
    events: int
    equal: int
    is_complete: bool

    def markdown(self) -> str:
        """Return the row of the table."""
        share = self.instructions / self.available
        return (
            f"| `{self.name}` | {self.ram:,} | {self.flash:,} | {self.instructions:,} | {share:.1%} | "
            f"{self.equal} of {self.events} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    names = application_names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.applications", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"applications; without names all: {', '.join(names)}")
    parser.add_argument("--board", default="qemu_mps2_an386", help="an emulated board (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=2, help="minutes of speech (default: %(default)g)")
    parser.add_argument("--pictures", type=int, default=24, help="pictures (default: %(default)s)")
    parser.add_argument("--speech", type=Path, help="folder with WAV files, instead of the Debian packages")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in names]
    if unknown:
        parser.error(f"{unknown[0]} is no application; expected {', '.join(names)}")
    board, rows = load_board(options.board), []
    for name in options.names or names:
        with tempfile.TemporaryDirectory(prefix="arenite-app-") as folder:
            if name in RECIPES:
                row = example_row(name, board, Path(folder))
            elif application_sensor(name) == CAMERA:
                row = camera_row(name, board, Path(folder), options.pictures)
            else:
                row = sound_row(name, board, Path(folder), options.minutes, options.speech)
        rows.append(row)
        print(row.markdown(), file=sys.stderr)
    print(
        "| application | RAM in bytes | flash in bytes | instructions per inference and its features | of the time | "
        "events equal to those of this computer |\n|-|-:|-:|-:|-:|-:|"
    )
    print("\n".join(row.markdown() for row in rows))
    return int(not all(row.is_complete and row.equal == row.events for row in rows))


def flash_of(elf: Path) -> int:
    """Return the bytes of the ELF in flash: code, constants, and the first values of variables."""
    table = subprocess.run(["arm-none-eabi-size", elf], capture_output=True, text=True, check=True)
    text, data = table.stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)


def instructions_per_second(board: Board) -> float:
    """Return the number of instructions that the emulated board runs in a second of its clock."""
    emulator = board.emulator
    assert emulator is not None
    return board.clock_hz * emulator.ticks_denominator / emulator.ticks_numerator


def sound_row(name: str, board: Board, folder: Path, minutes: float, speech: Path | None) -> Row:
    """Return the figures of an application that hears composed speech."""
    prepared = prepare(application_image(name))
    decision = recorded_decision(prepared.extra)
    assert decision is not None
    keywords = [label for label in prepared.extra["labels"] if label not in decision.ignore]
    people = recordings() if speech is None else sorted(speech.rglob("*.wav"))
    people = [path for path in people if path.stat().st_size > 8000 and path.parent.name != "silence"]
    compose(folder / "sound.wav", 60 * minutes, keywords, people, sentences(ROOT))
    application = generate_app(prepared, board, folder / "app")
    return _stream_row(name, application, open_sound(folder / "sound.wav", application.settings.rate))


def example_row(name: str, board: Board, folder: Path) -> Row:
    """Return the figures of an application that is trained on this computer and takes its example."""
    sensor = application_sensor(name)
    application = generate_app(prepare(application_image(name)), board, folder / "app", sensor=sensor)
    return _stream_row(name, application, example_samples(name))


def _stream_row(name: str, application: App, samples: np.ndarray) -> Row:
    """Run ``application`` with ``samples``, and return its figures."""
    hearing = sense(application, samples)
    learning = application.learning
    flash = None if learning is None else flash_contents(None, learning)
    expected = expected_events(application, samples, (), flash)
    settings, elf = application.settings, direct_build(application.directory)
    available = instructions_per_second(application.board) * settings.hop / settings.rate
    return Row(
        name,
        ram_of(elf),
        flash_of(elf),
        round(available * hearing.counts["mean_percent"] / 100),
        round(available),
        max(len(hearing.events), len(expected)),
        sum(a == b for a, b in zip(hearing.events, expected, strict=False)),
        hearing.counts["lost"] == 0 and hearing.counts["late"] == 0,
    )


def camera_row(name: str, board: Board, folder: Path, count: int) -> Row:
    """Return the figures of an application that sees pictures. It is optimized for RAM."""
    application = generate_camera_app(prepare(application_image(name)), board, folder / "app", optimise="ram")
    frames = [frame_of(picture, application.pictures.plan) for picture in pictures(count)]
    playback = play_frames(application, frames)
    elf, shares = direct_build(application.directory), _FRAMES.search(playback.lines[-1])
    assert shares is not None
    settings = application.settings
    available = instructions_per_second(board) * settings.hop / settings.rate
    return Row(
        name,
        ram_of(elf),
        flash_of(elf),
        round(available * float(shares[2]) / 100),
        round(available),
        max(len(playback.events), len(playback.expected)),
        sum(a == b for a, b in zip(playback.events, playback.expected, strict=False)),
        playback.is_complete and playback.is_equal,
    )


if __name__ == "__main__":
    sys.exit(main())
