"""UF2 mass storage: the program is copied to the bootloader's drive, and the drive disappears."""

from __future__ import annotations

import time
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.files import write_atomic
from arenite.host.flash.bootloader import enter
from arenite.host.flash.drives import Drive, drive_at, find_drives, put, wait_gone
from arenite.host.flash.elf_image import Program, Segment, read_program
from arenite.host.flash.uf2 import make_uf2
from arenite.host.flash.upload import Upload
from arenite.profiles.connections import Uf2Bootloader

INFO = "INFO_UF2.TXT"
COMES_S, GOES_S = 10.0, 30.0


def _facts(upload: Upload) -> Uf2Bootloader:
    if upload.board.targets.uf2 is None:
        raise UsageError(f"{upload.board.name} has no UF2 bootloader.", "Choose another --tool.")
    return upload.board.targets.uf2


def in_flash(upload: Upload, program: Program) -> list[Segment]:
    """The segments in the board's flash, the only ones that its bootloader writes. Raises UsageError if one
    is outside."""
    regions = upload.board.flash
    for segment in program.segments:
        if not any(r.origin <= segment.address and segment.end <= r.origin + r.size for r in regions):
            where = " or ".join(f"{r.origin:#x} to {r.origin + r.size:#x}" for r in regions)
            raise UsageError(
                f"The program has {len(segment.data):,} bytes at {segment.address:#x}, outside the flash of"
                f" {upload.board.name} ({where}).",
                "Was it built for this board and its bootloader?",
            )
    return list(program.segments)


class Uf2Uploader:
    """See ``Uploader``. ``port``: the drive's folder, or a port of the running board, whose bootloader is
    started through it."""

    name = "uf2"

    def missing(self) -> str | None:
        """See ``Uploader``: it needs no program."""
        return None

    def describe(self, upload: Upload) -> list[str]:
        """See ``Uploader``."""
        uf2_data = self._make(upload)
        drive = self._chosen(upload) or f"<the drive whose {INFO} says {' or '.join(_facts(upload).boards)}>"
        return [f"cp {uf2_data} {drive}/", "sync"]

    def run(self, upload: Upload) -> int:
        """See ``Uploader``."""
        facts = _facts(upload)
        uf2_data = self._make(upload)
        drive = self._find(upload, facts)
        self._check(upload, drive, facts)
        put(drive, uf2_data.name.upper(), uf2_data.read_bytes())
        wait_gone(drive, INFO, GOES_S)
        return read_program(upload.elf).nbytes

    def _make(self, upload: Upload) -> Path:
        path = upload.elf.with_suffix(".uf2")
        segments = in_flash(upload, read_program(upload.elf))
        write_atomic(path, make_uf2(segments, _facts(upload).family))
        return path

    def _chosen(self, upload: Upload) -> Path | None:
        return Path(upload.port) if upload.port and Path(upload.port).is_dir() else None

    def _find(self, upload: Upload, facts: Uf2Bootloader) -> Drive:
        chosen = self._chosen(upload)
        if chosen is not None:
            named = drive_at(chosen, INFO, upload.root)
            if not named.facts:
                raise DeviceError(
                    f"{chosen} does not contain {INFO}, so it is not a UF2 drive.",
                    "Name the bootloader's drive.",
                )
            return named
        drives = find_drives(INFO, upload.root)
        if not any(_is_of(drive, facts) for drive in drives):
            end = time.monotonic() + (COMES_S if upload.port else 0.0)
            enter(upload)
            while not (drives := find_drives(INFO, upload.root)) and time.monotonic() < end:
                time.sleep(0.1)
        fitting = [drive for drive in drives if _is_of(drive, facts)] or drives
        if len(fitting) > 1:
            names = ", ".join(f"{d.folder} ({d.facts.get('board-id', '?')})" for d in fitting)
            raise UsageError(f"Several UF2 drives are mounted: {names}.", "Name one: --port FOLDER.")
        if fitting:
            return fitting[0]
        raise DeviceError(
            f"No UF2 drive of {upload.board.name} is mounted.",
            "Hold BOOTSEL while plugging it in, or press reset twice; where drives are not mounted"
            " automatically: udisksctl mount -b /dev/disk/by-label/LABEL.",
        )

    def _check(self, upload: Upload, drive: Drive, facts: Uf2Bootloader) -> None:
        if not _is_of(drive, facts):
            raise DeviceError(
                f"The drive {drive.folder} belongs to a '{drive.facts.get('board-id', '?')}'"
                f" ({drive.facts.get('model', 'no model')}); {upload.board.name} is"
                f" '{' or '.join(facts.boards)}'.",
                "Plug in the right board, or generate the project for this one.",
            )


def _is_of(drive: Drive, facts: Uf2Bootloader) -> bool:
    return drive.facts.get("board-id", "").lower() in [name.lower() for name in facts.boards]


UPLOADER = Uf2Uploader()
