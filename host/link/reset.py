"""Start a board again from outside: by the lines and tricks of its serial port, or by the power of its USB socket.

None of it needs the firmware's help, so it also works on one that hangs.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Protocol

import serial

from arenite.errors import AreniteError, DeviceError, ToolError, UsageError
from arenite.host.link.usb import UsbDevice, serial_ports
from arenite.profiles.boards import Board

#: Every way there is; ``power`` switches the socket off and on, ``1200bps`` leads into a bootloader.
KINDS = ("dtr", "rts", "esp", "usb-jtag", "break", "1200bps", "power")
_GONE_S = 5.0  # a board that heard the 1200-baud touch leaves the bus within about a second


class ControlLines(Protocol):
    """What of an open serial port is used here (pyserial's names)."""

    dtr: bool
    rts: bool

    def send_break(self, duration: float) -> None:
        """Hold the transmit line low for ``duration`` seconds."""


def _pulse(lines: ControlLines, name: str, seconds: float = 0.1) -> None:
    for level in (False, True, False, True):
        setattr(lines, name, level)
        time.sleep(seconds)


def _esp(lines: ControlLines, seconds: float = 0.1) -> None:
    """EN follows RTS and IO0 follows DTR through two transistors, each low only while its line alone is asserted: with
    DTR released the chip starts its program, not its ROM loader."""
    lines.dtr = False
    lines.rts = True
    time.sleep(seconds)
    lines.rts = False
    time.sleep(seconds)


def apply_reset(lines: ControlLines, kind: str) -> None:
    """Do ``kind`` (of the profile's ``reset``) to an open port. Raises OSError where the port has no such lines."""
    if kind in ("dtr", "rts"):
        _pulse(lines, kind)
    elif kind in ("esp", "usb-jtag"):
        # The USB peripheral of the chip watches for the same sequence, at the pace of its polls.
        _esp(lines, 0.2 if kind == "usb-jtag" else 0.1)
    elif kind == "break":
        lines.send_break(0.25)  # debug probes reset their target when the host sends a break
    else:
        raise UsageError(f"There is no reset '{kind}'.", f"It is one of {', '.join(KINDS)}.")


def reset(kind: str, port: str, root: Path | None = None) -> None:
    """Reset the board on ``port`` by ``kind`` (one of KINDS).

    Raises:
        DeviceError: no such port, or it lacks the lines; ToolError: uhubctl is missing or failed.
    """
    if kind == "power":
        power_cycle(port, root)
    elif kind == "1200bps":
        touch_1200(port)
    else:
        line = _open(port, 115200)
        try:
            apply_reset(line, kind)
        except OSError as error:
            raise DeviceError(
                f"{port} has no lines for the reset '{kind}': {error.strerror or error}.",
                "Press the board's reset button.",
            ) from error
        finally:
            line.close()


def touch_1200(port: str, *, wait_s: float = _GONE_S) -> None:
    """Open ``port`` at 1200 baud and let DTR fall: the bootloader's sign on boards with USB of their own.

    Raises:
        DeviceError: no such port, or the board stays on it.
    """
    line = _open(port, 1200)
    try:
        line.dtr = False
    except OSError:
        pass  # already gone, or a port without lines: whether it leaves is what counts
    finally:
        line.close()
    end = time.monotonic() + wait_s
    while Path(port).exists():
        if time.monotonic() > end:
            raise DeviceError(
                f"The board on {port} did not go into its bootloader when asked at 1200 baud.",
                "Do it by hand: press reset twice, or hold BOOT while plugging it in.",
            )
        time.sleep(0.05)


def _open(port: str, baud: int) -> serial.Serial:
    try:
        return serial.Serial(port, baud, timeout=0, write_timeout=2)
    except (serial.SerialException, OSError, ValueError) as error:
        raise DeviceError(
            f"Cannot open {port}: {error}.", "Is the board plugged in, and nobody using it?"
        ) from error


def socket_of(device: UsbDevice) -> tuple[str, str]:
    """The hub, as uhubctl names it, and the number of its socket: 1-1.4 hangs on socket 4 of hub 1-1, 3-2 on 2 of 3."""
    upper, dot, last = device.location.rpartition(".")
    if dot:
        return upper, last
    bus, dash, number = device.location.partition("-")
    if not (dash and number.isdigit()):
        raise DeviceError(
            f"Nobody knows the USB socket of {device.product or device.id}.", "Replug it by hand."
        )
    return bus, number


def power_command(port: str, root: Path | None = None, seconds: float = 2.0) -> list[str]:
    """The command of uhubctl that takes the power from the socket of ``port`` and gives it back."""
    here = {found.path: found.device for found in serial_ports(root)}
    if port not in here:
        raise DeviceError(f"{port} is not on USB: its power cannot be switched.", "Switch it by hand.")
    hub, number = socket_of(here[port])
    return ["uhubctl", "--location", hub, "--ports", number, "--action", "cycle", "--delay", f"{seconds:g}"]


def power_cycle(port: str, root: Path | None = None) -> None:
    """Take the power from the board's socket for two seconds; needs a hub that can switch it.

    Raises:
        DeviceError: not on USB, or the hub cannot; ToolError: uhubctl is missing.
    """
    command = power_command(port, root)
    if shutil.which(command[0]) is None:
        raise ToolError("The tool uhubctl is missing.", "Install it: apt install uhubctl")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise DeviceError(
            f"The power of {port} cannot be switched: {lines[0]}",
            "Only some hubs can; https://github.com/mvp/uhubctl lists them. It may need root or a udev rule.",
        )


def recover_board(board: Board, port: str, root: Path | None = None) -> str | None:
    """Start a board that does not answer again, by the gentlest way that there is.

    Tries the profile's reset, then the power of its socket.  Returns the way that worked (nobody asked the board), or
    None where there is none.  Wait for the port and greet the board afterwards.
    """
    ways = [board.targets.reset] if board.targets.reset else []
    if shutil.which("uhubctl"):
        ways.append("power")
    for way in ways:
        try:
            reset(way, port, root)
        except AreniteError:
            continue
        return way
    return None
