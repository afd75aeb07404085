"""Write a built firmware to a board with a tool that its profile lists, then ask the board which model it runs.

An emulated board has no flash. The emulator loads the program when it starts, unless ``--tool gdb`` loads it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.emulator.machine import command_line, start
from arenite.host.flash.bootloader import is_in_bootloader
from arenite.host.flash.build import built_elsewhere, read_manifest
from arenite.host.flash.choose_uploader import UPLOADERS, choose, reject_unused
from arenite.host.flash.elf_image import read_program
from arenite.host.flash.upload import Upload
from arenite.host.flash.uploaders.gdb import flashed_emulator
from arenite.host.flash.verify import (
    RECONNECT_S,
    DeviceNotBackError,
    Identity,
    compare,
    identify,
    wait_and_compare,
)
from arenite.host.link.ports import AUTO, find_port, resolve_port
from arenite.profiles.boards import Board

__all__ = ["UPLOADERS", "FlashResult", "Upload", "built_elf", "flash", "upload_commands"]

EMULATOR = "emulator"
#: The files that CMake, ESP-IDF and Zephyr write to the folder ``build`` of an application.
_APP_ELFS = ("firmware.elf", "application.elf", "zephyr/zephyr.elf")


@dataclass(frozen=True)
class FlashResult:
    """The result of an upload. ``verified`` is true if the board reported that it runs the project's model, and None if
    the board could not be asked or its answer could not be compared. ``note`` is then the reason if it is known."""

    tool: str
    port: str | None
    nbytes: int
    identity: Identity | None
    verified: bool | None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields of ``arenite.flash/1`` except directory and board."""
        identity = self.identity
        return {
            "tool": self.tool,
            "port": self.port,
            "bytes": self.nbytes,
            "model": identity.model if identity else None,
            "model_hash": identity.model_hash if identity else None,
            "verified": self.verified,
            "note": self.note or None,
        }


def flash(
    directory: Path,
    board: Board,
    port: str | None = None,
    *,
    tool: str | None = None,
    probe: str | None = None,
    extra: Sequence[str] = (),
    check: bool = True,
    root: Path | None = None,
) -> FlashResult:
    """Upload the firmware in ``directory`` to ``board``, then ask the board which model it runs.

    Args:
        directory: a built project.
        board: a real board, or an emulated board, which is started, asked and stopped.
        port: the serial port, ``auto`` or ``usb:SERIAL``; HOST:PORT for gdb; the folder of a drive for uf2 and copy.
        tool: a name in UPLOADERS. Default: the first tool in the profile that is installed.
        probe: the serial number of the debug probe. Default: the tool chooses.
        extra: more arguments for the tool.
        check: ask a real board after the upload which model it runs.
        root: the folder that contains ``sys``, ``dev`` and ``proc``. Default: the root of the file system.

    Raises:
        UsageError, ToolError: the project, the port or the uploader does not exist.
        DeviceError: the uploader ran and failed, or the board does not answer or runs another model.
    """
    upload, manifest = _prepare_upload(directory, board, port, tool, probe, extra, root)
    if board.emulated and upload.port is None:
        reject_unused(board, tool or EMULATOR, probe, extra)
        return _flash_emulator(upload, manifest, tool)
    uploader = choose(board, tool)
    reject_unused(board, uploader.name, probe, extra)
    nbytes = uploader.run(upload)
    if not check or board.emulated or manifest["protocol"] == "app":  # an application has no protocol
        return FlashResult(uploader.name, upload.port, nbytes, None, None, "not asked")
    return _ask_board(uploader.name, upload, port, nbytes, manifest)


def upload_commands(
    directory: Path,
    board: Board,
    port: str | None = None,
    *,
    tool: str | None = None,
    probe: str | None = None,
    extra: Sequence[str] = (),
    root: Path | None = None,
) -> list[str]:
    """Return the commands that :func:`flash` would run, as lines for a shell. Nothing is flashed."""
    upload, _ = _prepare_upload(directory, board, port, tool, probe, extra, root)
    if board.emulated and tool in (None, EMULATOR):
        reject_unused(board, EMULATOR, probe, extra)
        arguments = command_line(board, upload.elf)
        return [
            shlex.join(argument for argument in arguments if argument not in ("-qmp", "stdio", "--preconfig"))
        ]
    uploader = choose(board, tool, installed=False)
    reject_unused(board, uploader.name, probe, extra)
    return uploader.describe(upload)


