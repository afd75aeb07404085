"""Serve the page of a package until Ctrl-C, for ``arenite web --serve`` and ``arenite demo --web``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from arenite.host.cli.ending_signals import ending_signals
from arenite.host.report.console import note, show
from arenite.host.web.package import WebPackage
from arenite.host.web.serving.serve_page import ServingOptions, instructions, open_page


@contextlib.contextmanager
def served_page(
    package: WebPackage, options: ServingOptions, print_line: Callable[[str], None] = show
) -> Iterator[str]:
    """Serve the page of ``package``, and yield its address with the token. Then tell the user with ``print_line`` how
    to open it, and wait for Ctrl-C or SIGTERM.

    Raises ``UsageError`` as ``open_page`` does.
    """
    server = open_page(package, options, note)
    with contextlib.closing(server):
        lines = instructions(server, options.collect)
        yield server.url
        with ending_signals() as ended:
            for line in lines:
                print_line(line)
            while not ended.wait(1.0):  # a wait without a limit would block signals on Windows
                pass
