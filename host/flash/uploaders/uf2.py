"""Flash by copying a UF2 file to the drive of the board's bootloader. The drive disappears when the program starts."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.files import write_atomic
from arenite.host.flash.bootloader import enter_bootloader
from arenite.host.flash.drives import Drive, drive_at, find_drives, put, wait_gone
from arenite.host.flash.elf_image import Program, Segment, read_program
from arenite.host.flash.uf2 import make_uf2
from arenite.host.flash.upload import Upload
from arenite.profiles.connections import Uf2Bootloader

INFO = "INFO_UF2.TXT"
APPEAR_TIMEOUT_S, DISAPPEAR_TIMEOUT_S = 10.0, 30.0


def _uf2_bootloader(upload: Upload) -> Uf2Bootloader:
    if upload.board.targets.uf2 is None:
        raise UsageError(f"{upload.board.name} has no UF2 bootloader.", "Choose another --tool.")
    return upload.board.targets.uf2


def flash_segments(upload: Upload, program: Program) -> list[Segment]:
    """Return the segments of ``program``. Raises UsageError if a segment is outside the board's flash, because the
    bootloader writes only flash."""
    regions = upload.board.flash
    for segment in program.segments:
        if not any(r.origin <= segment.address and segment.end <= r.origin + r.size for r in regions):
            flash_ranges = " or ".join(f"{r.origin:#x} to {r.origin + r.size:#x}" for r in regions)
            raise UsageError(
                f"The program has {len(segment.data):,} bytes at {segment.address:#x}, outside the flash of"
                f" {upload.board.name} ({flash_ranges}).",
                "Check that the project was built for this board and its bootloader.",
            )
    return list(program.segments)


class Uf2Uploader:
    """See ``Uploader``. ``port`` is the drive's folder, or the serial port of the running board. In the second case,
    the bootloader is started through this port."""

    name = "uf2"

    def missing(self) -> str | None:
        """See ``Uploader``: it needs no program."""
        return None

    def describe(self, upload: Upload) -> list[str]:
        """See ``Uploader``."""
        uf2_file = self._write_uf2(upload)
        drive = (
            shlex.quote(str(folder))
            if (folder := self._named_folder(upload))
            else f"<the drive whose {INFO} says {' or '.join(_uf2_bootloader(upload).boards)}>"
        )
        return [f"cp {shlex.quote(str(uf2_file))} {drive}/", "sync"]

    def run(self, upload: Upload) -> int:
        """See ``Uploader``."""
        bootloader = _uf2_bootloader(upload)
        uf2_file = self._write_uf2(upload)
        drive = self._find(upload, bootloader)
        self._check(upload, drive, bootloader)
        put(drive, uf2_file.name.upper(), uf2_file.read_bytes())
        wait_gone(drive, INFO, DISAPPEAR_TIMEOUT_S)
        return read_program(upload.elf).nbytes

    def _write_uf2(self, upload: Upload) -> Path:
        path = upload.elf.with_suffix(".uf2")
        segments = flash_segments(upload, read_program(upload.elf))
        write_atomic(path, make_uf2(segments, _uf2_bootloader(upload).family))
        return path

    def _named_folder(self, upload: Upload) -> Path | None:
        return Path(upload.port) if upload.port and Path(upload.port).is_dir() else None

    def _find(self, upload: Upload, bootloader: Uf2Bootloader) -> Drive:
        folder = self._named_folder(upload)
        if folder is not None:
            named_drive = drive_at(folder, INFO, upload.root)
            if not named_drive.facts:
                raise DeviceError(
                    f"{folder} does not contain {INFO}, so it is not a UF2 drive.",
                    "Name the folder of the bootloader's drive.",
                )
            return named_drive
        drives = find_drives(INFO, upload.root)
        if not any(_belongs_to(drive, bootloader) for drive in drives):
            end = time.monotonic() + (APPEAR_TIMEOUT_S if upload.port else 0.0)
            enter_bootloader(upload)
            while not (drives := find_drives(INFO, upload.root)) and time.monotonic() < end:
                time.sleep(0.1)
        fitting = [drive for drive in drives if _belongs_to(drive, bootloader)] or drives
        if len(fitting) > 1:
            names = ", ".join(f"{d.folder} ({d.facts.get('board-id', '?')})" for d in fitting)
            raise UsageError(f"Several UF2 drives are mounted: {names}.", "Choose one with --port FOLDER.")
        if fitting:
            return fitting[0]
        raise DeviceError(
            f"No UF2 drive of {upload.board.name} is mounted.",
            "Hold BOOTSEL while you connect the board, or press reset twice. If this computer does not mount drives"
            " automatically, run `udisksctl mount -b /dev/disk/by-label/LABEL`.",
        )

    def _check(self, upload: Upload, drive: Drive, bootloader: Uf2Bootloader) -> None:
        if not _belongs_to(drive, bootloader):
            raise DeviceError(
                f"The drive {drive.folder} belongs to a '{drive.facts.get('board-id', '?')}'"
                f" ({drive.facts.get('model', 'no model')}); {upload.board.name} is"
                f" '{' or '.join(bootloader.boards)}'.",
                "Connect the right board, or generate the project for this one.",
            )


def _belongs_to(drive: Drive, bootloader: Uf2Bootloader) -> bool:
    return drive.facts.get("board-id", "").lower() in [name.lower() for name in bootloader.boards]


UPLOADER = Uf2Uploader()
