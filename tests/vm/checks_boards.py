"""Checks with boards on the kernel's USB bus: finding them by ID, monitoring, unplugging, resets and UF2 drives."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from serial.tools.list_ports import comports

from arenite.errors import AreniteError
from arenite.firmware.generator.project import write_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.flash.flash import flash
from arenite.host.link.line_log import LogLine, watch
from arenite.host.link.ports import find_port, resolve_port
from arenite.host.link.reset import reset, touch_1200
from arenite.host.link.transport import SerialTransport
from arenite.host.link.usb import serial_ports, usb_devices
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.flash.projects import built
from tests.host.flash.uf2_bootloader import read_uf2
from tests.vm.acm_board import AcmBoard
from tests.vm.frame_checks import check
from tests.vm.usb_gadget import BOARD_END, Gadget, fat_image, run

SERIAL = "066AFF515055657867"


def wait_until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until the result of ``condition`` is true, and return this result."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.05)
    raise AssertionError(f"{condition} was not true within {seconds} s")


@contextmanager
def nucleo() -> Iterator[Gadget]:
    """Yield a simulated Nucleo board whose port is /dev/ttyACM0."""
    gadget = Gadget("0483:374b", "STM32 STLink", SERIAL)
    try:
        gadget.plug()
        wait_until(lambda: Path("/dev/ttyACM0").exists())
        yield gadget
    finally:
        gadget.remove()
        wait_until(lambda: not Path("/dev/ttyACM0").exists())


@check
def a_board_is_found_by_its_usb_id() -> Any:
    board = load_board("nucleo_l4r5zi")
    try:
        find_port(board)
        raise AssertionError("a port was found without a board")
    except AreniteError as error:
        assert error.exit_code == 3, error
    with nucleo():
        path = find_port(board)
        assert path == "/dev/ttyACM0"
        assert resolve_port(board, f"usb:{SERIAL.lower()}") == path
        (ours,) = [port for port in serial_ports() if port.path == path]
        (theirs,) = [port for port in comports() if port.device == path]
        assert ours.device.id == f"{theirs.vid:04x}:{theirs.pid:04x}"
        names = (ours.device.product, ours.device.maker, ours.device.serial)
        assert (
            names
            == (theirs.product, theirs.manufacturer, theirs.serial_number)
            == ("STM32 STLink", "A maker", SERIAL)
        )
        # pyserial's location begins with the USB port and also names the interface.
        assert theirs.location is not None and theirs.location.startswith(ours.device.location)
        assert ours.device in usb_devices()
        return str(ours)


@check
def bytes_arrive_and_an_unplugged_board_is_noticed() -> Any:
    with nucleo() as gadget:
        lines: list[LogLine] = []

        def follow() -> None:
            for line in watch(lambda: "/dev/ttyACM0", 115200, reconnect=True, stop=lambda: len(lines) >= 5):
                lines.append(line)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        wait_until(lambda: lines)
        send(b"one\r\n")
        wait_until(lambda: len(lines) == 2)
        gadget.pull()
        wait_until(lambda: len(lines) == 3)
        time.sleep(0.5)
        gadget.plug()
        wait_until(lambda: len(lines) == 4)
        send(b"two\r\n")
        wait_until(lambda: len(lines) == 5)
        assert [line.event or line.text for line in lines] == ["connected", "one", "lost", "connected", "two"]
        thread.join(60)
        return [line.text for line in lines]


def send(data: bytes) -> None:
    """Send data from the board to the host."""
    with SerialTransport(str(BOARD_END)) as board:
        board.write(data)
        time.sleep(0.2)


@check
def the_driver_sets_the_control_lines_of_every_reset() -> Any:
    with nucleo() as gadget:
        for kind in ("dtr", "rts", "esp", "usb-jtag"):
            reset(kind, "/dev/ttyACM0")
        timer = threading.Timer(0.5, gadget.pull)
        timer.start()
        touch_1200("/dev/ttyACM0")
        assert not Path("/dev/ttyACM0").exists()
        timer.join()


@contextmanager
def native_usb_board(id: str, product: str) -> Iterator[AcmBoard]:
    """Yield a simulated board with native USB whose port is /dev/ttyACM0."""
    board = AcmBoard(id, product, "E66138935F2C")
    board.plug()
    try:
        wait_until(lambda: Path("/dev/ttyACM0").exists())
        yield board
    finally:
        board.pull()
        wait_until(lambda: not Path("/dev/ttyACM0").exists())


@check
def each_reset_reaches_the_board_in_order() -> Any:
    """The simulated board records the requests that the driver sends over USB, and their order is checked."""
    requests: dict[str, Any] = {}
    with native_usb_board("303a:1001", "USB JTAG/serial debug unit") as board:
        for kind in ("esp", "dtr", "rts", "break"):
            board.lines.clear()
            reset(kind, "/dev/ttyACM0")
            requests[kind] = [(name, value) for name, value, _ in board.lines]
            if kind == "esp":
                times = {value: at for name, value, at in board.lines if name == "lines"}
                assert times[(False, False)] - times[(False, True)] >= 0.08, board.lines
    lines = [value for name, value in requests["esp"] if name == "lines"]
    reset_at = lines.index((False, True))  # EN low, IO0 high: the chip is in reset
    assert lines[reset_at + 1] == (False, False), lines  # the reset ends while IO0 is still high
    assert ("lines", (False, True)) in requests["dtr"] and ("lines", (True, False)) in requests["rts"]
    # cdc_acm starts a break of unlimited length, and ends it 0.25 s later.
    assert [value for name, value in requests["break"] if name == "break"] == [0xFFFF, 0], requests["break"]
    return requests


@check
def a_running_board_starts_its_bootloader_at_1200_baud() -> Any:
    bootloader_started = threading.Event()
    with native_usb_board("2e8a:00c0", "Pico") as board:
        board.bootloader = bootloader_started.set
        assert find_port(load_board("pico")) == "/dev/ttyACM0"
        touch_1200("/dev/ttyACM0")
        assert bootloader_started.wait(60) and ("baud", 1200) in [
            (name, value) for name, value, _ in board.lines
        ]
        assert not Path("/dev/ttyACM0").exists()


@check
def a_firmware_reports_its_model_over_usb() -> Any:
    """The firmware runs on an emulated board. The kernel's driver carries the board's serial data over USB."""
    if not Path("/dev/pts/ptmx").exists():
        Path("/dev/pts").mkdir(exist_ok=True)
        run("/bin/busybox", "mount", "-t", "devpts", "none", "/dev/pts")
    folder = Path("/tmp/stand-in")
    stand_in = replace(load_board("qemu_mps2_an386"), name="nano33ble")
    elf = direct_build(write_project(folder, toy_model.sources(), [], stand_in))
    directory = built(Path("/tmp/nano"), "nano33ble")
    tool = Path("/tmp/tools/JLinkExe")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    os.environ["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
    with (
        native_usb_board("2341:805a", "Nano 33 BLE") as board,
        start(stand_in, elf, timeout_s=120) as machine,
    ):
        board.on_data = machine.transport.write
        ended = threading.Event()

        def answers() -> None:
            while not ended.is_set():
                board.send(machine.transport.read(0.05))

        thread = threading.Thread(target=answers, daemon=True)
        thread.start()
        done = flash(directory, load_board("nano33ble"), "auto", tool="jlink")
        ended.set()
        thread.join(60)
    assert (done.port, done.verified) == ("/dev/ttyACM0", True)
    return done.to_json()


@check
def a_uf2_drive_accepts_the_program_and_disconnects() -> Any:
    """The simulated bootloader accepts every written sector that is a UF2 block, like a real bootloader."""
    image = fat_image(Path("/tmp/uf2.img"), 4096)
    gadget = Gadget("2e8a:0003", "RP2 Boot", "E0C912", port=False, image=image)
    drive = Path("/tmp/RPI-RP2")
    drive.mkdir()
    gadget.plug()
    try:
        wait_until(lambda: Path("/dev/sda").exists())
        mount = ("/bin/busybox", "mount", "-t", "vfat")
        wait_until(lambda: _done(*mount, "/dev/sda", str(drive)))
        (drive / "INFO_UF2.TXT").write_text(
            "UF2 Bootloader v3.0\nModel: Raspberry Pi RP2\nBoard-ID: RPI-RP2\n"
        )
        (drive / "INDEX.HTM").write_text("<html>")
        run("/bin/busybox", "sync")
        directory = built(Path("/tmp/project"), "pico", [(0x10000000, bytes(range(256)) * 300)])
        received: dict[int, bytes] = {}

        def bootloader() -> None:
            while True:
                data = image.read_bytes()
                for at in range(0, len(data), 512):
                    sector = data[at : at + 512]
                    if sector[:4] == b"UF2\n":
                        ((address, contents, _, count, _),) = read_uf2(sector)
                        received[address] = contents
                        if len(received) == count:
                            gadget.pull()
                            return
                time.sleep(0.1)

        thread = threading.Thread(target=bootloader, daemon=True)
        thread.start()
        started_at = time.monotonic()
        done = flash(directory, load_board("pico"), tool="uf2", check=False)
        thread.join(60)
        assert b"".join(received[at] for at in sorted(received)) == bytes(range(256)) * 300
        assert done.nbytes == 256 * 300
        return round(time.monotonic() - started_at, 2)
    finally:
        _done("/bin/busybox", "umount", "-l", str(drive))
        gadget.remove()


def _done(*command: str) -> bool:
    """Run a command, and return whether it succeeded."""
    try:
        run(*command)
    except RuntimeError:
        return False
    return True
