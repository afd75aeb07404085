"""The MQTT topics of a fleet: ``arenite/FLEET/DEVICE/CHANNEL``.

Requests of the Simple Management Protocol have topics of their own, because each operator has one:
``arenite/FLEET/DEVICE/smp/request/OPERATOR`` and ``arenite/FLEET/DEVICE/smp/answer/OPERATOR``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from arenite.errors import UsageError

#: ``events`` and ``status`` go from the device to the server, ``acknowledged`` and ``desired`` to the device.
Channel = Literal["events", "status", "acknowledged", "desired"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)

_CHANNEL_NAMES: dict[str, Channel] = {channel: channel for channel in CHANNELS}
_ROOT = "arenite"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Topic:
    fleet: str
    device: str
    channel: Channel

    def __str__(self) -> str:
        return f"{_ROOT}/{self.fleet}/{self.device}/{self.channel}"


def parse_topic(text: str) -> Topic | None:
    """Return the parts of a topic, or None if it is not a topic of a fleet."""
    parts = text.split("/")
    if len(parts) != 4 or parts[0] != _ROOT or not (is_name(parts[1]) and is_name(parts[2])):
        return None
    channel = _CHANNEL_NAMES.get(parts[3])
    return None if channel is None else Topic(parts[1], parts[2], channel)


def smp_topic(fleet: str, device: str, direction: Literal["request", "answer"], operator: str) -> str:
    """Return the topic of an operator's requests to a device, or of the answers. ``operator`` may be ``+``, for all."""
    return f"{_ROOT}/{fleet}/{device}/smp/{direction}/{operator}"


def is_operator(text: str) -> bool:
    """Return whether ``text`` may be the name of an operator: a user name of the broker that fits a level of a topic,
    such as ``@operator-ann``."""
    return _NAME.fullmatch(text.removeprefix("@")) is not None


def all_devices(fleet: str, channel: Channel) -> str:
    """Return the topic filter of one channel of all devices."""
    return f"{_ROOT}/{fleet}/+/{channel}"


def is_name(text: str) -> bool:
    """Return whether ``text`` may be the name of a fleet, device, group, board or release."""
    return _NAME.fullmatch(text) is not None


def check_name(kind: str, text: str) -> str:
    """Return ``text``. Raises ``UsageError`` if it may not be the name of a ``kind``, a noun such as fleet."""
    if not is_name(text):
        article = "an" if kind[0] in "aeiou" else "a"
        raise UsageError(
            f"'{text[:80]}' is not a name of {article} {kind}.",
            "Use up to 64 letters, digits, dots, dashes and underscores, and begin with a letter or a digit.",
        )
    return text
