"""The address of an MQTT broker, such as ``localhost:1883`` or ``mqtts://user:password@host:8883?ca=ca.pem``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from arenite.errors import UsageError

_HINT = "Give HOST[:PORT], mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts://...[?ca=FILE&cert=FILE&key=FILE] for TLS."
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_FILES = ("ca", "cert", "key")


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    host: str
    port: int
    is_encrypted: bool = False
    user: str | None = None
    password: str | None = None
    ca: str | None = None  # file with the certificates of authorities that sign the broker's certificate
    cert: str | None = None  # file with the certificate of this client
    key: str | None = None  # file with the private key of this client

    @property
    def name(self) -> str:
        """The address without user and password, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.is_encrypted else 'mqtt'}://{host}:{self.port}"


def parse_broker_address(text: str) -> BrokerAddress:
    """Parse ``HOST[:PORT]`` or a URL without a path. Raises ``UsageError``, whose text never contains the password."""
    address, path, options = split_broker_url(text if "://" in text else f"mqtt://{text}", _HINT)
    if path:
        raise UsageError("The MQTT address has a path.", _HINT)
    refuse_options(options, _HINT)
    return address


def split_broker_url(url: str, hint: str) -> tuple[BrokerAddress, str, dict[str, str]]:
    """Return the address of a broker, the path of ``url`` without its first slash, and the options that do not belong
    to TLS. ``hint`` tells in errors what to write.

    Raises ``UsageError``, whose text never contains the password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Leave out the original error and its message, because they may quote a part of the password.
        raise UsageError(
            "The MQTT address is malformed, or its port is not a number below 65536.", hint
        ) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError("The MQTT address does not begin with mqtt:// or mqtts://, or has no host.", hint)
    is_encrypted = parts.scheme == "mqtts"
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    files = {name: options.pop(name, None) for name in _FILES}
    for name, path in files.items():
        if path is not None and not is_encrypted:
            raise UsageError(f"The MQTT address has the option '{name}' without TLS.", hint)
        if path is not None and not Path(path).is_file():
            raise UsageError(f"There is no file {path}, the MQTT address's '{name}'.", hint)
    if files["key"] and not files["cert"]:
        raise UsageError("The MQTT address has a key without a cert.", hint)
    address = BrokerAddress(
        parts.hostname,
        port or _PORTS[parts.scheme],
        is_encrypted,
        unquote(parts.username) if parts.username is not None else None,
        unquote(parts.password) if parts.password is not None else None,
        **files,
    )
    return address, unquote(parts.path.lstrip("/")), options


def refuse_options(options: dict[str, str], hint: str) -> None:
    """Raise ``UsageError`` if an option is left."""
    if options:
        raise UsageError(f"The MQTT address has an unknown option '{next(iter(options))}'.", hint)
