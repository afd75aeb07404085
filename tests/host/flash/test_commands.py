"""The real st-flash, OpenOCD, pyOCD and dfu-util accept Arenite's arguments, and their errors become messages.

The tests are skipped on a machine with a debug probe.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import DeviceError, ToolError, UsageError
from arenite.host.flash.choose_uploader import UPLOADERS, choose
from arenite.host.flash.elf_image import flat_image, raw_image, read_program
from arenite.host.flash.flash import built_elf, flash
from arenite.host.flash.probes import kind_of, probe_kind, probe_serial
from arenite.host.flash.upload import CommandUploader, Upload, explain
from arenite.host.flash.uploaders.openocd import tcl_word
from arenite.host.link.usb import usb_devices
from arenite.profiles.boards import all_boards, load_board
from tests.host.flash.elf_file import write_elf
from tests.host.flash.projects import built
from tests.host.flash.real_tools import need
from tests.host.link.usb_tree import UsbTree

if any(kind_of(device) for device in usb_devices()):
    pytest.skip("a debug probe is connected", allow_module_level=True)

NUCLEO, NRF, NETDUINO = (load_board(name) for name in ("nucleo_l4r5zi", "nrf52840_dk", "netduino2plus"))
MINIMA = load_board("uno_r4_minima")


def test_the_error_of_st_flash_without_a_probe_names_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("st-flash", monkeypatch)
    with pytest.raises(DeviceError, match="No ST-LINK of nucleo_l4r5zi is connected"):
        flash(built(tmp_path / "p", "nucleo_l4r5zi"), NUCLEO, tool="stlink", probe="066AFF", root=tmp_path)


@pytest.mark.parametrize("probe_type", ["stlink", "cmsis-dap", "jlink"])
def test_the_error_of_openocd_without_a_probe_names_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe_type: str
) -> None:
    need("openocd", monkeypatch)
    board = replace(NUCLEO, usb=replace(NUCLEO.usb, probe=probe_type))
    with pytest.raises(DeviceError, match="No debug probe of nucleo_l4r5zi is connected"):
        flash(built(tmp_path / "a b [c] $d", "nucleo_l4r5zi"), board, tool="openocd", root=tmp_path)


def test_a_missing_script_of_openocd_for_the_chip_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("openocd", monkeypatch)
    board = replace(NUCLEO, targets=replace(NUCLEO.targets, openocd="stm32q9x"))
    with pytest.raises(ToolError, match=r"target/stm32q9x\.cfg is missing"):
        flash(built(tmp_path / "p", "nucleo_l4r5zi"), board, tool="openocd", root=tmp_path)


def test_openocd_accepts_the_scripts_of_every_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenOCD reads each of its scripts until it needs a probe. A missing script raises an error."""
    need("openocd", monkeypatch)
    checked = 0
    checked_keys = set()
    elf = write_elf(tmp_path / "firmware.elf", [(0, b"x")])
    for board in all_boards():
        key = (board.targets.openocd, board.usb.probe)
        if "openocd" not in board.upload_tools or key in checked_keys:
            continue
        checked_keys.add(key)
        upload = Upload(tmp_path, board, elf, root=tmp_path)
        command = UPLOADERS["openocd"].describe(upload)[0]
        process = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=30)
        tool = UPLOADERS["openocd"]
        assert isinstance(tool, CommandUploader) and process.returncode
        error = explain(tool, upload, process.stdout + process.stderr)
        assert "No debug probe" in error.problem or "does not know the chip" in error.problem, (
            board.name,
            process.stderr,
        )
        checked += "No debug probe" in error.problem
    assert checked >= 10


@pytest.mark.slow
def test_the_error_of_pyocd_without_a_probe_names_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("pyocd", monkeypatch, "pyocd")
    with pytest.raises(DeviceError, match="No debug probe of nrf52840_dk is connected"):
        flash(built(tmp_path / "p", "nrf52840_dk"), NRF, tool="pyocd", root=tmp_path)


