"""``arenite camera``: a camera's frames through a model, measured and kept within a budget."""

from __future__ import annotations

import gc
import math
import signal
import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arenite.errors import UsageError
from arenite.host.camera.option_parsing import parse_budget, parse_window
from arenite.host.camera.options import CameraOptions
from arenite.host.governor.interface import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arenite.host.camera.session import CameraSession

# Nothing heavy above: the first answer should be there within a quarter of a second of the command.

PATH = click.Path(path_type=Path)


class Number(click.FloatRange):
    """Neither nan nor inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        made = super().convert(value, param, ctx)
        if not math.isfinite(made):
            self.fail(f"{value} is not a number to work with.", param, ctx)
        return made


ABOVE_0 = Number(0, min_open=True)


@click.command(short_help="Serve a camera to a model within a power, temperature and latency budget.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    help="/dev/videoN, a video, a folder or pattern of pictures, rtsp://…, gst:PIPELINE, csi:N, photos, synthetic; "
    "several make a set of cameras. Default: a camera if there is one, else photographs.",
)
@click.option("--model", default="blazeface", show_default=True, help="A name of the zoo, .tflite, or .onnx.")
@click.option("--frames", type=click.IntRange(1), help="Stop after so many answers.")
@click.option("--duration", "duration_s", type=ABOVE_0, help="Stop after so many seconds.")
@click.option("--budget", help='Limits to keep, such as "power=5W,temperature=70C,latency=50ms".')
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object (arenite.camera/1) on standard output."
)
@click.option("--width", type=click.IntRange(16, 16384), help="Of the frames wanted from the camera.")
@click.option("--height", type=click.IntRange(16, 16384))
@click.option("--fps", type=Number(0, 1000, min_open=True), help="Frames per second wanted.")
@click.option("--pixels", help="Pixel format wanted: yuyv, nv12, rgb, …")
@click.option(
    "--pace",
    type=click.Choice(["auto", "live", "file"]),
    default="auto",
    show_default=True,
    help="live: at the source's rate, late frames are dropped; file: every frame, as fast as they are served.",
)
@click.option("--loop", is_flag=True, help="A recording starts again at its end.")
@click.option(
    "--jitter",
    "jitter_ms",
    type=Number(),
    default=17.0,
    show_default=True,
    help="ms between cameras of a set.",
)
@click.option(
    "--timeout", "timeout_ms", type=Number(), default=33.0, show_default=True, help="ms to wait for a camera."
)
@click.option("--preprocessing", type=PATH, help="TOML or JSON file instead of what the model records.")
@click.option("--postprocessing", type=PATH, help="The same for what is made of the outputs.")
@click.option("--labels", type=PATH, help="One label per line.")
@click.option("--window", help="LEFT,TOP,WIDTH,HEIGHT: show the model this part of the frame.")
@click.option(
    "--runtime",
    default="auto",
    show_default=True,
    help="litert-cpu, litert-gpu, litert-npu, delegate:LIB, onnx-…",
)
@click.option(
    "--runtime-option", "runtime_options", multiple=True, help="NAME=VALUE of the runtime: precision=fp16, …"
)
@click.option("--measure-runtimes", is_flag=True, help="Measure every runtime here and remember the best.")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True)
@click.option(
    "--warm-up", type=click.IntRange(1, 1000), default=1, show_default=True, help="Rounds before ready."
)
@click.option(
    "--overlap/--in-a-row",
    default=None,
    help="Prepare the next frame while one is computed; default: where it pays.",
)
@click.option(
    "--ladder",
    multiple=True,
    help="A cheaper model that the governor may switch to: MODEL, MODEL@WIDTHxHEIGHT, MODEL@RUNTIME, or with both.",
)
@click.option("--cascade", help='"MODEL:LABEL>=SCORE -> MODEL": the first decides whether the second looks.')
@click.option(
    "--rerun-below", "rerun", help="SCORE:MODEL: a more precise model looks again at unsure answers."
)
@click.option("--also", multiple=True, help="Another model that looks at every frame.")
@click.option(
    "--memory-budget",
    "memory_mb",
    type=ABOVE_0,
    help="MB for several models; who does not fit is loaded again.",
)
@click.option(
    "--scenario",
    type=click.Choice(["single-stream", "multi-stream", "offline", "server"]),
    help="Measure as MLPerf Inference defines it; 10 minutes, or --duration, which is then no valid result.",
)
@click.option("--quick", is_flag=True, help="Of --scenario: 10 seconds; not a valid result.")
@click.option(
    "--qps",
    type=Number(0, 1e6, min_open=True),
    help="Of --scenario server: the rate to judge; else it is searched.",
)
@click.option("--soak", type=Number(), help="Run for so many minutes; minute 1 beside the steady state.")
@click.option("--motion", is_flag=True, help="Run the model only when something moved.")
@click.option("--cache", is_flag=True, help="Answer identical inputs from a cache.")
@click.option("--pin", help="Processors to run on, such as 2 or 1-3.")
@click.option("--lock-memory", is_flag=True, help="Keep all pages in RAM.")
@click.option("--realtime", type=click.IntRange(1, 99), help="SCHED_FIFO priority.")
@click.option("--root", type=click.Path(path_type=Path, exists=True), default=Path("/"), hidden=True)
@click.option("--host", help="Host profile for estimates; found out by default.")
@click.option("--power-source", help="Part of a power source's name: ina3221, rapl, battery, estimate.")
@click.option("--set-frequency", is_flag=True, help="Let the governor cap the processor's frequency.")
@click.option(
    "--rest-saves",
    "rest_saves_w",
    type=ABOVE_0,
    help="Watts that the device draws less while the loop rests: the governor may then serve in bursts.",
)
@click.option(
    "--dashboard", is_flag=False, flag_value="127.0.0.1:0", help="Serve the dashboard at HOST:PORT."
)
@click.option(
    "--token",
    envvar="ARENITE_TOKEN",
    help="Of the dashboard; 'auto' makes one. Required beyond this computer. Also read from ARENITE_TOKEN.",
)
@click.option("--output", help="FILE or -: a JSON line per frame.")
@click.option("--callback", help="module:function or FILE.py:function, called with every answer.")
@click.option(
    "--mqtt", envvar="ARENITE_MQTT", help="mqtt://user:password@host:port/topic. Also read from ARENITE_MQTT."
)
@click.option("--timeline", type=PATH, help="A trace of the run for ui.perfetto.dev.")
def camera(
    as_json: bool, budget: str | None, window: str | None, sources: tuple[str, ...], **given: Any
) -> int:
    """Serve frames of a camera to a model, live, and tell what that took.

    Without a camera photographs are panned over, so that one command works everywhere. Ctrl-C ends the run with its
    summary.
    """
    if as_json and given["output"] == "-":
        raise UsageError(
            "--json and --output - both write to standard output.",
            "Give --output a file, or leave out --json.",
        )
    gc.disable()  # until the loop runs: collections while everything is imported find nothing
    limits = parse_budget(budget) if budget else Limits()
    options = CameraOptions(
        sources=sources or ("auto",),
        limits=limits,
        window=parse_window(window) if window else None,
        power=given.pop("power_source"),
        **given,
    )
    from arenite.host.camera.session import CameraSession

    with CameraSession(options, _say) as session, _signals(session):
        if as_json or not sys.stderr.isatty():
            made = session.run()
        else:
            made = _watched(session)
    if as_json:
        from arenite.host.report.console import print_json

        print_json(made)
    else:
        from arenite.host.report.camera_tables import show_summary

        # Lines of frames on standard output are for programs.
        with redirect_stdout(sys.stderr) if options.output == "-" else nullcontext():
            show_summary(made)
    return 1 if any(each["kept"] is False for each in made["budget"]) else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _signals(session: CameraSession) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the loop; a second one ends the program. A scenario that is cut short has no result, so
    that the first one ends it."""
    before: dict[int, Any] = {}

    def stop(number: int, _: object) -> None:
        session.stop()
        for each, handler in before.items():
            signal.signal(each, handler)
        if session.options.scenario is not None:
            raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watched(session: CameraSession) -> dict[str, Any]:
    """With a line on the terminal that tells how it goes."""
    from rich.live import Live

    from arenite.host.report.camera_tables import live_line
    from arenite.host.report.console import stderr

    with Live(console=stderr, refresh_per_second=4, transient=True) as live:

        class Line:
            def update(self, state: Any) -> None:
                live.update(live_line(state))

        session.supervisor.watchers.append(Line())
        return session.run()
