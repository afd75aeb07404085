"""What an update needs from a connection to a device, over a serial port (``DeviceLink``) or through a gateway."""

from __future__ import annotations

from typing import Any, Protocol

from arenite.errors import DeviceError
from arenite.host.update.smp_message import Answer

#: How long a device may not answer, and how long a connection may be gone.
SILENCE_S, ABSENCE_S = 20.0, 60.0


class SilenceError(DeviceError):
    """The device did not answer in time."""


class Link(Protocol):
    """Requests and answers. All times are in seconds.

    ``sequence`` is the number of the last request, from 0 to 255. ``has_damage``: a request or an answer was lost.
    """

    sequence: int
    has_damage: bool

    @property
    def is_coded(self) -> bool:
        """Whether frames on the line have forward error correction."""
        ...

    @property
    def window(self) -> int:
        """How many requests of an upload may be on their way."""
        ...

    @property
    def upload_answer_s(self) -> float:
        """How long the next answer of an upload may take before requests count as lost."""
        ...

    def clock(self) -> float:
        """Return the time."""
        ...

    def send(
        self, operation: int, group: int, command: int, body: dict[str, Any], *, is_again: bool = False
    ) -> int:
        """Send a request with the next ``sequence``, and return the number of bytes. ``is_again``: an earlier one was
        not answered. Raises ``PortGoneError`` if the connection was lost."""
        ...

    def receive(self, timeout_s: float) -> Answer | None:
        """Return the next answer, or None if there is none for ``timeout_s``. Raises ``PortGoneError``."""
        ...

    def reconnect(self) -> None:
        """Connect again after a ``PortGoneError``. Wait up to a minute. Raises ``DeviceError``."""

    def request(
        self,
        operation: int,
        group: int,
        command: int,
        body: dict[str, Any] | None = None,
        silence_s: float = SILENCE_S,
        *,
        is_slow: bool = False,
        is_restarting: bool = False,
    ) -> Answer:
        """Return the answer to a request, which is repeated until it is answered. ``is_slow``: the device may work for
        half a second and more before it answers. ``is_restarting``: it may not answer for minutes.

        Raises:
            DeviceError: The device does not answer for ``silence_s``, or the connection does not return.
        """
        ...

    def try_request(self, operation: int, group: int, command: int, wait_s: float) -> Answer | None:
        """Send a request without data once. Return the answer, or None if it does not come in ``wait_s``. Raises
        ``PortGoneError``."""
        ...

    def settle(self, takes_coded: bool) -> None:
        """Choose the kind of frames, once the device has told whether it takes coded ones."""

    def use_coded_if_taken(self) -> None:
        """Send coded frames from now on, if the device takes them."""

    def close(self) -> None:
        """End the connection."""
