"""Restart a board by the control lines of its serial port, or by switching the power of its USB port.

No method needs the firmware's help, so they also work on a board that hangs.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Protocol

import serial

from arenite.errors import AreniteError, DeviceError, ToolError, UsageError
from arenite.host.link.usb import UsbDevice, serial_ports
from arenite.processes import run as run_command
from arenite.profiles.boards import Board

#: All reset methods. ``power`` switches the USB port off and on, ``1200bps`` starts the bootloader.
KINDS = ("dtr", "rts", "esp", "usb-jtag", "break", "1200bps", "power")
_GONE_S = 5.0  # a board that starts its bootloader leaves the USB within about a second


class ControlLines(Protocol):
    """The functions of an open serial port that this module uses (pyserial's names)."""

    @property
    def dtr(self) -> bool: ...

    @dtr.setter
    def dtr(self, value: bool) -> None: ...

    @property
    def rts(self) -> bool: ...

    @rts.setter
    def rts(self, value: bool) -> None: ...

    def send_break(self, duration: float) -> None:
        """Hold the transmit line low for ``duration`` seconds."""


def _pulse(lines: ControlLines, name: str, seconds: float = 0.1) -> None:
    """Assert the control line ``name`` twice, for ``seconds`` each time."""
    for level in (False, True, False, True):
        setattr(lines, name, level)
        time.sleep(seconds)


def _esp(lines: ControlLines, seconds: float = 0.1) -> None:
    """Reset an ESP board through its two transistors.

    RTS pulls EN low and DTR pulls IO0 low, but neither does if both are asserted. Because DTR is released, the chip
    starts its program and not its ROM loader.
    """
    lines.dtr = False
    lines.rts = True
    time.sleep(seconds)
    lines.rts = False
    time.sleep(seconds)


def apply_reset(lines: ControlLines, kind: str) -> None:
    """Apply the reset ``kind`` (from the profile's ``reset``) to an open port. Raises OSError if the port does not have
    the control lines."""
    if kind in ("dtr", "rts"):
        _pulse(lines, kind)
    elif kind in ("esp", "usb-jtag"):
        # The USB peripheral of the chip recognizes the same sequence, but more slowly, because the host polls it.
        _esp(lines, 0.2 if kind == "usb-jtag" else 0.1)
    elif kind == "break":
        lines.send_break(0.25)  # debug probes reset their target when the host sends a break
    else:
        raise UsageError(f"There is no reset method '{kind}'.", f"The methods are {', '.join(KINDS)}.")


def reset(kind: str, port: str, root: Path | None = None) -> None:
    """Reset the board on ``port`` by ``kind`` (one of KINDS).

    Raises:
        DeviceError: the port does not exist, or it does not have the control lines.
        ToolError: uhubctl is missing or failed.
    """
    if kind == "power":
        power_cycle(port, root)
    elif kind == "1200bps":
        touch_1200(port)
    else:
        port_lines = _open(port, 115200)
        try:
            apply_reset(port_lines, kind)
        except OSError as error:
            raise DeviceError(
                f"{port} does not have the control lines for the reset '{kind}': {error.strerror or error}.",
                "Press the board's reset button.",
            ) from error
        finally:
            port_lines.close()


def touch_1200(port: str, *, wait_s: float = _GONE_S) -> None:
    """Open ``port`` at 1200 baud and release DTR. This starts the bootloader on boards with built-in USB.

    Raises:
        DeviceError: the port does not exist, or it does not disappear.
    """
    port_lines = _open(port, 1200)
    try:
        port_lines.dtr = False
    except OSError:
        pass  # the port is already gone or has no lines: only its disappearance counts
    finally:
        port_lines.close()
    end = time.monotonic() + wait_s
    while Path(port).exists():
        if time.monotonic() > end:
            raise DeviceError(
                f"The board on {port} did not start its bootloader after the request at 1200 baud.",
                "Start it by hand: press reset twice, or hold BOOT while connecting the board.",
            )
        time.sleep(0.05)


def _open(port: str, baud: int) -> serial.Serial:
    try:
        return serial.Serial(port, baud, timeout=0, write_timeout=2)
    except (serial.SerialException, OSError, ValueError) as error:
        raise DeviceError(
            f"Cannot open {port}: {error}.",
            "Check that the board is connected and that no other program uses the port.",
        ) from error


def socket_of(device: UsbDevice) -> tuple[str, str]:
    """Return the hub that a device is connected to, with uhubctl's name, and the number of the hub's port: a device at
    1-1.4 is on port 4 of hub 1-1, a device at 3-2 on port 2 of hub 3."""
    upper, dot, last = device.location.rpartition(".")
    if dot:
        return upper, last
    bus, dash, number = device.location.partition("-")
    if not (dash and number.isdigit()):
        raise DeviceError(
            f"The USB socket of {device.product or device.id} is unknown.",
            "Disconnect and connect it by hand.",
        )
    return bus, number


def power_command(port: str, root: Path | None = None, seconds: float = 2.0) -> list[str]:
    """Return the uhubctl command that switches the power of the USB port behind the serial port ``port`` off for
    ``seconds``, then on."""
    devices = {serial_port.path: serial_port.device for serial_port in serial_ports(root)}
    if port not in devices:
        raise DeviceError(f"{port} is not on USB, so its power cannot be switched.", "Switch it by hand.")
    hub, number = socket_of(devices[port])
    return ["uhubctl", "--location", hub, "--ports", number, "--action", "cycle", "--delay", f"{seconds:g}"]


def power_cycle(port: str, root: Path | None = None) -> None:
    """Switch the power of the board's USB port off for two seconds. This needs a hub that can switch power.

    Raises:
        DeviceError: the port is not on USB, or the hub cannot switch power.
        ToolError: uhubctl is missing.
    """
    command = power_command(port, root)
    if shutil.which(command[0]) is None:
        raise ToolError("The tool uhubctl is not installed.", "Install it: apt install uhubctl")
    process = run_command(command, capture_output=True, text=True, timeout=60)
    if process.returncode:
        lines = (process.stderr.strip() or process.stdout.strip() or "it printed no message").splitlines()
        raise DeviceError(
            f"The power of {port} cannot be switched: {lines[0]}",
            "Only some hubs can switch power. https://github.com/mvp/uhubctl lists them. The command"
            " may need root or a udev rule.",
        )


def recover_board(board: Board, port: str, root: Path | None = None) -> str | None:
    """Restart a board that does not answer, by the gentlest method that is available.

    The function tries the reset of the board's profile, then the power of the USB port. Returns the method that was
    applied, or None if none is available. It does not check that the board answers: the caller waits for the port and
    opens a session.
    """
    methods = [board.targets.reset] if board.targets.reset else []
    if shutil.which("uhubctl"):
        methods.append("power")
    for method in methods:
        try:
            reset(method, port, root)
        except AreniteError:
            continue
        return method
    return None
