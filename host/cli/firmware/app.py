"""``arenite app``: write an application with a sensor, and try it on an emulated board."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from arenite.errors import UsageError
from arenite.firmware.app.drivers.camera_chips import CHIPS as CAMERA_CHIPS
from arenite.firmware.app.drivers.motion_sensors import CHIPS
from arenite.firmware.app.forms.choice import FORMS
from arenite.firmware.app.settings import StreamSettings
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.host.app.applications import (
    EXAMPLE,
    application_summaries,
    example_samples,
    has_example_samples,
    is_application,
)
from arenite.host.app.camera.frames import read_frames
from arenite.host.app.camera.generate import CAMERA, CameraApp
from arenite.host.app.camera.pictures import Pictures
from arenite.host.app.generate import SENSORS, App
from arenite.host.app.measured_time import time_lines
from arenite.host.app.play import Playback, play
from arenite.host.app.recordings import read_samples
from arenite.host.app.sensor_stream import STREAM_SENSORS
from arenite.host.cli.firmware.app_lines import show_driver, show_next
from arenite.host.cli.firmware.app_updates import (
    chosen_updates,
    options_of,
    show_update_steps,
    update_options,
)
from arenite.host.cli.firmware.camera_app import finish_camera
from arenite.host.cli.options import output_folder_option
from arenite.host.interface.app import app as write_app
from arenite.host.report.console import note, print_json, show
from arenite.profiles.boards import load_board


def _applications() -> str:
    """Return the shipped applications with what they do and their sensors, for the help."""
    summaries = application_summaries()
    width = max(map(len, summaries))
    lines = [f"  {name:{width}}  {title} ({sensor})" for name, (title, sensor) in summaries.items()]
    return "\n".join(["\b", "Shipped applications (docs/applications.md):", *lines])


@click.command(epilog=_applications())
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board", required=True, metavar="NAME", help="Name of a board; `arenite boards` lists the names."
)
@click.option(
    "--sensor",
    type=click.Choice((*SENSORS, CAMERA)),
    help="Kind of sensor. Without this option, it is that of the shipped application, or that of the recorded "
    "preprocessing, or a microphone.",
)
@click.option(
    "--project",
    type=click.Choice(FORMS),
    help="Build system of the application. Without this option, it is the board's usual one (docs/app-boards.md).",
)
@click.option(
    "--chip",
    type=click.Choice((*CHIPS, *CAMERA_CHIPS)),
    help=(
        "Chip of a motion sensor or of a camera. Without this option, it is the one on the board, or the usual one on "
        "a module (docs/app-boards.md)."
    ),
)
@click.option(
    "--cascade",
    type=click.Path(path_type=Path),
    metavar="LARGE",
    help=(
        "A large model that runs only while the events of IMAGE keep it awake. The events of the application are its "
        "events (docs/cascade.md)."
    ),
)
@click.option(
    "--hang-ms",
    type=click.FloatRange(min=0),
    metavar="TIME",
    help=(
        "With --cascade: milliseconds for which the large model still runs after an event of IMAGE. Without this "
        "option, it is the recorded time, or the length of a window of the large model."
    ),
)
@output_folder_option("the application")
@click.option(
    "--replace",
    is_flag=True,
    help=(
        "Write also over an application of another model, board or sensor. src/main.c stays, and pins that you changed "
        "are kept beside the new ones."
    ),
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    default="balanced",
    show_default=True,
    help="What to optimize the model for (docs/firmware.md).",
)
@update_options
@click.option(
    "--play",
    "recordings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help=(
        "Build the application and run it on the emulated board with this recording as its sensor: a WAV file for a "
        "microphone; pictures, folders of them or .npz files for a camera (repeat the option); otherwise .csv, .npy "
        "or .npz with int16 samples; or `example`, which gestures and machine_sounds have. Compare its events with "
        "those that this computer finds."
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
    sensor: str | None,
    project: str | None,
    chip: str | None,
    cascade: Path | None,
    hang_ms: float | None,
    output: Path,
    replace: bool,
    optimise: str,
    updates: Path | None,
    version: str | None,
    counter: int | None,
    golden: Path | None,
    allow_test_key: bool,
    recordings: tuple[Path, ...],
    flash: Path | None,
    commands: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write an application: firmware that takes the samples of a sensor and prints a line for each event.

    IMAGE is a model that records its decision (docs/events.md) or an anomaly head (docs/anomaly.md), and its
    preprocessing of sound, motion or pictures. For a camera without such a record, pixels are the input. IMAGE may
    also be the name of a shipped application: its model is downloaded, or trained in a minute, once. The program
    src/main.c is yours: it is written once. All other files are written again by each call.

    With --play, the exit code is 1 if an event or a score differs from that of this computer.
    """
    if not recordings and (flash is not None or commands):
        raise UsageError("--flash and --send need --play.", "Add --play FILE.")
    if recordings and not load_board(board).emulated:
        raise UsageError(
            f"{board} is a real board, so --play cannot run the application.",
            "Remove --play, or choose an emulated board (qemu_mps2_*).",
        )
    app_updates = chosen_updates(updates, version, counter, golden, allow_test_key)
    samples: list[np.ndarray] = []
    frames: list[np.ndarray] = []
    plays_example = (
        recordings == (Path(EXAMPLE),) and not Path(EXAMPLE).is_file() and is_application(str(image))
    )
    if plays_example:
        samples.append(example_samples(str(image)))

    def accept(settings: StreamSettings | Pictures) -> None:
        """Read the recording before anything is written, so that one that cannot be read is told first."""
        if isinstance(settings, Pictures):
            if commands:
                raise UsageError("--send is not for a camera.", "Remove --send.")
            frames.extend(read_frames(recordings, settings.plan) if recordings else ())
            return
        if len(recordings) > 1:
            raise UsageError("--play is given several times.", "Give one recording.")
        if not plays_example:
            samples.extend(
                read_samples(path, STREAM_SENSORS[settings.sensor - 1], settings) for path in recordings
            )

    application = write_app(
        image,
        output,
        board=board,
        sensor=sensor,
        project=project,
        optimise=optimise,
        chip=chip,
        cascade=cascade,
        hang_ms=hang_ms,
        replace=replace,
        accept=accept,
        updates=app_updates,
    )
    plan = application.cascade if isinstance(application, App) else None
    is_shipped = is_application(str(image))
    # What the conversion of a shipped model noted is for its author.
    for text in () if is_shipped else application.prepared.notes:
        note(text)
    for text in () if plan is None else plan.notes:
        if plan is not None and (text not in plan.large.notes or not is_application(str(cascade))):
            note(text)
    for warning in application.warnings if isinstance(application, App) else ():
        note(f"Warning: {warning}")
    learns = isinstance(application, App) and application.learning is not None
    if flash is not None and not learns:
        raise UsageError(
            f"{image.name} records no anomaly head, so there is no state for --flash.",
            "Remove --flash, or record an anomaly head (docs/anomaly.md).",
        )
    if isinstance(application, CameraApp):
        return finish_camera(application, frames, as_json)
    playback = _play(application, samples[0], as_json, flash, commands) if samples else None
    if as_json:
        print_json({**application.to_json(), "playback": None if playback is None else playback.to_json()})
    else:
        has_example = application.board.emulated and is_shipped and has_example_samples(str(image))
        _show(application, playback, str(image) if has_example else None)
    return int(playback is not None and playback.is_equal is False)


