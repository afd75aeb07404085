"""``arenite fleet web``: the page and the metrics of a fleet."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click
from click.core import ParameterSource

from arenite.errors import UsageError
from arenite.host.cli.camera_secrets import read_token
from arenite.host.cli.ending_signals import ending_signals
from arenite.host.cli.fleet_options import database_option
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.web.server import FleetPage
from arenite.host.http_server.addresses import parse_address
from arenite.host.report.console import note, show

_FILE = click.Path(path_type=Path)


@click.command()
@database_option
@click.option(
    "--listen",
    default="127.0.0.1:8090",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of the page. With port 0, the system chooses a free port.",
)
@click.option(
    "--token",
    envvar="ARENITE_TOKEN",
    metavar="auto",
    help="auto: generate an access token. A token is required when other computers can reach the page. Set your own"
    " token in the environment variable ARENITE_TOKEN or with --token-file.",
)
@click.option(
    "--token-file", type=_FILE, metavar="FILE", help="Read the token from the first line of this file."
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Further name of this computer under which browsers and Prometheus open the page. Repeat it for more names.",
)
@click.option(
    "--tls-cert",
    type=_FILE,
    metavar="FILE",
    help="Serve the page over TLS (https) with the certificate in this PEM file. Default: no TLS.",
)
@click.option(
    "--tls-key",
    type=_FILE,
    metavar="FILE",
    help="PEM file with the private key of --tls-cert. Default: the key is in the file of --tls-cert.",
)
def web(
    url: str,
    listen: str,
    token: str | None,
    token_file: Path | None,
    names: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
) -> int:
    """Serve a page that shows the fleet, and its metrics for Prometheus at /metrics, until SIGINT or SIGTERM.

    It only reads the database. Needs the extra `fleet`: pip install 'arenite[fleet]'.
    """
    if click.get_current_context().get_parameter_source("token") is ParameterSource.COMMANDLINE:
        if token_file is not None:
            raise UsageError("--token and --token-file exclude each other.", "Give one of them.")
        if token != "auto":
            raise UsageError(
                "Other users of this computer can read the token of --token in the list of processes.",
                "Set ARENITE_TOKEN, or use --token-file; --token takes only the word auto.",
            )
    if token_file is not None:
        token = read_token(token_file)
    host, port = parse_address(listen)
    database = open_database(url, must_exist=True)
    page = FleetPage(
        database,
        SystemClock(),
        note,
        host,
        port,
        token,
        names=names,
        tls_certificate=tls_cert,
        tls_key=tls_key,
    )
    with contextlib.closing(page), ending_signals() as stop:
        page.start()
        # A token that a person chose is never printed.
        show(f"The fleet is at {page.url if token == 'auto' else page.public_url}")
        while not stop.wait(1.0):  # a wait without a limit would block signals on Windows
            pass
    return 0
