"""Generate projects for real boards, with or without the files of a build."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from arenite.firmware.generator.project import write_project
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.host.flash.elf_file import write_elf

IMAGE_SHA256 = "0102030405060708" + "00" * 24  # the hash of the toy model


def project(directory: Path, board: str, **options: object) -> Path:
    """Generate a project of the toy model; return its folder."""
    options.setdefault("manifest", {"image_sha256": IMAGE_SHA256, "model": {"name": "toy"}})
    return write_project(directory, toy_model.sources(), [], load_board(board), **options)  # type: ignore[arg-type]


def built(directory: Path, board: str, segments: Iterable[tuple[int, bytes]] | None = None) -> Path:
    """Generate a project with an ELF file in PlatformIO's build folder, and return the project's folder. By default,
    the ELF file has 1,000 bytes at the start of flash."""
    folder = project(directory, board)
    if segments is None:
        segments = [(load_board(board).flash[0].origin, bytes(range(250)) * 4)]
    write_elf(folder / ".pio" / "build" / board / "firmware.elf", segments)
    return folder
