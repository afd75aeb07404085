"""Serial ports as byte transports, with readable errors."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from types import TracebackType
from typing import Protocol, Self

import serial

from arenite.errors import DeviceError


class PortGoneError(DeviceError):
    """The port itself disappeared, so a request cannot be repeated."""


class PortFullError(DeviceError):
    """The device does not read its port, whose buffers are full."""


class Transport(Protocol):
    """A connection to a device, with the functions that a protocol client calls."""

    port: str

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that have arrived. Wait up to ``timeout_s`` for the first byte; if there is none, return
        ``b""``."""
        ...

    def write(self, data: bytes) -> None:
        """Send all of ``data``."""

    def discard_input(self) -> None:
        """Drop the bytes that have arrived but were not read."""

    def close(self) -> None:
        """Release the port."""


def _existing_ports() -> list[str]:
    return sorted(glob.glob("/dev/ttyACM*") + glob.glob("/dev/ttyUSB*") + glob.glob("/dev/cu.usb*"))


class SerialTransport:
    """A serial port opened by pyserial. As a context manager, it closes the port at the end."""

    def __init__(
        self, port: str, baud: int = 115200, *, is_exclusive: bool = False, write_timeout_s: float = 10.0
    ) -> None:
        """Open ``port``. With ``is_exclusive``, lock it against other programs that lock it too, until it is closed.
        ``write_timeout_s``: how long the device may accept no bytes. Raises DeviceError if the port is missing, locked,
        busy or forbidden."""
        self.port = port
        self._is_full = False
        try:
            self._serial = serial.Serial(
                port, baud, timeout=0, write_timeout=write_timeout_s, exclusive=True if is_exclusive else None
            )
        except (serial.SerialException, OSError, ValueError) as error:
            raise self._open_error(error) from error

    def _open_error(self, error: Exception) -> DeviceError:
        if not os.path.exists(self.port):
            ports = _existing_ports()
            hint = (
                f"Use one of the connected ports: {', '.join(ports)}."
                if ports
                else "No board is connected. Connect it, or use a qemu_* board."
            )
            return DeviceError(f"There is no serial port {self.port}.", hint)
        if getattr(error, "errno", None) in (errno.EAGAIN, errno.EWOULDBLOCK):
            return DeviceError(
                f"Another program uses the serial port {self.port}.",
                "Wait until an `arenite update push` has ended, or stop the `arenite gateway`.",
            )
        if isinstance(getattr(error, "errno", None), int) and error.errno == errno.EACCES:  # type: ignore[attr-defined]
            return DeviceError(
                f"No permission to open {self.port}.", "Add yourself to the group 'dialout' and log in again."
            )
        return DeviceError(
            f"Cannot open the serial port {self.port}: {error}.", "Check that no other program uses it."
        )

    def read(self, timeout_s: float) -> bytes:
        """See :class:`Transport`. Raises PortGoneError if the port has disappeared."""
        try:
            self._serial.timeout = timeout_s
            data = self._serial.read(1)
            return data + self._serial.read(self._serial.in_waiting) if data else b""
        except (serial.SerialException, OSError) as error:
            raise self._gone(error) from error

    def write(self, data: bytes) -> None:
        """See :class:`Transport`. Raises PortGoneError if the port has disappeared, PortFullError if it accepts
        no byte for the time limit."""
        try:
            self._serial.write(data)
            self._is_full = False
        except serial.SerialTimeoutException as error:
            self._is_full = True
            raise PortFullError(
                f"The device on {self.port} does not accept more bytes.", "Reset it and try again."
            ) from error
        except (serial.SerialException, OSError) as error:
            raise self._gone(error) from error

    def discard_input(self) -> None:
        """See :class:`Transport`."""
        try:
            self._serial.reset_input_buffer()
        except (serial.SerialException, OSError) as error:
            raise self._gone(error) from error

    def _gone(self, error: Exception) -> PortGoneError:
        return PortGoneError(
            f"The serial port {self.port} disappeared: {error}.", "Check the cable and the board's power."
        )

    def close(self) -> None:
        """Close the port. A second call does nothing."""
        if self._is_full and self._serial.is_open:
            # Linux waits up to 30 s when it closes a port whose bytes nobody takes.
            with contextlib.suppress(serial.SerialException, OSError):
                self._serial.reset_output_buffer()
        self._serial.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
