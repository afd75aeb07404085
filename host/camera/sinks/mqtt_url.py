"""Parse the address of an MQTT broker and a topic, such as ``mqtt://user:password@host:port/topic?qos=1``."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.errors import UsageError
from arenite.host.mqtt.broker_address import BrokerAddress, refuse_options, split_broker_url

_HINT = (
    "Write mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC[?qos=0|1|2&retain=1&client=ID], or mqtts:// for TLS "
    "with &ca=FILE, &cert=FILE&key=FILE; write %25 for a % in user, password or topic."
)


@dataclass(frozen=True, slots=True)
class Broker:
    """The address of a broker, the topic, and the options of the connection."""

    address: BrokerAddress
    topic: str
    qos: int = 0
    retain: bool = False  # whether the broker retains answers; the status is always retained
    client: str = ""  # client identifier; if it is empty, the broker generates an identifier

    @property
    def name(self) -> str:
        """The address without user and password, for messages."""
        return f"{self.address.name}/{self.topic}"

    @property
    def status(self) -> str:
        """The topic of the status message, ``online`` or ``offline``."""
        return f"{self.topic}/status"


def parse_broker(url: str) -> Broker:
    """Parse an address. Raises ``UsageError``, whose text never contains the password."""
    address, topic, options = split_broker_url(url, _HINT)
    if not topic or any(c in topic for c in "+#\0") or len(topic.encode()) > 65_000:
        raise UsageError(
            f"The MQTT address has the topic '{topic[:80]}', which is not valid for publishing.", _HINT
        )
    qos = _choice(options.pop("qos", "0"), "qos", ("0", "1", "2"))
    retain = _choice(options.pop("retain", "0"), "retain", ("0", "1"))
    client = options.pop("client", "")
    refuse_options(options, _HINT)
    return Broker(address, topic, int(qos), retain == "1", client)


def _choice(value: str, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"The MQTT address has {name}={value}, expected {', '.join(allowed)}.", _HINT)
    return value
