"""Tests of resets: order and timing of the control lines, ports without control lines, and the arguments of uhubctl."""

from __future__ import annotations

import json
import os
import pty
import threading
import time
import tty
from pathlib import Path

import pytest

from arenite.errors import DeviceError, ToolError, UsageError
from arenite.host.cli.main import main
from arenite.host.link.reset import (
    KINDS,
    apply_reset,
    power_command,
    recover_board,
    reset,
    socket_of,
    touch_1200,
)
from arenite.host.link.usb import UsbDevice
from arenite.profiles.boards import all_boards, load_board
from arenite.profiles.connections import RESETS
from tests.host.link.usb_tree import UsbTree


class Recorder:
    """The control lines of a serial port. It records each change and its time."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, object]] = []
        self.times: list[float] = []

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("dtr", "rts"):
            self.changes.append((name, value))
            self.times.append(time.monotonic())
        object.__setattr__(self, name, value)

    def send_break(self, duration: float) -> None:
        self.changes.append(("break", duration))


def esp_after(changes: list[tuple[str, object]]) -> list[str]:
    """Return the states of an ESP board after each change of the lines. Its auto-reset circuit has two transistors:
    each pulls its pin low only while its own line is asserted and the other is not."""
    dtr = rts = True  # opening a port asserts both lines
    state = []
    for name, value in changes:
        dtr, rts = (bool(value), rts) if name == "dtr" else (dtr, bool(value))
        enable, boot = not (rts and not dtr), not (dtr and not rts)
        state.append("reset" if not enable else ("run" if boot else "boot pin low"))
    return state


@pytest.mark.parametrize("kind", ["esp", "usb-jtag"])
def test_an_esp_board_is_held_in_reset_and_then_starts_its_program(kind: str) -> None:
    lines = Recorder()
    apply_reset(lines, kind)  # type: ignore[arg-type]
    state = esp_after(lines.changes)
    # The boot pin is high at the end of the reset, so the program starts and not the ROM loader.
    assert "reset" in state and state[-1] == "run"
    assert "boot pin low" not in state[state.index("reset") :]
    reset_s = lines.times[state.index("run", state.index("reset"))] - lines.times[state.index("reset")]
    assert reset_s >= 0.05


@pytest.mark.parametrize("kind", ["dtr", "rts"])
def test_a_line_is_pulsed_and_left_asserted(kind: str) -> None:
    lines = Recorder()
    apply_reset(lines, kind)  # type: ignore[arg-type]
    assert {name for name, _ in lines.changes} == {kind}
    assert [value for _, value in lines.changes] == [False, True, False, True]


def test_a_break_is_long_enough_for_a_probe() -> None:
    lines = Recorder()
    apply_reset(lines, "break")  # type: ignore[arg-type]
    assert lines.changes == [("break", 0.25)]
    with pytest.raises(UsageError, match="no reset method 'kick'"):
        apply_reset(lines, "kick")  # type: ignore[arg-type]


def test_every_reset_of_a_profile_is_implemented() -> None:
    assert set(RESETS) <= set(KINDS)
    assert {board.targets.reset for board in all_boards()} <= {"", *RESETS}


@pytest.mark.parametrize("kind", ["dtr", "esp"])
def test_a_port_without_control_lines_raises_an_error(kind: str) -> None:
    near, far = pty.openpty()
    with pytest.raises(DeviceError, match=f"does not have the control lines for the reset '{kind}'"):
        reset(kind, os.ttyname(far))
    os.close(near)
    os.close(far)


def test_a_missing_port_raises_an_error() -> None:
    with pytest.raises(DeviceError, match="Cannot open /dev/ttyNOPE"):
        reset("dtr", "/dev/ttyNOPE")


def test_opening_at_1200_baud_starts_the_bootloader(tmp_path: Path) -> None:
    """A simulated board detects 1200 baud on its pseudo-terminal and disappears. If it stays, an error is raised."""
    near, far = pty.openpty()
    tty.setraw(far)
    port = tmp_path / "ttyACM0"
    port.symlink_to(os.ttyname(far))

    def board() -> None:
        import termios

        while termios.tcgetattr(far)[4] != termios.B1200:
            time.sleep(0.005)
        port.unlink()

    thread = threading.Thread(target=board, daemon=True)
    thread.start()
    touch_1200(str(port))
    thread.join(60)
    assert not port.exists()
    with pytest.raises(DeviceError, match="did not start its bootloader"):
        touch_1200(os.ttyname(far), wait_s=0.1)
    os.close(near)
    os.close(far)


@pytest.mark.parametrize(
    ("location", "hub", "socket"), [("1-1.4", "1-1", "4"), ("3-2", "3", "2"), ("2-1.4.3", "2-1.4", "3")]
)
def test_the_usb_socket_of_a_device_is_read_from_its_location(location: str, hub: str, socket: str) -> None:
    assert socket_of(UsbDevice("0483:374b", location=location)) == (hub, socket)


def test_the_command_that_switches_the_power_names_hub_and_socket(tmp_path: Path) -> None:
    tree = UsbTree(tmp_path)
    tree.plug("0483:374b", ("ttyACM0",), location="1-1.4")
    command = power_command(str(tree.root / "dev/ttyACM0"), tree.root)
    assert " ".join(command) == "uhubctl --location 1-1 --ports 4 --action cycle --delay 2"
    with pytest.raises(DeviceError, match="is not on USB"):
        power_command("/dev/ttyS0", tree.root)
    with pytest.raises(DeviceError, match=r"The USB socket of .* is unknown"):
        socket_of(UsbDevice("0483:374b", location="COM3"))


def test_the_real_uhubctl_accepts_the_command(tmp_path: Path) -> None:
    import shutil

    if shutil.which("uhubctl") is None:
        pytest.skip("uhubctl is not installed")
    tree = UsbTree(tmp_path)
    tree.plug("0483:374b", ("ttyACM0",), location="97-1.4")
    with pytest.raises(
        DeviceError, match=r"cannot be switched: (?!.*(usage|invalid|unrecognized))"
    ) as caught:
        reset("power", str(tree.root / "dev/ttyACM0"), tree.root)
    assert "uhubctl" in caught.value.hint


def test_a_missing_uhubctl_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = UsbTree(tmp_path)
    tree.plug("0483:374b", ("ttyACM0",), location="1-1.4")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="uhubctl is not installed"):
        reset("power", str(tree.root / "dev/ttyACM0"), tree.root)


def test_a_hung_board_is_recovered_by_the_first_method_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pseudo-terminal accepts a break but has no control lines. So a Nucleo board is reset by a break, but an ESP
    board only by switching its power."""
    near, far = pty.openpty()
    tree = UsbTree(tmp_path)
    tree.plug("0483:374b", ("ttyACM0",), location="1-1.4")
    tree.link_port("ttyACM0", os.ttyname(far))
    port = str(tree.root / "dev/ttyACM0")
    assert recover_board(load_board("nucleo_l4r5zi"), port, tree.root) == "break"
    argument_file = tmp_path / "said"
    tool = tmp_path / "uhubctl"
    tool.write_text(f'#!/bin/sh\necho "$@" > {argument_file}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert recover_board(load_board("esp32dev"), port, tree.root) == "power"
    assert argument_file.read_text().split()[:4] == ["--location", "1-1", "--ports", "4"]
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert recover_board(load_board("esp32dev"), port, tree.root) is None
    os.close(near)
    os.close(far)


def test_the_command_reset_prints_or_resets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reset", "/dev/ttyNOPE", "--board", "esp32dev", "--print"]) == 0
    assert capsys.readouterr().out == "esp on /dev/ttyNOPE\n"
    assert main(["reset", "/dev/ttyNOPE", "--board", "esp32dev", "--print", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["port"], content["way"], content["done"]) == ("/dev/ttyNOPE", "esp", False)
    assert main(["reset", "/dev/ttyNOPE", "--board", "esp32dev"]) == 3
    assert main(["reset", "/dev/ttyNOPE", "--board", "teensy40"]) == 2
    assert "does not name a way" in capsys.readouterr().err
