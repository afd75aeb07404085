"""``arenite fleet broker``, ``enrol``, ``join`` and ``revoke``: the certificates of a fleet."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from arenite.counts import count_of
from arenite.errors import UsageError
from arenite.host.cli.fleet_options import (
    certificates_option,
    database_option,
    existing_database,
    time_text,
    user_name,
)
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.database import Transaction
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import fleet_name
from arenite.host.fleet.security.package import require_cryptography
from arenite.host.http_server.access import is_address, own_names
from arenite.host.http_server.addresses import parse_address
from arenite.host.report.console import note, show

if TYPE_CHECKING:
    from arenite.host.fleet.security.authority import FleetAuthority

_DURATION = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_VALID_S = 30 * 86_400
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
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="NAME",
    help="Make a certificate for somebody who updates devices through the broker (docs/gateway.md). Repeat the option"
    " for further people.",
)
def broker(
    folder: Path,
    fleet: str,
    hosts: tuple[str, ...],
    port: int,
    workers: tuple[str, ...],
    operators: tuple[str, ...],
) -> int:
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
    files = write_broker_files(folder, fleet, names, port, workers, operators)
    host = next((name for name in names if name == "localhost"), names[0])
    url = _broker_url(host, port, folder, "server")
    show(
        f"The broker of the fleet '{fleet}' is certified for {', '.join(names)} until {files.valid_until:%Y-%m-%d}."
    )
    show(f"Start the broker: mosquitto -c {shlex.quote(str(files.config))}")
    show(f"Its address for `arenite fleet serve --broker`: {shlex.quote(url)}")
    for operator in operators:
        url = _broker_url(host, port, folder, f"operator-{operator}", f"/{fleet}/DEVICE")
        show(f"Address of a device for the operator {operator} in `arenite update push`: {shlex.quote(url)}")
    return 0


@click.command()
@click.argument("device")
@click.option("--group", metavar="NAME", help="Group of the device. Default: its group, or `default`.")
@click.option(
    "--valid",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="How long the code is valid, such as 30m or 2d.",
)
@certificates_option
@database_option
def enrol(device: str, group: str | None, valid: str, certificates: Path | None, url: str) -> int:
    """Print a code with which DEVICE can join the fleet once (`arenite fleet join`).

    The database keeps only a hash of the code. Earlier codes of the device become invalid.
    """
    valid_s = _seconds(valid)
    authority = _authority(certificates)
    from arenite.host.fleet.security.enrolment_code import new_code
    from arenite.host.fleet.security.enrolments import add_code

    code = new_code(authority.fingerprint)
    now_ms = SystemClock().now_ms()
    with existing_database(url).transaction() as transaction:
        _check_fleet(transaction, authority)
        chosen = add_code(transaction, now_ms, user_name(), device, group, code.secret, valid_s)
    note(
        f"The code lets {device} join the group {chosen} once, until {time_text(now_ms + 1000 * valid_s)} UTC."
    )
    note(f"On the device: arenite fleet join https://HOST:8884 {code} -o {device}")
    show(str(code))
    return 0


@click.command()
@click.argument("url")
@click.argument("code")
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder for the key and the certificates. A key that is there already is used again.",
)
def join(url: str, code: str, folder: Path) -> int:
    """Get a certificate for this device from the server at URL, with the CODE of `arenite fleet enrol`.

    The private key is made here, and stays here. With the CODE -, the code is read from standard input. Needs the extra
    `fleet`: pip install 'arenite[fleet]'.
    """
    require_cryptography()
    from arenite.host.fleet.security.enrolment_code import parse_code
    from arenite.host.fleet.security.join import join_fleet

    text = sys.stdin.readline() if code == "-" else code
    joined = join_fleet(url, parse_code(text), folder)
    show(f"This device is {joined.device} of the fleet '{joined.fleet}'.")
    address = _broker_url(joined.host, joined.broker_port, folder, "device")
    show(f"Its address of the broker, if that is on the same computer: {shlex.quote(address)}")
    return 0


@click.command()
@click.argument("device")
@certificates_option
@database_option
def revoke(device: str, certificates: Path | None, url: str) -> int:
    """Revoke all certificates and unused codes of DEVICE, and write the list of revoked certificates for the broker."""
    authority = _authority(certificates)
    assert certificates is not None
    from arenite.host.fleet.security.broker_files import write_revocation_list
    from arenite.host.fleet.security.enrolments import revoke_device, revoked_certificates

    now_ms = SystemClock().now_ms()
    with existing_database(url).transaction() as transaction:
        _check_fleet(transaction, authority)
        count, codes = revoke_device(transaction, now_ms, user_name(), device)
        # If the list cannot be written, nothing is revoked.
        path = write_revocation_list(certificates, authority, revoked_certificates(transaction, now_ms))
    show(f"Revoked {count_of(count, 'certificate')} and {count_of(codes, 'code')} of {device}.")
    show(
        f"Make the broker read {path} again: send SIGHUP to mosquitto, or restart it, which ends open connections too."
    )
    return 0


@contextlib.contextmanager
def enrolment_server(
    listen: str | None, certificates: Path | None, url: str, broker_port: int
) -> Iterator[None]:
    """Run the server of ``fleet serve --enrol-listen`` while the block runs; do nothing if ``listen`` is None."""
    if listen is None:
        yield
        return
    host, port = parse_address(listen)
    authority = _authority(certificates)
    if find_spec("h11") is None:
        raise UsageError("The enrolment server needs h11.", "Install it: pip install 'arenite[fleet]'.")
    from arenite.host.fleet.security.enrolment_server import Enrolment

    database = open_database(url)
    with database.transaction() as transaction:
        _check_fleet(transaction, authority)
    enrolment = Enrolment(authority, database, SystemClock(), note, host, port, broker_port)
    try:
        note(f"Devices can join at {host}, port {enrolment.port}.")
        yield
    finally:
        enrolment.close()


def _authority(certificates: Path | None) -> FleetAuthority:
    require_cryptography()
    from arenite.host.fleet.security.authority import load_authority

    if certificates is None:
        raise UsageError(
            "The folder with the certificates of the fleet is missing.",
            "Make it with `arenite fleet broker`, and give it with --certificates.",
        )
    return load_authority(certificates)


def _check_fleet(transaction: Transaction, authority: FleetAuthority) -> None:
    # The lock keeps two commands from writing the list of revoked certificates at the same time.
    transaction.query("SELECT name FROM fleet" + transaction.row_lock)
    name = fleet_name(transaction)
    if name != authority.fleet:
        raise UsageError(
            f"The certificates are of the fleet '{authority.fleet}', and the database has the fleet '{name}'.",
            "Give the folder and the database of one fleet.",
        )


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match is not None else 0
    if not 0 < seconds <= _MAX_VALID_S:
        raise UsageError(f"'{text}' is not a time of at most 30 days.", "Give such as 90s, 30m, 2h or 1d.")
    return seconds


def _broker_url(host: str, port: int, folder: Path, name: str, path: str = "") -> str:
    files = (("ca", "authority.pem"), ("cert", f"{name}.pem"), ("key", f"{name}.key"))
    options = "&".join(f"{option}={quote(str(folder / file))}" for option, file in files)
    return f"mqtts://{f'[{host}]' if ':' in host else host}:{port}{path}?{options}"
