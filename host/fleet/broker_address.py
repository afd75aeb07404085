"""The address of an MQTT broker, such as ``localhost:1883`` or ``mqtts://user:password@host:8883?ca=ca.pem``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
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
        return f"{'mqtts' if self.is_encrypted else 'mqtt'}://{self.host}:{self.port}"


def parse_broker_address(text: str) -> BrokerAddress:
    """Raises ``UsageError``, whose text never contains the password."""
    try:
        parts = urlsplit(text if "://" in text else f"mqtt://{text}")
        port = parts.port
    except ValueError:
        # The original error may quote a part of the password.
        raise UsageError(
            "The broker's address is malformed, or its port is not below 65536.", _HINT
        ) from None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
        raise UsageError("The broker's address has another scheme than mqtt, no host, or a path.", _HINT)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    files = {name: options.pop(name, None) for name in _FILES}
    if options:
        raise UsageError(f"The broker's address has an unknown option '{next(iter(options))}'.", _HINT)
    for name, path in files.items():
        if path is not None and (parts.scheme != "mqtts" or not Path(path).is_file()):
            raise UsageError(f"The broker's address has {name}={path}, but no TLS or no such file.", _HINT)
    return BrokerAddress(
        parts.hostname,
        port or _PORTS[parts.scheme],
        parts.scheme == "mqtts",
        unquote(parts.username) if parts.username is not None else None,
        unquote(parts.password) if parts.password is not None else None,
        **files,
    )


def make_client(
    broker: BrokerAddress, client_id: str, *, is_persistent: bool, manual_ack: bool = False
) -> Any:
    """Return a client of paho-mqtt that is not connected. With ``is_persistent``, the broker keeps messages of QoS 1
    for it while it is away. Raises ``UsageError`` if paho-mqtt is missing or a certificate cannot be used."""
    try:
        import paho.mqtt.client as mqtt
    except ImportError as error:
        raise UsageError("MQTT needs paho-mqtt.", "Install it: pip install 'arenite[fleet]'.") from error
    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2,  # type: ignore[attr-defined]
        client_id=client_id,
        clean_session=not is_persistent,
        manual_ack=manual_ack,
    )
    if broker.user is not None:
        client.username_pw_set(broker.user, broker.password)
    if broker.is_encrypted:
        try:
            client.tls_set(ca_certs=broker.ca, certfile=broker.cert, keyfile=broker.key)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The certificates for {broker.name} cannot be used: {error}.", "Give PEM files."
            ) from error
    return client
