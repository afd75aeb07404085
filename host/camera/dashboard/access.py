"""Who may look: a token where the dashboard is bound beyond this computer, and only names that are ours.

A page elsewhere can make a browser ask us (DNS rebinding: its own name, resolved to our address). So the Host header
must be an address or a name of this computer, and what another site's page asks for is refused; nothing here allows
another origin to read (no CORS).
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

from arenite.errors import UsageError

_LOCAL = ("localhost", "127.0.0.1", "::1")
#: Of a token that a person chose.
MIN_TOKEN_LENGTH = 8


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """``cookie``: to be set, and the request answered by the same address without its token."""

    status: HTTPStatus
    why: str = ""
    cookie: str = ""


class Access:
    """Rules for one address. ``token``: ``auto`` makes one; required unless ``host`` is loopback.

    Raises ``UsageError`` for a missing or short token.
    """

    def __init__(self, host: str, token: str | None, names: tuple[str, ...] = ()) -> None:
        self.loopback = is_loopback(host)
        if token == "auto":
            token = secrets.token_urlsafe(18)
        if token is None and not self.loopback:
            raise UsageError(
                f"The dashboard on {host} can be reached from other computers and has no token.",
                "Give it a token, or 'auto' for one that is made now; or bind it to 127.0.0.1.",
            )
        if token is not None and len(token) < MIN_TOKEN_LENGTH:
            raise UsageError(
                f"The dashboard's token has {len(token)} characters.",
                f"Take {MIN_TOKEN_LENGTH} or more, or 'auto'.",
            )
        self.token = token
        self._names = {*_LOCAL, host.lower(), *(name.lower() for name in names)}
        if not self.loopback:
            own = socket.gethostname().lower()
            self._names |= {own, f"{own}.local"}

    def cookie_name(self, port: int) -> str:
        """Browsers keep cookies per name of a computer, not per port."""
        return f"arenite_{port}"

    def check(
        self, header: Callable[[str], str | None], given_token: str | None, cookie: str | None
    ) -> AccessDecision:
        """Args: a request's headers by name, the token of its address, the value of our cookie."""
        host = header("Host")
        if host is None or not self._is_own_name(host):
            return AccessDecision(HTTPStatus.MISDIRECTED_REQUEST, "This is not the name of this computer.")
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
            "This dashboard needs its token: open the address that the command printed.",
        )

    def _session(self) -> str:
        """What the cookie holds: of the token, so that it outlives a restart, but not the token."""
        assert self.token is not None
        return hmac.new(self.token.encode(), b"arenite dashboard cookie", hashlib.sha256).hexdigest()

    def _is_own_name(self, host: str) -> bool:
        name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.split(":", 1)[0]
        name = name.lower().rstrip(".")
        # An address cannot be rebound; a name can.
        return name in self._names or (not self.loopback and _is_address(name))


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _equal_in_constant_time(one: str, other: str) -> bool:
    """In a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())
