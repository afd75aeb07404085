"""Control the access to a server.

A token is required if other computers can reach the server. A page of another web site can also make a browser send
requests to the server, even under its own name, if that name is resolved to the server's address (DNS rebinding).
The Host header must therefore be an address or a name of this computer, and requests from pages of other sites are
refused. No other origin may read the server's answers (there are no CORS headers).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from arenite.errors import UsageError

_LOCAL = ("localhost", "127.0.0.1", "::1")
#: The smallest length of a token that a person chose.
MIN_TOKEN_LENGTH = 8


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The decision about a request: the HTTP status, and a text ``why`` if the request is refused. If ``cookie`` is not
    empty, the handler must set this cookie and redirect to the same address without the token."""

    status: HTTPStatus
    why: str = ""
    cookie: str = ""


class Access:
    """The access rules of a server that listens on ``host``. ``names`` are further names of this computer. ``name``
    is the word for the server in messages, such as "dashboard".

    If ``token`` is "auto", a token is generated. A token is required unless ``host`` is a loopback address. Raises
    ``UsageError`` if the token is missing or too short.
    """

    def __init__(
        self, host: str, token: str | None, names: tuple[str, ...] = (), name: str = "dashboard"
    ) -> None:
        self.name = name
        self.loopback = is_loopback(host)
        if token == "auto":
            token = secrets.token_urlsafe(18)  # 18 random bytes, as 24 characters
        if token is None and not self.loopback:
            raise UsageError(
                f"The {name} on {host} can be reached from other computers, but has no token.",
                "Give --token auto to generate one, or a token of your own, or use the address 127.0.0.1.",
            )
        if token is not None and len(token) < MIN_TOKEN_LENGTH:
            raise UsageError(
                f"The {name}'s token has only {len(token)} characters.",
                f"Give {MIN_TOKEN_LENGTH} characters or more, or 'auto'.",
            )
        self.token = token
        self._names = {*_LOCAL, host.lower(), *(name.lower() for name in names)}
        if not self.loopback:
            self._names |= own_names()

    @property
    def query(self) -> str:
        """The end of an address that carries the token, such as ``?token=...``. It is empty without a token."""
        return f"?token={quote(self.token, safe='')}" if self.token is not None else ""

    def cookie_name(self, port: int) -> str:
        """Return the name of the cookie. It contains the port, because a browser sends a cookie to all ports of a
        host."""
        return f"arenite_{port}"

    def check(
        self, header: Callable[[str], str | None], given_token: str | None, cookie: str | None
    ) -> AccessDecision:
        """Decide about a request by its headers, the token in its address, and the value of the cookie."""
        host = header("Host")
        if host is None or not self._is_own_name(host):
            return AccessDecision(
                HTTPStatus.MISDIRECTED_REQUEST, "The Host header is not a name of this computer."
            )
        if header("Sec-Fetch-Site") == "cross-site" and header("Sec-Fetch-Mode") != "navigate":
            return AccessDecision(HTTPStatus.FORBIDDEN, "Another site's page asked for this.")
        if self.token is None:
            return AccessDecision(HTTPStatus.OK)
        if given_token is not None and _equal_in_constant_time(given_token, self.token):
            return AccessDecision(HTTPStatus.OK, cookie=self._session())
        scheme, _, bearer = (header("Authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and _equal_in_constant_time(bearer.strip(), self.token):
            return AccessDecision(HTTPStatus.OK)
        if cookie is not None and _equal_in_constant_time(cookie, self._session()):
            return AccessDecision(HTTPStatus.OK)
        return AccessDecision(
            HTTPStatus.UNAUTHORIZED,
            f"This {self.name} needs its token: open the address that the command printed.",
        )

    def _session(self) -> str:
        """Return the value of the cookie. It is computed from the token, so that it stays valid after a restart, but it
        does not reveal the token."""
        assert self.token is not None
        return hmac.new(self.token.encode(), b"arenite cookie", hashlib.sha256).hexdigest()

    def _is_own_name(self, host: str) -> bool:
        name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.split(":", 1)[0]
        name = name.lower().rstrip(".")
        # A foreign name can be resolved to this computer's address (DNS rebinding), but an address stays an address.
        return name in self._names or (not self.loopback and is_address(name))


def own_names() -> set[str]:
    """Return the names under which this computer and others of its local network reach this computer."""
    name = socket.gethostname().lower()
    # A computer may have no name. An authority that may certify the empty name may certify every name.
    return {"localhost", name, f"{name}.local"} if name else {"localhost"}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    return is_address(host) and ipaddress.ip_address(host).is_loopback


def is_address(name: str) -> bool:
    """Return whether ``name`` is an IPv4 or IPv6 address, and not the name of a computer."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _equal_in_constant_time(one: str, other: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())
