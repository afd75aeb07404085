"""``arenite fleet broker``: the certificates of a fleet, and the configuration of its broker."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import quote

import click

from arenite.errors import UsageError
from arenite.host.fleet.security.package import require_cryptography
from arenite.host.http_server.access import is_address, own_names
from arenite.host.report.console import show

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--fleet", required=True, metavar="NAME", help="Name of the fleet.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name or address under which devices and server reach the broker. Repeat the option for further names."
    " Default: the names of this computer, and 127.0.0.1.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8883, show_default=True, help="Port of the broker."
)
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME",
    help="Make a certificate for `arenite fleet serve --worker NAME` too. Repeat the option for further workers.",
)
def broker(folder: Path, fleet: str, hosts: tuple[str, ...], port: int, workers: tuple[str, ...]) -> int:
    """Write into FOLDER what a broker with TLS needs: certificates, and a configuration for mosquitto.

    Run it again to renew the certificates of broker and server. The authority, and so the certificates of devices,
    stay. Needs the extra `fleet`: pip install 'arenite[fleet]'.
    """
    require_cryptography()
    from arenite.host.fleet.security.broker_files import write_broker_files

    for host in hosts:
        if not is_address(host) and _HOST.fullmatch(host) is None:
            raise UsageError(
                f"'{host}' is not a name or an address of a computer.", "Give such as 192.0.2.7."
            )
    names = list(hosts) or [*sorted(own_names()), "127.0.0.1"]
    files = write_broker_files(folder, fleet, names, port, workers)
    host = next((name for name in names if name == "localhost"), names[0])
    url = f"mqtts://{f'[{host}]' if ':' in host else host}:{port}?" + "&".join(
        f"{option}={quote(str(folder / name))}"
        for option, name in (("ca", "authority.pem"), ("cert", "server.pem"), ("key", "server.key"))
    )
    show(
        f"The broker of the fleet '{fleet}' is certified for {', '.join(names)} until {files.valid_until:%Y-%m-%d}."
    )
    show(f"Start the broker: mosquitto -c {shlex.quote(str(files.config))}")
    show(f"Its address for `arenite fleet serve --broker`: {shlex.quote(url)}")
    return 0
