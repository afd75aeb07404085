"""Tests of the UF2 format with an independent reader, and of the drives of bootloaders."""

from __future__ import annotations

import os
import pty
import termios
import threading
import time
import tty
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import DeviceError, ToolError, UsageError
from arenite.host.flash import drives
from arenite.host.flash import flash as flashing
from arenite.host.flash.drives import Drive, find_drives, put
from arenite.host.flash.elf_image import Segment
from arenite.host.flash.flash import flash, upload_commands
from arenite.host.flash.uf2 import make_uf2
from arenite.host.flash.uploaders import uf2 as uploader
from arenite.profiles.boards import all_boards, load_board
from tests.host.flash.projects import built
from tests.host.flash.uf2_bootloader import Bootloader, read_uf2
from tests.host.link.usb_tree import UsbTree

PICO = load_board("pico")
RP2040, RP2350, SAMD51 = 0xE48BFF56, 0xE48BFF59, 0x55114460
SEGMENTS = st.lists(
    st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=700)), min_size=1, max_size=4
).map(
    # The segments are in ascending order with gaps of 0 to 60 bytes.
    lambda parts: [
        Segment(0x10000000 + sum(g + len(d) for g, d in parts[:k]) + gap, data)
        for k, (gap, data) in enumerate(parts)
    ]
)


@given(SEGMENTS)
def test_blocks_contain_every_byte_and_erased_gaps(segments: list[Segment]) -> None:
    blocks = read_uf2(make_uf2(segments, RP2040))
    memory: dict[int, int] = {}
    for k, (address, data, number, count, family) in enumerate(blocks):
        assert (number, count, family) == (k, len(blocks), RP2040)
        assert len(data) == 256 and address % 256 == 0
        for offset, byte in enumerate(data):
            assert address + offset not in memory
            memory[address + offset] = byte
    for segment in segments:
        for offset, byte in enumerate(segment.data):
            assert memory.pop(segment.address + offset) == byte
    assert set(memory.values()) <= {0xFF}


@pytest.mark.parametrize(
    ("board", "family", "board_id"),
    [
        ("pico", RP2040, "RPI-RP2"),
        ("rpipico2", RP2350, "RP2350"),
        ("adafruit_feather_m4", SAMD51, "SAMD51J19A-FeatherM4-v0"),
        ("adafruit_feather_nrf52840", 0xADA52840, "nRF52840-Feather-revE"),
    ],
)
def test_the_program_is_written_and_the_drive_disappears(
    tmp_path: Path, board: str, family: int, board_id: str
) -> None:
    profile = load_board(board)
    origin = profile.flash[0].origin
    segments = [(origin, bytes(range(256)) * 5), (origin + 0x1800, b"tables" * 50)]
    directory = built(tmp_path / "p", board, segments)
    with Bootloader(tmp_path / "root", family, board_id, label="A drive") as boot:
        result = flash(directory, profile, tool="uf2", check=False, root=tmp_path / "root")
        assert not boot.drive.exists()
        assert boot.error is None
    for address, data in segments:
        actual = b"".join(boot.memory.get(address + offset, b"") for offset in range(0, len(data), 256))
        assert actual[: len(data)] == data
    assert (result.tool, result.nbytes) == ("uf2", 5 * 256 + 300)


def test_a_drive_of_another_board_raises_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico")
    with Bootloader(tmp_path / "root", RP2350, "RP2350", model="Raspberry Pi RP2350") as boot:
        with pytest.raises(
            DeviceError, match=r"belongs to a 'RP2350' \(Raspberry Pi RP2350\); pico is 'RPI-RP2'"
        ):
            flash(directory, PICO, tool="uf2", root=tmp_path / "root")
        assert [path.name for path in boot.drive.iterdir()] == ["INFO_UF2.TXT"]