def _play(
    application: App, samples: np.ndarray, as_json: bool, flash: Path | None, commands: tuple[str, ...]
) -> Playback:
    """Run the application, and print its lines as they arrive unless standard output is for JSON."""
    on_line = (lambda _: None) if as_json else show
    return play(application, samples, on_line=on_line, flash=flash, commands=commands)


def _show(application: App, playback: Playback | None, example: str | None) -> None:
    """Print the result; ``example`` is the name of a shipped application that has a recording and can play it."""
    settings, cascade = application.settings, application.cascade
    hop_s = settings.hop / settings.rate
    begin = "an inference every {:,.0f} ms"
    if cascade is not None:
        begin = "both inferences, at most once every {:,.0f} ms"
    line = f"{application.directory}: {begin.format(hop_s * 1000)}"
    if application.headroom is None:
        verb = "take" if cascade is not None else "which takes"
        milliseconds = application.inference_s * 1000
        estimate = f"{milliseconds:,.{1 if milliseconds < 10 else 0}f} ms"
        line += f", {verb} an estimated {estimate} without the features"
    show(f"{line} on {application.board.name}")
    for line in time_lines(application.headroom, None if playback is None else playback.measured):
        show(line)
    if cascade is not None:
        show(cascade.sentence)
    driver = application.driver
    if driver is not None:
        show_driver(driver, application.directory)
    if playback is None:
        show_next(
            application.board,
            application.project,
            application.directory,
            application.sensor,
            example,
            options_of(application.updates),
        )
        if application.updates is not None:
            show_update_steps(application.board, application.directory, application.updates)
    elif playback.expected is not None:
        same = sum(a == b for a, b in zip(playback.events, playback.expected, strict=False))
        most = max(len(playback.events), len(playback.expected))
        show(f"{same} of {most} events are those of this computer, at the same samples")
