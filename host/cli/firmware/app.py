"""``arenite app``: write an application with a sensor, and try it on an emulated board."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.firmware.app.drivers.motion_sensors import CHIPS
from arenite.firmware.app.forms.choice import FORMS, PLATFORMIO, app_commands
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.host.app.camera.generate import CAMERA, CameraApp
from arenite.host.app.generate import SENSORS, App
from arenite.host.app.measured_time import time_lines
from arenite.host.app.play import Playback, play
from arenite.host.app.recordings import read_samples
from arenite.host.app.sensor_stream import MICROPHONE
from arenite.host.cli.firmware.camera_app import finish_camera
from arenite.host.cli.options import output_folder_option
from arenite.host.interface.app import app as write_app
from arenite.host.report.console import note, print_json, show


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board", required=True, metavar="NAME", help="Name of a board; `arenite boards` lists the names."
)
@click.option(
    "--sensor",
    type=click.Choice((*SENSORS, CAMERA)),
    default=MICROPHONE,
    show_default=True,
    help="Kind of sensor.",
)
@click.option(
    "--project",
    type=click.Choice(FORMS),
    help="Build system of the application. Without this option, it is the board's usual one (docs/app-boards.md).",
)
@click.option(
    "--chip",
    type=click.Choice(tuple(CHIPS)),
    help="Chip of a motion sensor. Without this option, it is the one on the board, or an MPU-6050 on a module.",
)
@output_folder_option("the application")
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    default="balanced",
    show_default=True,
    help="What to optimize the model for (docs/firmware.md).",
)
@click.option(
    "--play",
    "recordings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help=(
        "Build the application and run it on the emulated board with this recording as its sensor: a WAV file for a "
        "microphone; pictures, folders of them or .npz files for a camera (repeat the option); otherwise .csv, .npy "
        "or .npz with int16 samples. Compare its events with those that this computer finds."
    ),
)
@click.option(
    "--flash",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "With --play: the file with the emulated board's flash memory, in which an application that learns keeps its "
        "state (docs/anomaly.md). It is created if it does not exist. Without it, the memory is erased."
    ),
)
@click.option(
    "--send",
    "commands",
    metavar="COMMAND",
    multiple=True,
    help="With --play: a command for the application when it starts, such as 'teach knock'. Repeat the option.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def app(
    image: Path,
    board: str,
    sensor: str,
    project: str | None,
    chip: str | None,
    output: Path,
    optimise: str,
    recordings: tuple[Path, ...],
    flash: Path | None,
    commands: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write an application: firmware that takes the samples of a sensor and prints a line for each event.

    IMAGE is a model that records its decision (docs/events.md) or an anomaly head (docs/anomaly.md), and its
    preprocessing of sound, motion or pictures. For a camera without such a record, pixels are the input. IMAGE may
    also be the name of a shipped application: micro_speech, wake_alexa, wake_hey_jarvis, wake_hey_mycroft,
    wake_okay_nabu. The program src/main.c is yours: it is written once. All other files are written again by each call.

    With --play, the exit code is 1 if an event or a score differs from that of this computer.
    """
    if not recordings and (flash is not None or commands):
        raise UsageError("--flash and --send need --play.", "Add --play FILE.")
    application = write_app(
        image, output, board=board, sensor=sensor, project=project, optimise=optimise, chip=chip
    )
    for text in application.prepared.notes:
        note(text)
    learns = isinstance(application, App) and application.learning is not None
    if flash is not None and not learns:
        raise UsageError(
            f"{image.name} records no anomaly head, so there is no state for --flash.",
            "Remove --flash, or record an anomaly head (docs/anomaly.md).",
        )
    if isinstance(application, CameraApp):
        if commands:
            raise UsageError("--send is not for a camera.", "Remove --send.")
        return finish_camera(application, recordings, as_json)
    if len(recordings) > 1:
        raise UsageError("--play is given several times.", "Give one recording.")
    recording = recordings[0] if recordings else None
    playback = None if recording is None else _play(application, recording, as_json, flash, commands)
    if as_json:
        print_json({**application.to_json(), "playback": None if playback is None else playback.to_json()})
    else:
        _show(application, playback)
    return int(playback is not None and playback.is_equal is False)


def _play(
    application: App, recording: Path, as_json: bool, flash: Path | None, commands: tuple[str, ...]
) -> Playback:
    """Run the application, and print its lines as they arrive unless standard output is for JSON."""
    samples = read_samples(recording, application)
    on_line = (lambda _: None) if as_json else show
    return play(application, samples, on_line=on_line, flash=flash, commands=commands)


def _show(application: App, playback: Playback | None) -> None:
    settings = application.settings
    hop_s = settings.hop / settings.rate
    if application.headroom is None:
        show(
            f"{application.directory}: an inference every {hop_s * 1000:,.0f} ms, which takes an estimated "
            f"{application.inference_s * 1000:,.0f} ms on {application.board.name}"
        )
    else:
        show(
            f"{application.directory}: an inference every {hop_s * 1000:,.0f} ms on {application.board.name}"
        )
    for line in time_lines(application.headroom, None if playback is None else playback.measured):
        show(line)
    driver = application.driver
    if driver is not None:
        show(f"Sensor: {driver.wiring}. Its pins and settings are in src/app_pins.h.")
        if driver.needs_files:
            show(f"Copy these files to {application.directory}/src: {driver.needs_files}.")
    if playback is None:
        commands = app_commands(application.board, application.project, str(application.directory))
        is_built_here = application.board.emulated or application.project == PLATFORMIO
        show(f"Next: {f'arenite build {application.directory}' if is_built_here else ' && '.join(commands)}")
    elif playback.expected is not None:
        same = sum(a == b for a, b in zip(playback.events, playback.expected, strict=False))
        most = max(len(playback.events), len(playback.expected))
        show(f"{same} of {most} events are those of this computer, at the same samples")
