"""Parse the address of an MQTT broker and a topic, such as ``mqtt://user:password@host:port/topic?qos=1``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from arenite.errors import UsageError

_HINT = (
    "Write mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC[?qos=0|1|2&retain=1&client=ID], or mqtts:// for TLS "
    "with &ca=FILE, &cert=FILE&key=FILE; write %25 for a % in user, password or topic."
)
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True, slots=True)
class Broker:
    """The address of a broker, the topic, and the options of the connection."""

    host: str
    port: int
    topic: str
    tls: bool = False
    user: str | None = None
    password: str | None = None
    qos: int = 0
    retain: bool = False  # whether the broker retains answers; the status is always retained
    client: str = ""  # client identifier; if it is empty, the broker generates an identifier
    ca: str | None = None  # file with the certificates of authorities that sign the broker's certificate
    cert: str | None = None  # file with the certificate of this client
    key: str | None = None  # file with the private key of this client

    @property
    def name(self) -> str:
        """The address without user and password, for messages."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}/{self.topic}"

    @property
    def status(self) -> str:
        """The topic of the status message, ``online`` or ``offline``."""
        return f"{self.topic}/status"


def parse_broker(url: str) -> Broker:
    """Parse an address. Raises ``UsageError``, whose text never contains the password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Leave out the original error and its message, because they may quote a part of the password.
        raise UsageError(
            "The MQTT address is malformed, or its port is not a number below 65536.", _HINT
        ) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError("The MQTT address does not begin with mqtt:// or mqtts://, or has no host.", _HINT)
    topic = unquote(parts.path.lstrip("/"))
    if not topic or any(c in topic for c in "+#\0") or len(topic.encode()) > 65_000:
        raise UsageError(
            f"The MQTT address has the topic '{topic[:80]}', which is not valid for publishing.", _HINT
        )
    url_options = dict(parse_qsl(parts.query, keep_blank_values=True))
    qos = _choice(url_options.pop("qos", "0"), "qos", ("0", "1", "2"))
    retain = _choice(url_options.pop("retain", "0"), "retain", ("0", "1"))
    files = {name: url_options.pop(name, None) for name in ("ca", "cert", "key")}
    client = url_options.pop("client", "")
    tls = parts.scheme == "mqtts"
    if url_options:
        raise UsageError(f"The MQTT address has an unknown option '{next(iter(url_options))}'.", _HINT)
    for name, path in files.items():
        if path is not None and not tls:
            raise UsageError(f"The MQTT address has the option '{name}' without TLS.", _HINT)
        if path is not None and not Path(path).is_file():
            raise UsageError(f"There is no file {path}, the MQTT address's '{name}'.", _HINT)
    if files["key"] and not files["cert"]:
        raise UsageError("The MQTT address has a key without a cert.", _HINT)
    return Broker(
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        topic=topic,
        tls=tls,
        user=unquote(parts.username) if parts.username is not None else None,
        password=unquote(parts.password) if parts.password is not None else None,
        qos=int(qos),
        retain=retain == "1",
        client=client,
        **files,
    )


def _choice(value: str, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"The MQTT address has {name}={value}, expected {', '.join(allowed)}.", _HINT)
    return value