def test_the_error_of_dfu_util_without_a_board_names_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("dfu-util", monkeypatch)
    for board in (NETDUINO, MINIMA):
        directory = built(tmp_path / board.name, board.name)
        with pytest.raises(DeviceError, match=f"{board.name} is not in its DFU bootloader"):
            flash(directory, board, tool="dfu", probe="1234", root=tmp_path)


def test_the_dfu_command_has_the_options_of_the_boards_bootloader(tmp_path: Path) -> None:
    (line,) = UPLOADERS["dfu"].describe(_upload(tmp_path, "netduino2plus"))
    assert "--device 0483:df11" in line and "--dfuse-address 0x08000000:leave" in line
    (line,) = UPLOADERS["dfu"].describe(_upload(tmp_path, "uno_r4_minima"))
    assert "--device 2341:0069,2341:0369" in line and "--reset" in line and "dfuse" not in line


def test_the_jlink_script_loads_resets_and_starts(tmp_path: Path) -> None:
    (line,) = UPLOADERS["jlink"].describe(_upload(tmp_path, "nrf52840_dk"))
    assert line.startswith("JLinkExe ") and "-Device nRF52840_xxAA -If SWD" in line
    script = Path(line.split()[-1]).read_text().splitlines()
    assert script == [
        f'loadfile "{tmp_path}/nrf52840_dk/.pio/build/nrf52840_dk/firmware.elf"',
        "r",
        "g",
        "exit",
    ]


HOSTILE_SERIALS = ["[exec touch pwned]", "a; shutdown", "$env(HOME)", "a} b", "-1", "a b", "1\x1b[2J", "ü"]


@pytest.mark.parametrize("serial", HOSTILE_SERIALS)
@pytest.mark.parametrize("tool", ["openocd", "pyocd", "jlink", "stlink", "dfu"])
def test_a_serial_number_that_could_be_a_command_is_refused(tmp_path: Path, tool: str, serial: str) -> None:
    """A USB device chooses its serial number, and OpenOCD's options are scripts."""
    upload = _upload(tmp_path, "netduino2plus" if tool == "dfu" else "nucleo_l4r5zi")
    with pytest.raises(UsageError, match="is not a serial number"):
        UPLOADERS[tool].describe(replace(upload, probe=serial))
    if tool != "dfu":  # DFU devices have no serial port
        tree = UsbTree(tmp_path / "usb")
        tree.plug("0483:374b", ("ttyACM2",), serial=serial)
        upload = replace(upload, root=tree.root, port=str(tree.root / "dev/ttyACM2"))
        with pytest.raises(DeviceError, match="serial number") as error:
            UPLOADERS[tool].describe(upload)
        assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("text", ["a b", "[exit 3]", "$x", "a}b{", "a;b #\\", "a\tb\"'", "", "plain-1.2:3"])
def test_openocd_reads_a_quoted_word_as_the_same_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    need("openocd", monkeypatch)
    script = f"echo <{tcl_word(text)}>" if text else f"echo <[string length {tcl_word(text)}]>"
    process = subprocess.run(
        ["openocd", "-c", script, "-c", "shutdown"], capture_output=True, text=True, timeout=30
    )
    assert f"<{text or 0}>\n" in process.stderr, process.stderr
    assert process.returncode == 0


@pytest.mark.parametrize("name", ["a} ; exit 0 ; {b", "a{b", "a\\b", "a\nb", "a\x1bb"])
def test_openocd_refuses_a_path_that_leaves_its_braces(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="which OpenOCD cannot read"):
        UPLOADERS["openocd"].describe(_upload(tmp_path / name, "nucleo_l4r5zi"))


@pytest.mark.parametrize("name", ['a" b', "a\nexit\nb"])
def test_jlink_refuses_a_path_that_leaves_its_quotation_marks(tmp_path: Path, name: str) -> None:
    upload = _upload(tmp_path / name, "nrf52840_dk")
    with pytest.raises(UsageError, match="which J-Link Commander cannot read"):
        UPLOADERS["jlink"].describe(upload)
    assert not upload.elf.with_suffix(".jlink").exists()


