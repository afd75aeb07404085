"""The argument PORT of ``arenite update push``, ``status`` and ``rollback``: a serial port, or the address of a device
behind a gateway."""

from __future__ import annotations

from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from arenite.errors import UsageError
from arenite.host.cli.port_argument import find_port_path
from arenite.host.link.transport import SerialTransport
from arenite.host.report.console import note
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.link import Link


def open_link(port: str, baud: int, use_code: bool | None, write_timeout_s: float = 10.0) -> tuple[str, Link]:
    """Return the name of the device for messages, and a link to it. ``write_timeout_s``: how long a serial port may
    take no bytes. Raises ``DeviceError`` and ``UsageError``."""
    if "://" in port:
        return _remote_link(port, use_code)
    path = find_port_path(port, None)
    return path, DeviceLink(
        lambda: SerialTransport(path, baud, is_exclusive=True, write_timeout_s=write_timeout_s),
        use_code,
        baud,
    )


def _remote_link(port: str, use_code: bool | None) -> tuple[str, Link]:
    # Only this needs paho-mqtt.
    from arenite.host.gateway.device_url import PASSWORD_VARIABLE, parse_device_url
    from arenite.host.gateway.remote_link import RemoteLink

    given = click.get_current_context().get_parameter_source("baud")
    if use_code is not None or given is ParameterSource.COMMANDLINE:
        raise UsageError(
            "--baud, --fec and --no-fec are for a serial port.",
            "Leave them out: the gateway of the device knows its line.",
        )
    url = parse_device_url(port)
    if urlsplit(port).password is not None:
        note(
            "Other users of this computer can read the password in the list of processes."
            f" Leave it out, and set {PASSWORD_VARIABLE}."
        )
    return url.name, RemoteLink(url)
