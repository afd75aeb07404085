"""``arenite camera``: run a model on camera frames, measure it, and keep it within a budget."""

from __future__ import annotations

import gc
import math
import signal
import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from arenite.errors import UsageError
from arenite.host.camera.option_parsing import parse_budget, parse_window
from arenite.host.camera.options import (
    CameraOptions,
    EnergyOptions,
    LoopOptions,
    ModelOptions,
    OutputOptions,
    Range,
    SourceOptions,
)
from arenite.host.cli.camera_secrets import resolve_secrets
from arenite.printable import printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arenite.host.camera.session import CameraSession
    from arenite.host.camera.summary import CameraResult

# Slow imports are inside the functions, so that the first answer is ready within a quarter of a second after the start.

_GROUPS: dict[str, Any] = {
    "source": SourceOptions,
    "model": ModelOptions,
    "loop": LoopOptions,
    "energy": EnergyOptions,
    "outputs": OutputOptions,
}
#: Maps a field of ``CameraOptions`` to the function that parses its text on the command line.
_PARSED: dict[str, Callable[[str], Any]] = {"energy.limits": parse_budget, "model.window": parse_window}


class Number(click.FloatRange):
    """A command-line type for finite numbers in a range. It rejects nan and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


@cache
def _field_types(group: str) -> dict[str, Any]:
    return get_type_hints(_GROUPS[group], include_extras=True)


def _option(*names: str, sets: str, help: str = "", **more: Any) -> Callable[[Any], Any]:
    """Return an option of the command that sets the field ``sets`` ("group.field") of ``CameraOptions``.

    The field determines the type, range and default of the option. ``more`` has further arguments of ``click.option``.
    """
    group, name = sets.split(".")
    default = next(each.default for each in fields(_GROUPS[group]) if each.name == name)
    more = {"default": default, **_click_type(_field_types(group)[name]), **more}
    if sets in _PARSED:
        more["default"] = None
    more.setdefault(
        "show_default", default is not None and not more.get("is_flag") and not more.get("multiple")
    )
    return click.option(*names, f"{group}__{name}", help=help, **more)


def _to_int(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


def _click_type(hint: Any) -> dict[str, Any]:
    """Return the arguments of ``click.option`` for a field with the type annotation ``hint``."""
    limits = Range()
    if get_origin(hint) is Annotated:
        hint, limits = get_args(hint)
    if type(None) in get_args(hint):
        kinds = [each for each in get_args(hint) if each is not type(None)]
        if kinds == [bool]:
            return {}  # the option has two names, one for true and one for false
        hint = kinds[0]
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint))}
    if get_origin(hint) is tuple:
        return {"multiple": True}
    if hint is bool:
        return {"is_flag": True}
    if hint is int:
        return {"type": click.IntRange(_to_int(limits.min), _to_int(limits.max))}
    if hint is float:
        return {"type": Number(limits.min, limits.max, min_open=limits.above)}
    return {"type": click.Path(path_type=Path) if hint is Path else str}


@click.command(
    short_help="Run a model on the frames of a camera within a power, temperature and latency budget."
)
@_option(
    "--source",
    sets="source.sources",
    metavar="SOURCE",
    help=(
        "Where frames come from: /dev/videoN, a video file, a folder of pictures or a pattern such as "
        "dir/*.jpg, rtsp://…, gst:PIPELINE (GStreamer), csi:N (camera N of a Jetson), photos (photographs "
        "that Arenite provides), or synthetic (a moving square). Repeat the option for several cameras; one "
        "frame of each camera is then a set. Default: the sources in the environment variable "
        "ARENITE_SOURCE, one per line; without it, a camera if there is one, else photos."
    ),
)
@click.option(
    "--source-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "Read the sources from this file, one per line. Use it for passwords, because other users can read "
        "the command line. Cannot be combined with --source."
    ),
)
@_option(
    "--model",
    sets="model.name",
    metavar="MODEL",
    help="Name of a model of `arenite zoo list`, or a .tflite or .onnx file.",
)
@_option("--frames", sets="loop.frames", help="Stop after this number of answers. Default: no limit.")
@_option(
    "--duration",
    sets="loop.duration_s",
    metavar="SECONDS",
    help="Stop after this number of seconds. Default: no limit. If --frames is also given, "
    "the run stops at the limit that it reaches first.",
)
@_option(
    "--budget",
    sets="energy.limits",
    metavar="LIMITS",
    help=(
        'Limits, such as "power=5W,temperature=70C,latency=50ms". A control loop, the governor, keeps them by '
        "lowering the frame rate and other settings. Default: no limits."
    ),
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object to standard output when the run ends."
)
@_option(
    "--width",
    sets="source.width",
    help="Request frames of this width, in pixels. Default: the source chooses.",
)
@_option(
    "--height",
    sets="source.height",
    help="Request frames of this height, in pixels. Default: the source chooses.",
)
@_option(
    "--fps",
    sets="source.fps",
    help="Request this frame rate, in frames per second. Default: the source chooses.",
)
@_option(
    "--pixels",
    sets="source.pixels",
    metavar="FORMAT",
    help="Request this pixel format, such as yuyv, nv12 or rgb. Default: the source chooses.",
)
@_option(
    "--pace",
    sets="source.pace",
    help=(
        "live: process frames at the source's rate and drop late frames. file: process every frame, as fast "
        "as possible. auto: live for cameras and streams, file for files."
    ),
)
@_option(
    "--loop", sets="source.loop", help="When a video or picture folder ends, play it again. Default: stop."
)
@_option(
    "--jitter",
    sets="source.jitter_ms",
    metavar="MS",
    help="With several cameras: longest time between the first and the last capture of a set, in milliseconds.",
)
@_option(
    "--timeout",
    sets="source.timeout_ms",
    metavar="MS",
    help=(
        "With several cameras: longest time to wait for a late camera, in milliseconds. After that time, the "
        "previous frame of this camera is used again, if there is one."
    ),
)
@_option(
    "--preprocessing",
    sets="model.preprocessing",
    metavar="FILE",
    help="TOML or JSON file with preprocessing steps. Default: the steps that the model file records.",
)
@_option(
    "--postprocessing",
    sets="model.postprocessing",
    metavar="FILE",
    help="TOML or JSON file with postprocessing steps. Default: the steps that the model file records.",
)
@_option(
    "--labels",
    sets="model.labels",
    metavar="FILE",
    help="Text file with one class label per line. Default: the labels that the model file records.",
)
@_option(
    "--window",
    sets="model.window",
    metavar="RECTANGLE",
    help=(
        "LEFT,TOP,WIDTH,HEIGHT in pixels: run the model on only this part of the frame. Default: the whole "
        "frame."
    ),
)
@_option(
    "--runtime",
    sets="model.runtime",
    metavar="NAME",
    help=(
        "Runtime of the model, for example litert-cpu, litert-gpu, litert-npu, litert-interpreter, "
        "delegate:LIBRARY, onnx-cpu or onnx-cuda. auto: the runtime that --measure-runtimes chose earlier "
        "for this model on this device, else the CPU."
    ),
)
@_option(
    "--runtime-option",
    sets="model.runtime_options",
    metavar="NAME=VALUE",
    help="Set an option of the runtime, such as precision=fp16. May be given several times.",
)
@_option(
    "--measure-runtimes",
    sets="model.measure_runtimes",
    help=(
        "Measure the model with every runtime of this computer, use the runtime with the lowest latency, and "
        "remember it for later runs. Only with --runtime auto or delegate:LIBRARY."
    ),
)
@_option("--threads", sets="model.threads", help="Number of threads for the model on the CPU.")
@_option("--warm-up", sets="model.warm_up", help="Number of inferences to run before the first frame.")
@_option(
    "--overlap/--in-a-row",
    sets="loop.overlap",
    help=(
        "Prepare the next frame while the model runs (--overlap), or after the model has finished "
        "(--in-a-row). Default: --overlap if an inference takes so long that this saves time."
    ),
)
@_option(
    "--ladder",
    sets="model.variants",
    metavar="VARIANT",
    help=(
        "Another variant of the model, which needs less time: MODEL[@WIDTHxHEIGHT][@RUNTIME]. The governor, "
        "which keeps the limits of --budget, may switch to it. May be given several times."
    ),
)
@_option(
    "--cascade",
    sets="model.cascade",
    metavar="RULE",
    help=(
        '"MODEL:LABEL>=SCORE -> MODEL": run the second model only when the first model finds LABEL with at '
        "least this score."
    ),
)
@_option(
    "--rerun-below",
    sets="model.rerun_below",
    metavar="SCORE:MODEL",
    help="Also run this more precise model when the score of the answer is below SCORE.",
)
@_option(
    "--also",
    sets="model.also",
    metavar="MODEL",
    help="Another model that runs on every frame. May be given several times.",
)
@_option(
    "--memory-budget",
    sets="model.memory_mb",
    metavar="MB",
    help=(
        "Maximum memory of all models together, in MB. If they need more, models are unloaded, and loaded "
        "again when they are needed. Default: no limit."
    ),
)
@_option(
    "--scenario",
    sets="loop.scenario",
    help=(
        "Measure this scenario of MLPerf Inference. This takes 10 minutes, as a valid result requires, unless "
        "--duration or --quick gives another time."
    ),
)
@_option(
    "--quick",
    sets="loop.quick",
    help="With --scenario: measure for 10 seconds. This is too short for a valid result of MLPerf.",
)
@_option(
    "--qps",
    sets="loop.qps",
    help="With --scenario server: test this rate in queries per second. Default: search for the highest rate.",
)
@_option(
    "--soak",
    sets="loop.soak_minutes",
    metavar="MINUTES",
    help=(
        "Run for this number of minutes (2 or more), and compare the frame rate, times, power and temperature of the "
        "first minute with those of the steady state."
    ),
)
@_option(
    "--motion",
    sets="loop.motion",
    help="Run the model only on frames in which something has moved. For other frames, repeat the last answer.",
)
@_option(
    "--cache",
    sets="loop.cache",
    help="If the input of the model equals an earlier input, return the stored answer.",
)
@_option(
    "--pin",
    sets="loop.pin",
    metavar="CORES",
    help="Run only on these CPU cores, such as 2 or 1-3. Default: all.",
)
@_option("--lock-memory", sets="loop.lock_memory", help="Keep all memory of the process in RAM.")
@_option(
    "--realtime",
    sets="loop.realtime",
    help="Run with this priority of Linux's real-time scheduler SCHED_FIFO.",
)
@_option("--root", sets="energy.root", type=click.Path(path_type=Path, exists=True), hidden=True)
@_option(
    "--host",
    sets="energy.host",
    metavar="PROFILE",
    help=(
        "Profile of this computer in profiles/hosts, which is used to estimate the power. Default: the "
        "profile that matches this computer."
    ),
)
@_option(
    "--power-source",
    sets="energy.power_source",
    metavar="NAME",
    help=(
        "Sensor to read the power from, or a part of its name, such as ina3221, rapl or battery. Default: the "
        "best sensor of this computer."
    ),
)
@_option(
    "--set-frequency",
    sets="energy.set_frequency",
    help="Allow the governor to lower the processor's maximum frequency.",
)
@_option(
    "--rest-saves",
    sets="energy.rest_saves_w",
    metavar="WATTS",
    help=(
        "Power in watts that the device saves while it waits between two bursts of frames. With this option, "
        "the governor may process the frames in bursts."
    ),
)
@_option(
    "--dashboard",
    sets="outputs.dashboard",
    is_flag=False,
    flag_value="127.0.0.1:0",
    metavar="[HOST:PORT]",
    help=(
        "Serve a web page with the current frame, the results and the power at HOST:PORT. Without HOST:PORT, the "
        "page is on a free port and only this computer can open it."
    ),
)
@_option(
    "--token",
    sets="outputs.token",
    envvar="ARENITE_TOKEN",
    metavar="auto",
    help=(
        "auto: generate an access token for the dashboard. A token is required when other computers can reach the "
        "dashboard. Other users can read the command line, so set your own token in the environment variable "
        "ARENITE_TOKEN or with --token-file."
    ),
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "Read the access token of the dashboard from the first line of this file. Cannot be combined with "
        "--token."
    ),
)
@_option(
    "--output",
    sets="outputs.output",
    metavar="FILE",
    help="Write one line of JSON per answer to this file; - is standard output.",
)
@_option(
    "--tls-cert",
    sets="outputs.tls_cert",
    metavar="FILE",
    help="Serve the dashboard over TLS (https) with the certificate in this PEM file. Default: no TLS.",
)
@_option(
    "--tls-key",
    sets="outputs.tls_key",
    metavar="FILE",
    help="PEM file with the private key of --tls-cert. Default: the key is in the file of --tls-cert.",
)
@_option(
    "--callback",
    sets="outputs.callback",
    metavar="FUNCTION",
    help="module:function or FILE.py:function: call this Python function with every answer.",
)
@_option(
    "--mqtt",
    sets="outputs.mqtt",
    envvar="ARENITE_MQTT",
    metavar="URL",
    help=(
        "mqtt://user:password@host:port/topic: publish every answer to this MQTT broker. Default: the "
        "environment variable ARENITE_MQTT. Use the variable for a password, because other users can read the "
        "command line."
    ),
)
@_option(
    "--timeline",
    sets="outputs.timeline",
    metavar="FILE",
    help="Write a trace of the run to this file, which ui.perfetto.dev can open.",
)
def camera(as_json: bool, token_file: Path | None, source_file: Path | None, **values: Any) -> int:
    """Run a model on live frames of a camera, and report time, power and temperature.

    Without a camera, photographs that Arenite provides are used as frames. An answer is the result of the model for a
    frame, or for a set of frames from several cameras. Ctrl-C ends the run and prints its summary.
    """
    if as_json and values["outputs__output"] == "-":
        raise UsageError(
            "--json and --output - both write to standard output.",
            "Give --output a file, or leave out --json.",
        )
    resolve_secrets(values, token_file, source_file, _report)
    # Garbage collection is off until the loop runs, because collections during the imports would free nothing.
    gc.disable()
    options = _options(values)
    from arenite.host.camera.session import CameraSession

    with CameraSession(options, _report) as session, _signals(session):
        result = session.run() if as_json or not sys.stderr.isatty() else _run_with_live_line(session)
    if as_json:
        from arenite.host.report.console import print_json

        print_json(result.to_json())
    else:
        from arenite.host.report.camera_tables import show_summary

        # If standard output has a line per frame for another program, the tables go to standard error.
        with redirect_stdout(sys.stderr) if options.outputs.output == "-" else nullcontext():
            show_summary(result.to_json())
    return 0 if result.within_budget else 1


def _options(values: dict[str, Any]) -> CameraOptions:
    """Return the values of the command line as ``CameraOptions``. Raises ``UsageError``."""
    groups: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
    for path, value in values.items():
        group, name = path.split("__")
        parse = _PARSED.get(f"{group}.{name}")
        if parse is None:
            groups[group][name] = value
        elif value:
            groups[group][name] = parse(value)
    return CameraOptions(**{group: kind(**groups[group]) for group, kind in _GROUPS.items()})


def _report(text: str) -> None:
    print(printable_lines(text), file=sys.stderr, flush=True)


@contextmanager
def _signals(session: CameraSession) -> Iterator[None]:
    """Make the first Ctrl-C or SIGTERM end the loop, and the second end the program.

    An interrupted MLPerf scenario has no result, so if a scenario runs, the first signal ends the program.
    """
    before: dict[int, Any] = {}

    def stop(number: int, _: object) -> None:
        session.stop()
        for each, handler in before.items():
            signal.signal(each, handler)
        if session.options.loop.scenario is not None:
            raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_with_live_line(session: CameraSession) -> CameraResult:
    """Run the session, show its state in one line of the terminal, and return the result."""
    from rich.live import Live

    from arenite.host.report.camera_tables import live_line
    from arenite.host.report.console import stderr

    with Live(console=stderr, refresh_per_second=4, transient=True) as live:

        class Line:
            def update(self, state: Any) -> None:
                live.update(live_line(state))

        session.supervisor.watchers.append(Line())
        return session.run()
