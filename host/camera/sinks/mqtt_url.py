"""``mqtt://user:password@host:port/topic?qos=1``: where answers go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from arenite.errors import UsageError

_HINT = (
    "Write mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC[?qos=0|1|2&retain=1&client=ID], or mqtts:// for TLS "
    "with &ca=FILE, &cert=FILE&key=FILE; a % in user, password or topic is %25."
)
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True, slots=True)
class Broker:
    host: str
    port: int
    topic: str
    tls: bool = False
    user: str | None = None
    password: str | None = None
    qos: int = 0
    retain: bool = False  # of the answers; the status is always retained
    client: str = ""  # identifier; the broker makes one when empty
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @property
    def name(self) -> str:
        """For people: without the password."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}/{self.topic}"

    @property
    def status(self) -> str:
        """The topic that says online or offline."""
        return f"{self.topic}/status"


def parse_broker(url: str) -> Broker:
    """Raises ``UsageError``, whose text has no password in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # Without the library's words and cause: they quote what may be a part of the password.
        raise UsageError("The MQTT address is malformed, or its port is none.", _HINT) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError("The MQTT address has no mqtt:// or mqtts://, or no host.", _HINT)
    topic = unquote(parts.path.lstrip("/"))
    if not topic or any(c in topic for c in "+#\0") or len(topic.encode()) > 65_000:
        raise UsageError(
            f"The MQTT address has the topic '{topic[:80]}', which cannot be published to.", _HINT
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
