"""``--port auto`` chooses the only port that can belong to the board. Otherwise the error contains a table of all
ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import AreniteError, DeviceError, UsageError
from arenite.host.link.ports import ADAPTERS, find_port, possible_boards, resolve_port
from arenite.host.link.usb import serial_ports, usb_devices
from arenite.profiles.boards import all_boards, load_board
from tests.host.link.usb_tree import UsbTree

NUCLEO = load_board("nucleo_l4r5zi")


@pytest.fixture
def tree(tmp_path: Path) -> UsbTree:
    """Return a simulated computer with a serial port that is not on USB, and a USB hub."""
    tree = UsbTree(tmp_path)
    tree.terminal("ttyS0")
    tree.plug("1d6b:0002", location="1-0", device_class="09", product="a hub")
    return tree


def st_link(tree: UsbTree, number: int, serial: str) -> str:
    """Plug in an ST-LINK, whose port is ttyACM and ``number``. Return the path of the port."""
    tree.plug(
        "0483:374b", (f"ttyACM{number}",), product="STM32 STLink", serial=serial, location=f"1-{number + 1}"
    )
    return str(tree.root / f"dev/ttyACM{number}")


def test_the_only_matching_port_is_used(tree: UsbTree) -> None:
    tree.plug("10c4:ea60", ("ttyUSB0",), product="CP2102N", location="1-4.2")
    path = st_link(tree, 0, "066AFF01")
    assert find_port(NUCLEO, tree.root) == path
    assert find_port(load_board("esp32dev"), tree.root) == str(tree.root / "dev/ttyUSB0")
    assert find_port(load_board("bluepill_f103c8"), tree.root) == str(tree.root / "dev/ttyUSB0")


def test_the_properties_of_a_usb_device_are_read(tree: UsbTree) -> None:
    tree.plug(
        "0483:374B",
        ("ttyACM3",),
        product="STM32 STLink",
        maker="STMicroelectronics",
        serial="066A",
        location="1-4.2",
    )
    (port,) = serial_ports(tree.root)
    assert (port.path, port.interface) == (str(tree.root / "dev/ttyACM3"), "00")
    device = port.device
    assert (device.id, device.product, device.maker, device.serial, device.location) == (
        *("0483:374b", "STM32 STLink", "STMicroelectronics", "066A", "1-4.2"),
    )
    assert usb_devices(tree.root) == [device]  # hubs are not listed


def test_no_connected_device_is_a_device_error(tree: UsbTree) -> None:
    with pytest.raises(DeviceError, match="no USB device with a serial port is connected") as caught:
        find_port(NUCLEO, tree.root)
    assert "0483:374b" in caught.value.hint
    assert caught.value.exit_code == 3


def test_another_board_is_shown_in_a_table(tree: UsbTree) -> None:
    tree.plug("0d28:0204", ("ttyACM0",), product="BBC micro:bit CMSIS-DAP", serial="9904360254")
    with pytest.raises(DeviceError) as caught:
        find_port(NUCLEO, tree.root)
    for text in ("ttyACM0", "0d28:0204", "BBC micro:bit CMSIS-DAP", "9904360254", "bbcmicrobit_v2"):
        assert text in caught.value.problem
    assert "frdm_k64f" not in caught.value.problem


def test_two_matching_ports_raise_an_error(tree: UsbTree) -> None:
    first, second = st_link(tree, 0, "066AFF01"), st_link(tree, 1, "066AFF02")
    with pytest.raises(UsageError) as caught:
        find_port(NUCLEO, tree.root)
    assert caught.value.exit_code == 2
    for text in (first, second, "066AFF01", "066AFF02"):
        assert text in caught.value.problem
    assert resolve_port(NUCLEO, "usb:066aff02", tree.root) == second
    with pytest.raises(DeviceError, match="has the serial number 066AFF03"):
        resolve_port(NUCLEO, "usb:066AFF03", tree.root)


def test_several_ports_of_one_device_are_distinguished_by_interface(tree: UsbTree) -> None:
    tree.plug("1366:1055", ("ttyACM0", "ttyACM1"), product="J-Link", serial="1050")
    with pytest.raises(UsageError, match="interface 02"):
        find_port(load_board("nrf5340dk"), tree.root)
    with pytest.raises(UsageError, match="has 2 ports"):
        resolve_port(load_board("nrf5340dk"), "usb:1050", tree.root)


@pytest.mark.parametrize(
    ("serial", "name"), [("9901", "bbcmicrobit"), ("9904", "bbcmicrobit_v2"), ("0240", "frdm_k64f")]
)
def test_serial_numbers_distinguish_boards_with_one_id(tree: UsbTree, serial: str, name: str) -> None:
    tree.plug("0d28:0204", ("ttyACM0",), serial=f"{serial}0000abcd")
    (port,) = serial_ports(tree.root)
    assert possible_boards(port) == [name]
    with pytest.raises(DeviceError):
        find_port(load_board("max78000fthr"), tree.root)


def test_a_board_in_its_bootloader_is_recognized(tree: UsbTree) -> None:
    tree.plug("2e8a:0003", product="RP2 Boot")
    with pytest.raises(DeviceError, match=r"in its bootloader \(2e8a:0003 RP2 Boot\)") as caught:
        find_port(load_board("pico"), tree.root)
    assert "--tool uf2" in caught.value.hint


def test_a_port_for_uploads_is_only_used_for_uploads(tree: UsbTree) -> None:
    board = load_board("esp32-s3-devkitc-1")
    tree.plug("303a:1001", ("ttyACM0",), product="USB JTAG/serial debug unit")
    assert find_port(board, tree.root, upload=True).endswith("ttyACM0")
    with pytest.raises(AreniteError):
        find_port(board, tree.root)


def test_an_unknown_device_is_listed_as_unknown(tree: UsbTree) -> None:
    tree.plug("dead:beef", ("ttyACM0",))
    with pytest.raises(DeviceError, match="none of the known boards"):
        find_port(NUCLEO, tree.root)


def test_a_named_port_is_used_unchanged(tree: UsbTree) -> None:
    assert resolve_port(NUCLEO, "/dev/ttyACM9", tree.root) == "/dev/ttyACM9"
    assert resolve_port(NUCLEO, None, tree.root) is None
    with pytest.raises(UsageError, match="emulated"):
        find_port(load_board("qemu_microbit"), tree.root)


@pytest.mark.slow
def test_every_real_board_is_found_by_each_of_its_ids(tmp_path: Path) -> None:
    for board in all_boards():
        if board.emulated:
            continue
        ids = board.usb.ids or tuple(ADAPTERS)
        for k, id in enumerate(ids):
            tree = UsbTree(tmp_path / f"{board.name}-{k}")
            tree.plug(id, ("ttyACM0",), serial=f"{(board.usb.serials or ('FFFF',))[0]}01")
            assert find_port(board, tree.root).endswith("ttyACM0"), (board.name, id)


def test_the_ports_of_this_computer_are_listed() -> None:
    """On this computer, the ports are listed without an error, and their paths exist."""
    for port in serial_ports():
        assert Path(port.path).exists()
    usb_devices()
