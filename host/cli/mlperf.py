"""``arenite mlperf``: run an MLPerf Tiny benchmark on a board by its rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from arenite.array_files import read_arrays
from arenite.converters.graph.index_limits import index_limits
from arenite.errors import UsageError
from arenite.firmware.generator.features import DEFAULT_PIN
from arenite.host.bench.samples import load_samples, random_samples
from arenite.host.build.prepare import prepare
from arenite.host.cli.energy.energy_tables import microjoules, watts
from arenite.host.cli.energy.meter_options import POSITIVE, make_meter, meter_options
from arenite.host.cli.options import no_passes_option, optimise_option
from arenite.host.cli.progress import Steps
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.runner import run_mlperf
from arenite.host.mlperf.tasks import MODES, TASKS, WINDOW_S, task_named
from arenite.host.report.console import note, print_json, show, table
from arenite.host.report.current_svg import current_svg
from arenite.profiles.boards import load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "--board",
    required=True,
    metavar="NAME",
    help="Name of a board; `arenite boards` lists the names. Boards called qemu_* are emulated.",
)
@click.option(
    "--task",
    required=True,
    type=click.Choice(list(TASKS)),
    help=(
        "Benchmark to run: kws01 (keyword spotting), vww01 (visual wake words), ic01 (image classification), "
        "ad01 (anomaly detection) or sww01 (streaming wake word)."
    ),
)
@click.option(
    "--mode",
    required=True,
    type=click.Choice(MODES),
    help=(
        "Mode of the benchmark: accuracy (of the data set), performance (time of an inference) or energy (of "
        "an inference)."
    ),
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    help=(
        "Samples: an .npz file with the arrays x (inputs) and y (labels). For task ad01, it also needs an "
        "array named `recording` with the name or number of the recording that each sample is from. Required "
        "for --mode accuracy. Default: 5 random inputs."
    ),
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help="With --data: number of samples to run. A valid result needs all samples. Default: all samples.",
)
@click.option(
    "--port",
    metavar="PORT",
    help=(
        "Serial port of a real board: a path such as /dev/ttyACM0, auto to find it by its USB id, or "
        "usb:SERIAL for the USB device with this serial number. Required for a real board."
    ),
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Continue an interrupted run of the same model, data and board, or start again.",
)
@click.option(
    "-o",
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="Folder for the results, in the folder layout that MLPerf Tiny submissions require.",
)
@meter_options
@click.option(
    "--mark",
    is_flag=False,
    flag_value=DEFAULT_PIN,
    metavar="[PIN]",
    help=(
        "Only with --mode energy: the pin with which the firmware marks the measured time. It goes low briefly "
        "each time that the firmware would otherwise send a timestamp over the serial port. Connect it to a digital "
        "input of the meter. Default: the times come from messages on the serial port, which is less exact. On a real "
        "board, give the pin's number or its name in C: PA5 with an Arduino core, GPIO_NUM_5 with ESP-IDF."
    ),
)
@click.option(
    "--window",
    type=POSITIVE,
    default=WINDOW_S,
    hidden=True,
    help="Length of a measurement window in seconds. A shorter one is not valid.",
)
@optimise_option
@no_passes_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def mlperf(
    image: Path,
    board: str,
    task: str,
    mode: str,
    data: Path | None,
    samples: int | None,
    port: str | None,
    resume: bool,
    results: Path,
    meter: str | None,
    meter_port: str,
    supply: float | None,
    own_supply: bool,
    rate: float | None,
    mark_input: int | None,
    mark: str | None,
    window: float,
    optimise: str | None,
    no_passes: bool,
    as_json: bool,
) -> int:
    """Run IMAGE as an MLPerf Tiny benchmark on a board.

    IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote.

    The exit code is 1 if an output differs from that of LiteRT's reference kernels, the board returns no output for a
    sample, or the accuracy is below the minimum of the MLPerf Tiny rules.
    """
    if mode == "accuracy" and data is None:
        raise UsageError(
            "The accuracy mode needs the benchmark's data set.",
            "Give --data FILE.npz with the arrays x (the model's inputs) and y (the labels).",
        )
    prepared = prepare(image, passes=not no_passes)
    profile = load_board(board)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    loaded = (
        random_samples(tensors, 5, index_limits(prepared.model.main))
        if data is None
        else load_samples(data, tensors, samples)
    )
    recordings = _recordings(data, len(loaded)) if data is not None and task == "ad01" else None
    config = MlperfConfig(task_named(task), mode, loaded, recordings, optimise, port, resume, results)
    if mode == "energy":
        instrument = None
        if meter is not None:
            instrument, _ = make_meter(meter, meter_port, profile, supply, own_supply, rate)
        config = replace(config, meter=instrument, mark=mark, mark_input=mark_input, window_s=window)
    elif meter is not None or mark is not None:
        raise UsageError(
            f"The {mode} mode does not use --meter or --mark.", "Remove them, or use --mode energy."
        )
    with Steps(profile.name) as steps:
        result = run_mlperf(
            prepared, profile, config, steps, draw=lambda recording: current_svg(recording, "window")
        )
    if as_json:
        print_json(result)
    else:
        _show(result)
    is_exact = result["bit_exact"] == result["samples"] and not result.get("missing")
    return 0 if is_exact and result.get("passed") is not False else 1


def _recordings(data: Path, count: int) -> np.ndarray | None:
    """Return the first ``count`` values of the array ``recording`` in the .npz file ``data``, or None if it has no such
    array. They name the recording to which each sample (a window of a recording) belongs."""
    try:
        recordings = read_arrays(data).get("recording")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"Cannot read {data}: {error}.", "Write plain arrays of numbers or names."
        ) from error
    if recordings is None:
        return None
    if recordings.ndim != 1 or len(recordings) < count:
        raise UsageError(
            f"{data}: 'recording' has shape {recordings.shape}, but x has {count} windows.",
            "Write one entry for each window in x.",
        )
    return recordings[:count]


def _show(result: dict[str, Any]) -> None:
    facts: list[tuple[str, str]] = []
    if result["mode"] == "accuracy":
        value, floor = result["accuracy"], result["floor"]
        facts.append((result["metric"], "-" if value is None else f"{value:.3f}"))
        if floor is not None:
            facts.append(
                ("minimum of the rules", f"{floor:.2f}: {'passed' if result['passed'] else 'not passed'}")
            )
        facts.append(("missing", f"{result['missing']} of {result['samples']}"))
        facts.append(("sent again", f"{result['repeated']} times; from an earlier run: {result['resumed']}"))
        facts.append(("bit-exact with LiteRT", f"{result['bit_exact']} of {result['samples']}"))
    elif result["mode"] == "energy":
        facts += _energy(result)
    else:
        counted, latency = (result["inference"][k] for k in ("instructions", "latency_us"))
        if counted is not None:
            spread = f"{counted['median']:,} ({counted['min']:,} to {counted['max']:,} over all windows)"
            facts.append(("instructions per inference", spread))
        if latency is not None:
            spread = f"{latency['median']:,} ({latency['min']:,} to {latency['max']:,} over all windows)"
            facts.append(("µs per inference", spread))
            facts.append(("inferences per second", f"{result['inference']['throughput']['median']:.3f}"))
        first_window = result["windows"][0]
        facts.append(
            ("windows", f"{len(result['windows'])} of {first_window['inferences']} inferences or more")
        )
        facts.append(("bit-exact with LiteRT", f"{result['bit_exact']} of {result['samples']} windows"))
    facts.append(("results", result["folder"]))
    title = f"MLPerf Tiny {result['task']}, {result['mode']}, on {result['board']['name']}"
    show(table(title, ("", "measured"), facts))
    for text in result["notes"]:
        note(text)


def _energy(result: dict[str, Any]) -> list[tuple[str, str]]:
    figure, windows = result["energy_uj_per_inference"], result["windows"]
    spread = f"25th to 75th percentile {microjoules(figure['p25'])} to {microjoules(figure['p75'])}"
    methods = ", ".join(dict.fromkeys(window["bounds"] for window in windows))
    powers = [window["average_power_w"] for window in windows]
    return [
        ("energy per inference", f"{microjoules(figure['median'])} ({spread})"),
        ("average power", f"{watts(min(powers))} to {watts(max(powers))}"),
        ("supply", f"{result['supply_v']:.3f} V"),
        (
            "windows",
            f"{len(windows)} of {min(w['seconds'] for w in windows):.2f} s and {windows[0]['inferences']} inferences"
            f" or more, by {methods}",
        ),
        ("samples lost", f"{result['lost_samples']:,}"),
        ("bit-exact with LiteRT", f"{result['bit_exact']} of {result['samples']} windows"),
    ]