def _prepare_upload(
    directory: Path,
    board: Board,
    port: str | None,
    tool: str | None,
    probe: str | None,
    extra: Sequence[str],
    root: Path | None,
) -> tuple[Upload, dict[str, Any]]:
    directory = Path(directory)
    manifest = read_manifest(directory)
    if manifest["protocol"] == "app" and board.emulated:
        raise UsageError(
            f"{directory} is an application for the emulated board {manifest['board']}.",
            "Run it with `arenite app IMAGE --board NAME -o DIRECTORY --play FILE.wav`.",
        )
    elf = built_elf(directory)
    upload = Upload(directory, board, elf, None, probe, tuple(extra), root)
    if board.emulated:
        if port is not None and tool != "gdb":
            raise UsageError(
                f"{board.name} is emulated and does not have a port.",
                "Remove --port, or load into a running GDB server: --tool gdb --port HOST:PORT.",
            )
        return replace(upload, port=port), manifest
    if port == AUTO and tool in ("uf2", "dfu") and is_in_bootloader(upload):
        return upload, manifest  # a board in its bootloader has no serial port, and the tool needs none
    return replace(upload, port=resolve_port(board, port, root, upload=tool == "esptool")), manifest


def _flash_emulator(upload: Upload, manifest: dict[str, Any], tool: str | None) -> FlashResult:
    if tool not in (None, EMULATOR, "gdb"):
        raise UsageError(
            f"{upload.board.name} is emulated: '{tool}' cannot flash it.",
            "Use --tool gdb, or remove --tool.",
        )
    program = read_program(upload.elf)
    running_emulator = flashed_emulator(upload) if tool == "gdb" else start(upload.board, upload.elf)
    with running_emulator as machine:
        identity = identify(machine.transport, manifest["protocol"])
        is_project_model = compare(identity, manifest, machine.port)
    return FlashResult(tool or EMULATOR, None, program.nbytes, identity, is_project_model or None)


def _ask_board(
    tool: str, upload: Upload, port_option: str | None, nbytes: int, manifest: dict[str, Any]
) -> FlashResult:
    """Ask the board which model it runs, on the port that the user named, or if there is none on the only port that can
    belong to the board.

    If the user named no port and no port is found, the board is not asked, and the note of the result says so.
    """
    board, upload_port = upload.board, upload.port
    is_fixed_port = (
        upload_port is not None
        and port_option != AUTO
        and not Path(upload_port).is_dir()
        and ":" not in upload_port
    )

    def port() -> str:
        """Return the board's port. If the user named no fixed port, search again, because a port of the chip's own USB
        controller may change its name."""
        return upload_port if is_fixed_port and upload_port is not None else find_port(board, upload.root)

    # Only a board whose chip has a USB controller disconnects for some seconds. Probes and USB adapters stay connected.
    timeout_s = RECONNECT_S if is_fixed_port or port_option == AUTO or board.targets.enter else 0.0
    try:
        path, identity, is_project_model = wait_and_compare(
            port, manifest.get("baud", board.uart.baud), manifest, timeout_s
        )
    except DeviceNotBackError as error:
        if is_fixed_port or port_option == AUTO:
            raise
        note = f"The board was not asked which model it runs: {error.problem.splitlines()[0]}"
        return FlashResult(tool, None, nbytes, None, None, note)
    return FlashResult(tool, path, nbytes, identity, is_project_model or None)


def built_elf(directory: Path) -> Path:
    """Return the ELF of the latest build in ``directory``. Raises UsageError if the project is not built."""
    manifest = read_manifest(directory)
    candidates = [
        Path(directory) / ".pio" / "build" / build_name / "firmware.elf"
        for build_name in (manifest["board"], "direct")
    ]
    if manifest["protocol"] == "app":
        candidates += [Path(directory) / "build" / name for name in _APP_ELFS]
    built_files = [elf for elf in candidates if elf.is_file()]
    if not built_files:
        if (error := built_elsewhere(directory, manifest)) is not None:
            raise UsageError(f"{directory} is not built: the tools of its framework build it.", error.hint)
        raise UsageError(f"{directory} is not built.", f"Run `arenite build {directory}`.")
    return max(built_files, key=lambda elf: elf.stat().st_mtime)
