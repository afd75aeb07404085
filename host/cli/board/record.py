"""``arenite record``: record the samples of a device as a labelled data set."""

from __future__ import annotations

import time
from pathlib import Path

import click

from arenite.errors import UsageError
from arenite.host.cli.board.live_source import live_source, source_options
from arenite.host.cli.option_types import Number
from arenite.host.live.connection import Connected, Disconnected, Ended
from arenite.host.live.keyboard import pressed_keys
from arenite.host.live.messages import Text
from arenite.host.live.recorder import Recorder
from arenite.host.report.console import note, print_json, show

#: Seconds without an answer of a connected device, after which nothing can be recorded. An emulated board may be slow.
_ANSWER_S, _EMULATED_ANSWER_S = 20.0, 300.0


@click.command()
@source_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the data set. A later run adds files to it.",
)
@click.option(
    "--label",
    metavar="NAME",
    help="Label of all clips. Default: keys 1 to 9 choose a class of the model, and key 0 pauses.",
)
@click.option(
    "--per-event",
    is_flag=True,
    help="Record only the window of each event. Its class is the label, unless --label is given.",
)
@click.option(
    "--clip",
    "clip_s",
    type=Number(min=0),
    metavar="SECONDS",
    help="Length of a clip. Default: a window of the model.",
)
@click.option(
    "--seconds",
    type=Number(min=0),
    metavar="SECONDS",
    help="Stop after this many seconds of samples. Default: at the end of --play, or at Ctrl-C.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def record(
    target: str | None,
    board: str | None,
    baud: int | None,
    play: tuple[Path, ...],
    output: Path,
    label: str | None,
    per_event: bool,
    clip_s: float | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Record the samples of the application on PORT, cut into labelled clips.

    `arenite convert --calibration`, `--check-data` and `arenite bench --data` read the folder: WAV files of sound,
    NumPy files of other samples, PNG files of pictures, in a sub-folder for each label. No file is replaced. Missing
    samples are told and recorded, and no clip contains a gap.
    """
    source = live_source(target, board, baud, play, is_real_time=False)
    recorder = Recorder(output, label, per_event=per_event, clip_s=clip_s, report=note)
    connected = time.monotonic()
    answer_s = _EMULATED_ANSWER_S if play else _ANSWER_S

    def is_stopped() -> bool:
        if recorder.store is None and time.monotonic() - connected > answer_s:
            recorder.check()
        return seconds is not None and recorder.seconds >= seconds

    try:
        with pressed_keys(label is None and not per_event) as keys:
            if label is None and not per_event and not keys.has_terminal:
                raise UsageError(
                    "The clips have no label.", "Give --label NAME or --per-event, or run it in a terminal."
                )
            for message in source.messages(is_stopped):
                if isinstance(message, Disconnected):
                    note(f"{message.problem} Waiting for {message.port} to return.")
                elif isinstance(message, Connected):
                    connected = time.monotonic()
                    if message.is_again:
                        note(f"Connected to {message.port} again.")
                elif isinstance(message, Text):
                    note(message.line)
                elif isinstance(message, Ended):
                    break
                recorder.take(message)
                for key in keys.read():
                    _choose(recorder, key)
    except KeyboardInterrupt:
        note("Stopped.")
    store = recorder.check()
    if as_json:
        print_json(
            {
                "schema": "arenite.record/1",
                "folder": str(output),
                "seconds": round(recorder.seconds, 3),
                "clips": store.counts,
                "gaps": [{"at": g.at, "samples": g.count, "cause": g.cause} for g in store.gaps],
            }
        )
    else:
        clips = ", ".join(f"{count} {name}" for name, count in sorted(store.counts.items())) or "none"
        show(f"{output}: {recorder.seconds:.1f} s received, clips stored: {clips}")
        if store.gaps:
            missing = sum(gap.count for gap in store.gaps)
            show(f"{missing} {store.unit} are missing in {len(store.gaps)} gaps; no clip contains one")
    return 0


def _choose(recorder: Recorder, key: str) -> None:
    """Choose the label that a key stands for."""
    if key == "0":
        recorder.choose(None)
        note("Paused: clips are not stored.")
    elif key.isdigit() and int(key) - 1 in recorder.classes:
        recorder.choose(recorder.classes[int(key) - 1])
        note(f"Label: {recorder.label}")
