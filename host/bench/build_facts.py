"""Collect facts about the build of a firmware: hashes of its contents, and the compiler that its ELF names."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.firmware.boards.toolchains import compile_command
from arenite.host.bench.devices.journal import data_hash
from arenite.host.bench.samples import Samples
from arenite.host.flash.build import read_manifest


@dataclass(frozen=True)
class ElfFacts:
    """Facts read from an ELF file. ``sha256`` is the hash of the loadable segments and their addresses. ``compiler`` is
    the text of the section .comment, in which compilers write their name and version, or None if it is missing."""

    sha256: str
    compiler: str | None


def read_facts(path: Path) -> ElfFacts:
    """Read the facts from a linked firmware. Debug information is ignored, because it contains folder names.

    Raises ``ToolError`` for a file that is not an ELF.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            for segment in elf.iter_segments():
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                    digest.update(f"{segment['p_paddr']:x} {segment['p_filesz']};".encode())
                    digest.update(segment.data())
            comment = elf.get_section_by_name(".comment")
            signatures = comment.data().split(b"\0") if comment is not None else []
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {path}: {error}.", "Build the project again.") from error
    names = [name.decode("utf-8", "replace") for name in signatures if name]
    return ElfFacts(digest.hexdigest(), "; ".join(dict.fromkeys(names)) or None)


def compiler_of(elf: ElfFacts, directory: Path) -> str | None:
    """Return the compiler's signature in the ELF. If the linker removed it, return what ``--version`` of the project's
    compiler prints."""
    if elf.compiler is not None:
        return elf.compiler
    recipe = read_manifest(directory).get("build") or {}
    try:
        command = [*compile_command(recipe["compiler"]), "--version"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return process.stdout.splitlines()[0]
    except (KeyError, IndexError, OSError, subprocess.SubprocessError):
        return None


def build_facts(
    elf: ElfFacts,
    compiler: str | None,
    image_sha256: str,
    samples: Samples,
    toolchain: str,
    emulator: str | None,
    rtl: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the value of "build" in a bench result. ``rtl`` describes the simulation of the board's core; it is None
    for other boards."""
    return {
        "image_sha256": image_sha256,
        "firmware_sha256": elf.sha256,
        "compiler": compiler,
        "toolchain": toolchain,
        "emulator": emulator,
        "rtl": None if rtl is None else dict(rtl),
        "data_sha256": data_hash(samples),
    }
