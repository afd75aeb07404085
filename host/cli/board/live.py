"""``arenite live``: show what a device senses and finds, in the terminal or on a web page."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Group
from rich.live import Live

from arenite.errors import UsageError
from arenite.host.cli.board.live_source import live_source, source_options
from arenite.host.cli.option_types import Number
from arenite.host.live.connection import Connected, Disconnected, Ended, Notice, Pause
from arenite.host.live.live_view import LiveView
from arenite.host.live.messages import Lost, Message, Row, Samples, Text
from arenite.host.live.terminal_view import render
from arenite.host.report.console import note, show, stdout


@click.command()
@source_options
@click.option(
    "--web",
    "address",
    is_flag=False,
    flag_value="127.0.0.1:0",
    metavar="[HOST:PORT]",
    help="Serve a web page with the view. Default address: a free port of this computer.",
)
@click.option(
    "--token",
    metavar="TEXT",
    help="Token of the page, which other computers need. 'auto' generates one.",
)
@click.option(
    "--seconds",
    type=Number(min=0),
    metavar="SECONDS",
    help="Stop after this many seconds. Default: at the end of --play, or at Ctrl-C.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line to standard output.")
def live(
    target: str | None,
    board: str | None,
    baud: int | None,
    play: tuple[Path, ...],
    address: str | None,
    token: str | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Show the waveform, spectrogram, traces or picture, scores, events, latency and health of the application on PORT.

    With --board, the application in the folder APP runs on an emulated board whose sensor plays the file of --play. If
    the port disappears, the command waits until it returns. With --web, the page stays until Ctrl-C.
    """
    source = live_source(target, board, baud, play, is_real_time=True)
    view = LiveView(source.name)
    began = time.monotonic()

    def is_stopped() -> bool:
        return seconds is not None and time.monotonic() - began >= seconds

    with (
        contextlib.suppress(KeyboardInterrupt),
        _web_page(view, address, token),
        _printer(view, as_json) as report,
    ):
        for message in source.messages(is_stopped):
            view.take(message)
            report(message)
        while address is not None and not is_stopped():
            time.sleep(0.2)
    return 0


@contextlib.contextmanager
def _web_page(view: LiveView, address: str | None, token: str | None) -> Iterator[None]:
    """Serve the page until the block ends."""
    if address is None:
        yield
        return
    try:
        from arenite.host.live.web.live_server import LiveServer
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise UsageError(
            "The web page needs h11.", "Install it: pip install 'arenite[dashboard]'."
        ) from error
    server = LiveServer(view, address, token)
    server.start()
    note(f"Live view: {server.url}")
    try:
        yield
    finally:
        server.end()


@contextlib.contextmanager
def _printer(view: LiveView, as_json: bool) -> Iterator[Callable[[Message | Notice], None]]:
    """Yield a function that prints a message: as JSON, as a screen of a terminal that is drawn five times per second,
    or as lines if standard output is not a terminal."""
    if as_json:
        yield _print_json
    elif not sys.stdout.isatty():
        yield lambda message: _print_line(view, message)
    else:
        with Live(console=stdout, auto_refresh=False, screen=False) as screen:
            ended = threading.Event()

            def draw() -> None:
                while not ended.wait(0.2):
                    screen.update(_screen(view), refresh=True)

            thread = threading.Thread(target=draw, daemon=True)
            thread.start()
            try:
                yield lambda _: None
            finally:
                ended.set()
                thread.join()
                screen.update(_screen(view), refresh=True)


def _screen(view: LiveView) -> Group:
    return render(view.snapshot(), stdout.width, view.picture, stdout.color_system is not None)


def _print_json(message: Message | Notice) -> None:
    """Print a message as a line of JSON. Samples and pictures are left out: `arenite record` stores them."""
    if isinstance(message, Pause | Samples | Row):
        return
    entry: dict[str, Any] = {"schema": "arenite.live/1", "kind": type(message).__name__}
    sys.stdout.write(json.dumps(entry | dataclasses.asdict(message)) + "\n")
    sys.stdout.flush()


def _print_line(view: LiveView, message: Message | Notice) -> None:
    if isinstance(message, Connected | Disconnected | Lost | Text):
        show(view.snapshot()["notes"][-1])
    elif isinstance(message, Ended):
        show("The recording ended.")
    elif type(message).__name__ == "EventMessage":
        snapshot = view.snapshot()
        event = snapshot["events"][-1]
        score = f" {event['percent']}%" if event["kind"] == "start" else " ended"
        show(f"[{event['seconds']:.3f} s] {event['class']}{score} ({snapshot['unit']} {event['sample']})")
