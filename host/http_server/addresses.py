"""Addresses that a server binds, and those under which other computers reach it."""

from __future__ import annotations

import re
import socket
from typing import cast

from arenite.errors import UsageError


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and the port of an address to bind: ``HOST:PORT``, ``[IPv6 address]:PORT``, ``HOST`` or
    ``:PORT``.

    The host defaults to 127.0.0.1, and the port to 0, for which the system chooses a free port. Raises ``UsageError``.
    """
    matched = re.fullmatch(
        r"(?:\[(?P<v6>[0-9a-fA-F:]+)\]|(?P<host>[^:\[\]]*))(?::(?P<port>\d{1,5}))?", text.strip()
    )
    port = int(matched["port"] or 0) if matched is not None else 0
    if matched is not None and (matched["host"] or "").isdigit():
        raise UsageError(f"'{text}' has no host.", f"If it is a port, give it with a colon: :{text}.")
    if matched is None or port > 65535:
        raise UsageError(
            f"'{text}' is not an address to bind.", "Give HOST:PORT, for example 127.0.0.1:8080."
        )
    return matched["v6"] or matched["host"] or "127.0.0.1", port


def url_of(host: str, port: int, *, is_encrypted: bool) -> str:
    """Return the address that a browser opens for a server that listens on ``host`` and ``port``."""
    reachable = reachable_host(host)
    name = f"[{reachable}]" if ":" in reachable else reachable
    return f"{'https' if is_encrypted else 'http'}://{name}:{port}/"


def listening_error(name: str, host: str, port: int, error: OSError | OverflowError) -> UsageError:
    """Return the error for the user if the server ``name``, a noun such as dashboard, cannot listen on ``host`` and
    ``port`` because of ``error``."""
    # Python adds the address to the text of the system's error.
    reason = str(getattr(error, "strerror", None) or error).split(" (while attempting")[0]
    return UsageError(
        f"The {name} cannot listen on {host}, port {port}: {reason}.",
        "Use port 0 for a free port, and an address of this computer.",
    )


def reachable_host(host: str) -> str:
    """Return an address that a browser can open. If ``host`` means all addresses of this computer, return the address
    that it uses to reach other networks."""
    if host not in ("0.0.0.0", "::", ""):
        return host
    family = socket.AF_INET6 if host == "::" else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # No packet is sent. This only finds the local address that the system would use to reach an address of
            # another network (reserved for documentation by RFC 5737 and RFC 3849).
            probe.connect(("2001:db8::1" if host == "::" else "203.0.113.1", 9))
            return cast(str, probe.getsockname()[0])
    except OSError:
        return socket.gethostname()
