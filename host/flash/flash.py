"""Put a built firmware on a board: one command of the board's own tool, its failure turned into a sentence.

An emulated board has no flash of its own: starting the emulator is what flashes it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.errors import DeviceError, ToolError, UsageError
from arenite.host.emulator.machine import start
from arenite.host.flash.build import read_manifest
from arenite.host.link.client import DeviceClient
from arenite.host.link.mlperf import MonitorClient
from arenite.profiles.boards import Board

UPLOAD_TIMEOUT_S = 300.0
_ESPTOOL_CHIPS = (("esp32c", 6), ("esp32s", 7), ("esp32p", 7), ("esp32", 5), ("esp8266", 7))


@dataclass(frozen=True)
class Upload:
    """What an uploader is told: the project, its image, the board, and the port where there is one."""

    directory: Path
    board: Board
    elf: Path
    port: str | None

    @property
    def binary(self) -> Path:
        """The raw image that PlatformIO leaves beside the ELF."""
        return self.elf.with_suffix(".bin")


def _with_platformio(upload: Upload) -> list[str]:
    port = ["--upload-port", upload.port] if upload.port else []
    project = ["--project-dir", str(upload.directory), "--environment", upload.board.name]
    return [sys.executable, "-m", "platformio", "run", *project, "--target", "upload", *port]


def _with_stlink(upload: Upload) -> list[str]:
    """Of the open-source stlink tools; it wants a raw image and its address."""
    return ["st-flash", "--reset", "write", str(upload.binary), hex(upload.board.flash[0].origin)]


def _with_openocd(upload: Upload) -> list[str]:
    family = upload.board.mcu.lower()
    target = f"{family[:7]}x" if family.startswith("stm32") else family
    program = f"program {upload.elf} verify reset exit"
    return ["openocd", "-f", "interface/cmsis-dap.cfg", "-f", f"target/{target}.cfg", "-c", program]


def _with_pyocd(upload: Upload) -> list[str]:
    return ["pyocd", "load", "--target", upload.board.mcu.lower(), str(upload.elf)]


def _with_esptool(upload: Upload) -> list[str]:
    mcu = upload.board.mcu.lower().replace("-", "")
    chip = next((mcu[:length] for name, length in _ESPTOOL_CHIPS if mcu.startswith(name)), "auto")
    port = ["--port", upload.port] if upload.port else []
    return ["esptool", "--chip", chip, *port, "write-flash", "0x10000", str(upload.binary)]


UPLOADERS: dict[str, tuple[Callable[[Upload], list[str]], str]] = {
    "platformio": (_with_platformio, "pip install 'arenite[build]'"),
    "stlink": (_with_stlink, "apt install stlink-tools"),
    "openocd": (_with_openocd, "apt install openocd"),
    "pyocd": (_with_pyocd, "pip install pyocd"),
    "esptool": (_with_esptool, "pip install esptool"),
}


def upload_command(upload: Upload, tool: str | None = None) -> list[str]:
    """The command that uploads with ``tool``, or with the first tool of the board's profile that is installed.

    Raises:
        UsageError: the board is emulated, or its profile does not list ``tool``.
        ToolError: none of the tools is installed.
    """
    offered = [name for name in upload.board.upload_tools if name in UPLOADERS]
    if not offered:
        raise UsageError(
            f"{upload.board.name} has no uploader that Arenite can run.", "Use the vendor's own tool."
        )
    if tool is not None and tool not in offered:
        raise UsageError(
            f"{upload.board.name} is not uploaded with '{tool}'.", f"It takes {', '.join(offered)}."
        )
    for name in [tool] if tool else offered:
        command = UPLOADERS[name][0](upload)
        if shutil.which(command[0]):
            return command
    missing = tool or offered[0]
    raise ToolError(f"The uploader {missing} is not installed.", f"Install it: {UPLOADERS[missing][1]}")


def flash(directory: Path, board: Board, port: str | None = None, *, tool: str | None = None) -> None:
    """Upload the firmware in ``directory`` to a real board; for an emulated one, start it once and greet it.

    Raises:
        UsageError, ToolError: no such project or uploader.
        DeviceError: the uploader ran and failed, or the emulated board does not answer.
    """
    directory = Path(directory)
    elf = built_elf(directory)
    if board.emulated:
        greet(board, elf, read_manifest(directory)["protocol"])
        return
    command = upload_command(Upload(directory, board, elf, port), tool)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=UPLOAD_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{command[0]} did not finish within {UPLOAD_TIMEOUT_S:.0f} s.", "Unplug and replug."
        ) from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        told = next((line.strip() for line in lines if "rror" in line), lines[-1].strip())
        raise DeviceError(
            f"Uploading to {board.name} failed: {told}", "Is the board plugged in, and --port right?"
        )
    time.sleep(1.0)  # a board that was just flashed restarts, and its USB port may come back late


def greet(board: Board, elf: Path, protocol: str) -> None:
    """Start an emulated board with ``elf``, make sure that it answers, and stop it."""
    with start(board, elf) as machine:
        if protocol == "mlperf":
            MonitorClient(machine.transport).connect()
        else:
            DeviceClient(machine.transport).hello()


def built_elf(directory: Path) -> Path:
    """The ELF that the latest build of the project in ``directory`` left.  Raises UsageError when there is none."""
    board = read_manifest(directory)["board"]
    found = [Path(directory) / ".pio" / "build" / kind / "firmware.elf" for kind in (board, "direct")]
    present = [elf for elf in found if elf.is_file()]
    if not present:
        raise UsageError(f"{directory} is not built.", f"Run `arenite build {directory}`.")
    return max(present, key=lambda elf: elf.stat().st_mtime)
