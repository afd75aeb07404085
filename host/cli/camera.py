"""``arenite camera``: run a model on camera frames, measure it, and keep it within a budget."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arenite.errors import UsageError
from arenite.host.cli.camera_fields import camera_options_of
from arenite.host.cli.camera_options import camera_options
from arenite.host.cli.camera_secrets import resolve_secrets
from arenite.printable import printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arenite.host.camera.session import CameraSession
    from arenite.host.camera.summary import CameraResult

# Slow imports are inside the functions, so that the first answer is ready within a quarter of a second after the start.


@click.command(
    short_help="Run a model on the frames of a camera within a power, temperature and latency budget."
)
@camera_options
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
    options = camera_options_of(values)
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


def _report(text: str) -> None:
    print(printable_lines(text), file=sys.stderr, flush=True)


@contextmanager
def _signals(session: CameraSession) -> Iterator[None]:
    """Make the first Ctrl-C or SIGTERM end the loop, and the second end the program.

    An interrupted MLPerf scenario has no result, so if a scenario runs, the first signal ends the program.
    """
    previous_handlers: dict[int, Any] = {}

    def stop(number: int, _: object) -> None:
        session.stop()
        for each, handler in previous_handlers.items():
            signal.signal(each, handler)
        if session.options.loop.scenario is not None:
            raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        previous_handlers[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for number, handler in previous_handlers.items():
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