def _upload(folder: Path, name: str, **more: object) -> Upload:
    """Return the upload of a built project for the board ``name``."""
    directory = built(folder / name, name)
    return Upload(directory, load_board(name), built_elf(directory), root=folder, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "tool", "sentence"),
    [
        (
            "0000390 C Target type 'stm32l4r5zitx' not recognized. Use 'pyocd list'",
            "pyocd",
            "pack install stm32l4r5",
        ),
        ("Error: init mode failed (unable to connect to the target)", "openocd", "does not find the chip"),
        ("** Verify Failed **", "openocd", "differs from the program"),
        ("dfu-util: More than one DFU capable USB device found!", "dfu", "Several boards"),
        (
            "dfu-util: Cannot open DFU device 0483:df11 found on devnum 6 (LIBUSB_ERROR_ACCESS)",
            "dfu",
            "No permission",
        ),
        ("Connecting to J-Link via USB...FAILED: Failed to open DLL", "jlink", "No J-Link of"),
    ],
)
def test_messages_of_the_tools_are_explained(tmp_path: Path, message: str, tool: str, sentence: str) -> None:
    uploader = UPLOADERS[tool]
    assert isinstance(uploader, CommandUploader)
    assert sentence in str(explain(uploader, _upload(tmp_path, "nucleo_l4r5zi"), f"hello\n{message}\n"))


def test_the_probe_of_the_board_is_preferred(tmp_path: Path) -> None:
    tree = UsbTree(tmp_path / "usb")
    upload = replace(_upload(tmp_path, "nucleo_l4r5zi"), root=tree.root)
    assert probe_kind(upload) == "stlink"
    tree.plug("1366:0105", product="J-Link", serial="000050", location="1-1")
    assert probe_kind(upload) == "jlink"
    tree.plug("2e8a:000c", ("ttyACM1",), product="Debug Probe (CMSIS-DAP)", serial="E66", location="1-2")
    with pytest.raises(UsageError, match="Probes of several kinds"):
        probe_kind(upload)
    assert probe_kind(replace(upload, probe="e66")) == "cmsis-dap"
    tree.plug("0483:374b", ("ttyACM2",), serial="066A", location="1-3")
    assert probe_kind(upload) == "stlink"
    # The serial port identifies the probe.
    assert probe_serial(replace(upload, port=str(tree.root / "dev/ttyACM2"))) == "066A"
    assert probe_serial(upload) is None


def test_a_profile_without_a_target_raises_an_error(tmp_path: Path) -> None:
    board = replace(NUCLEO, targets=replace(NUCLEO.targets, pyocd="", openocd="", jlink=""))
    upload = replace(_upload(tmp_path, "nucleo_l4r5zi"), board=board)
    for tool in ("pyocd", "openocd", "jlink", "dfu"):
        with pytest.raises(UsageError, match=r"Choose another --tool"):
            UPLOADERS[tool].describe(upload)
    assert choose(board, "gdb").missing() is None


def test_a_tool_beside_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip installs the tool into an environment that is not activated."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pyocd").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin/pyocd").chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    assert UPLOADERS["pyocd"].missing() is None
    (line,) = UPLOADERS["pyocd"].describe(_upload(tmp_path, "nrf52840_dk"))
    assert line.startswith(f"{tmp_path}/bin/pyocd load ")


def test_raw_images_fill_gaps_with_erased_bytes(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "a.elf", [(0x08000010, b"second"), (0x08000000, b"first")])
    path, address = raw_image(elf)
    assert (path.read_bytes(), address) == (b"first" + b"\xff" * 11 + b"second", 0x08000000)
    distant_segments = read_program(write_elf(tmp_path / "b.elf", [(0, b"a"), (0x20000000, b"b")]))
    with pytest.raises(UsageError, match="too far apart for a single image"):
        flat_image(distant_segments)
    with pytest.raises(UsageError, match="overlap at 0x4"):
        read_program(write_elf(tmp_path / "c.elf", [(0, b"abcdef"), (4, b"x")]))
    (tmp_path / "d.elf").write_bytes(b"no ELF at all")
    with pytest.raises(UsageError, match="is not an ELF file"):
        read_program(tmp_path / "d.elf")
    with pytest.raises(UsageError, match="no loadable segment"):
        read_program(write_elf(tmp_path / "e.elf", []))