def test_a_bootloader_ignores_another_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drive reports the right board, but its chip has another family: flashing raises an error."""
    monkeypatch.setattr(uploader, "DISAPPEAR_TIMEOUT_S", 0.3)
    directory = built(tmp_path / "p", "pico")
    with Bootloader(tmp_path / "root", RP2350, "RPI-RP2") as boot:
        with pytest.raises(DeviceError, match="did not accept the program"):
            flash(directory, PICO, tool="uf2", root=tmp_path / "root")
        assert boot.memory == {} and boot.error is None


def test_the_drive_of_the_right_board_is_used(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico")
    root = tmp_path / "root"
    with (
        Bootloader(root, RP2350, "RP2350", label="RP2350") as other_board,
        Bootloader(root, RP2040, "RPI-RP2") as boot,
    ):
        flash(directory, PICO, tool="uf2", check=False, root=root)
        assert boot.memory and not other_board.memory


def test_several_drives_of_the_same_board_raise_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico")
    root = tmp_path / "root"
    with (
        Bootloader(root, RP2040, "RPI-RP2", label="A") as first_board,
        Bootloader(root, RP2040, "RPI-RP2", label="B") as second_board,
    ):
        with pytest.raises(UsageError, match="Several UF2 drives"):
            flash(directory, PICO, tool="uf2", root=root)
        flash(directory, PICO, str(second_board.drive), tool="uf2", check=False, root=root)
        assert second_board.memory and not first_board.memory


def test_a_board_in_its_bootloader_is_flashed_with_port_auto(tmp_path: Path) -> None:
    """A board in its bootloader has no serial port. ``--port auto`` works for it and for a running board."""
    directory = built(tmp_path / "p", "pico")
    root = tmp_path / "root"
    tree = UsbTree(root)
    tree.plug("2e8a:0003", product="RP2 Boot")
    with Bootloader(root, RP2040, "RPI-RP2") as boot:
        flash(directory, PICO, "auto", tool="uf2", check=False, root=root)
        assert boot.memory


def test_a_running_board_is_switched_to_its_bootloader(tmp_path: Path) -> None:
    """The board's port, a pseudo-terminal, is opened at 1200 baud. Then the board disappears and reappears as a
    drive."""
    near, far = pty.openpty()
    tty.setraw(far)
    directory = built(tmp_path / "p", "pico")
    root = tmp_path / "root"
    tree = UsbTree(root)
    tree.plug("2e8a:00c0", ("ttyACM0",), product="Pico")
    tree.link_port("ttyACM0", os.ttyname(far))
    bootloaders: list[Bootloader] = []

    def board() -> None:
        while termios.tcgetattr(far)[4] != termios.B1200:
            time.sleep(0.005)
        (root / "dev/ttyACM0").unlink()
        (root / "sys/class/tty/ttyACM0").unlink()
        tree.plug("2e8a:0003", product="RP2 Boot", location="1-2")
        boot = Bootloader(root, RP2040, "RPI-RP2")
        with boot:
            bootloaders.append(boot)
            while boot.drive.exists():
                time.sleep(0.01)

    thread = threading.Thread(target=board, daemon=True)
    thread.start()
    flash(directory, PICO, "auto", tool="uf2", check=False, root=root)
    thread.join(60)
    assert bootloaders[0].memory
    os.close(near)
    os.close(far)


def test_a_board_without_a_serial_port_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Pico uses pins for its serial port. If no port is given, the board is not verified, and a note reports it."""
    monkeypatch.setattr(flashing, "RECONNECT_S", 0.3)
    directory = built(tmp_path / "p", "pico")
    root = tmp_path / "root"
    UsbTree(root)
    with Bootloader(root, RP2040, "RPI-RP2"):
        result = flash(directory, PICO, tool="uf2", root=root)
    assert result.verified is None and "The board was not asked which model it runs" in result.note


def test_a_missing_drive_raises_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico")
    (tmp_path / "root").mkdir()
    with pytest.raises(DeviceError, match="No UF2 drive of pico") as caught:
        flash(directory, PICO, tool="uf2", root=tmp_path / "root")
    assert "BOOTSEL" in caught.value.hint
    with pytest.raises(DeviceError, match=r"does not contain INFO_UF2\.TXT"):
        flash(directory, PICO, str(tmp_path), tool="uf2", root=tmp_path / "root")


def test_a_program_outside_the_flash_raises_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico", [(0x08000000, b"for an STM32")])
    with pytest.raises(UsageError, match="12 bytes at 0x8000000, outside the flash of pico"):
        flash(directory, PICO, tool="uf2", root=tmp_path)
    with pytest.raises(UsageError, match="has no UF2 bootloader"):
        flash(
            built(tmp_path / "q", "nucleo_l4r5zi"),
            replace(load_board("nucleo_l4r5zi"), upload_tools=("uf2",)),
            tool="uf2",
            root=tmp_path,
        )


def test_the_plan_writes_the_file_and_prints_the_copy_command(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "pico")
    copy, sync = upload_commands(directory, PICO, tool="uf2", root=tmp_path)
    words = copy.split()
    assert words[0] == "cp" and "RPI-RP2" in copy and sync == "sync"
    assert read_uf2(Path(words[1]).read_bytes())


def test_a_full_drive_raises_an_error() -> None:
    """/dev/full simulates a full drive."""
    with pytest.raises(ToolError, match="No space left"):
        put(Drive(Path("/dev"), {}), "full", b"x" * 600)


def test_a_failing_sync_is_ignored_if_the_drive_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bootloader starts the program after the last block, so later system calls on the drive fail."""
    folder = tmp_path / "drive"
    folder.mkdir()

    def gone(handle: int) -> None:
        (folder / "A.UF2").unlink()
        folder.rmdir()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(drives.os, "fsync", gone)  # type: ignore[attr-defined]
    put(Drive(folder, {}), "A.UF2", b"x" * 512)


def test_only_fat_file_systems_are_searched(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/INFO_UF2.TXT").write_text("Board-ID: RPI-RP2\n")
    (tmp_path / "proc/mounts").write_text("/dev/sda1 /home ext4 rw 0 0\n")
    assert find_drives("INFO_UF2.TXT", tmp_path) == []


def test_every_profile_with_uf2_names_family_and_board() -> None:
    for board in all_boards():
        if "uf2" in board.upload_tools:
            assert board.targets.uf2 is not None and board.targets.uf2.boards
            assert board.targets.uf2.family > 0xFFFF
