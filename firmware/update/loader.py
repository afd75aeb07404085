"""Build the boot loader of a board: the program at the start of flash that checks, installs and runs update images."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import DoesNotFitError, ToolError, UsageError
from arenite.firmware.boards.cores import Core, nearest_core
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.boards.toolchains import is_compiler_installed
from arenite.firmware.sources import BOARDS, UPDATE
from arenite.firmware.update.algorithms import signature_check
from arenite.firmware.update.layout import UpdateLayout, update_layout
from arenite.firmware.update.memories import memory_family, memory_family_name
from arenite.profiles.board import Board

#: The loader's RAM is the end of the first RAM, so that it leaves a firmware's variables alone that keep their values
#: over a reset.
RAM_BYTES = 6144
_STACK_BYTES = 4096
#: The time after which a firmware on trial that does not feed the watchdog is reset.
WATCHDOG_MS = 8000

#: The loader is compiled without the FPU: nothing has turned it on.
_WITHOUT_FPU = {"cortex-m4f": "cortex-m4"}

_COMMON_SOURCES = (
    *("loader.c", "start_loader.c", "loader_table.c", "slots.c", "slots_check.c"),
    *("boot_choose.c", "boot_state.c", "swap.c", "state_store.c"),
)
_FLAGS = (
    *("-std=c99", "-Os", "-fno-tree-coalesce-vars", "-ffreestanding", "-fno-tree-loop-distribute-patterns"),
    *("-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections", "-fno-common"),
    *("-fno-asynchronous-unwind-tables",),
)
_LINK_FLAGS = (
    *("-nostdlib", "-nostartfiles", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none"),
    "-Wl,--no-warn-rwx-segments",
)


@dataclass(frozen=True)
class _Port:
    """The serial port and the timer of a loader: C files, and macros with which all files are compiled."""

    sources: tuple[str, ...]
    defines: tuple[str, ...]


@dataclass(frozen=True)
class Loader:
    """A boot loader that was built. ``bytes`` is its length in flash."""

    elf: Path
    binary: Path
    bytes: int


def layout_header(board: Board) -> str:
    """Return the text of ``update_layout.h``, with which ``slots.c`` is compiled for a loader or a firmware of
    ``board``. Raises ``UsageError`` if there is no loader for the board."""
    layout, family = update_layout(board), memory_family(board)
    page = layout.page_bytes
    values = {
        "LOADER_AT": layout.loader.origin,
        "LOADER_BYTES": layout.loader.size,
        "PAGE_BYTES": page,
        "UNIT_BYTES": layout.unit_bytes,
        "STATE_AT": layout.state.origin,
        "STATE_PAGES": layout.state.size // page,
        "SCRATCH_AT": layout.scratch.origin,
        "SCRATCH_PAGES": layout.scratch.size // page,
        "FIRMWARE_0_AT": layout.firmware[0].origin,
        "FIRMWARE_1_AT": layout.firmware[1].origin,
        "FIRMWARE_PAGES": layout.firmware[0].size // page,
        "FIRMWARE_HEADER": layout.firmware_header_bytes,
        "MODEL_0_AT": layout.model[0].origin,
        "MODEL_1_AT": layout.model[1].origin,
        "MODEL_PAGES": layout.model[0].size // page,
        "MODEL_HEADER": layout.model_header_bytes,
    }
    # The numbers have no suffix, because the loader's assembly uses them too.
    lines = "".join(f"#define AR_UPDATE_{name} {value:#x}\n" for name, value in values.items())
    return (
        f"/* Generated for {board.name}: the memories of a board with updates. */\n"
        "#ifndef ARENITE_UPDATE_LAYOUT_H\n#define ARENITE_UPDATE_LAYOUT_H\n\n"
        f'{lines}\n#include "{family.header}"\n#define AR_UPDATE_FLASH {family.call}\n\n#endif\n'
    )


def memory_sources(board: Board) -> tuple[str, ...]:
    """Return the C files of the flash memory and the watchdog of ``board``, for a loader or a firmware. Raises
    ``UsageError`` if there is no loader for the board."""
    return memory_family(board).sources


def build_loader(board: Board, public_key: bytes, folder: Path, *, small: bool = False) -> Loader:
    """Build the boot loader of ``board`` in ``folder``. It accepts images that were signed with the private key of
    ``public_key``: an Ed25519 key of 32 bytes, or an ECDSA key of 64 bytes. If ``small``, the check of signatures takes
    less flash memory and more time.

    Raises:
        DoesNotFitError: The loader is larger than its area.
        ToolError: The compiler is not installed or failed, or the library for its algorithm could not be
            downloaded.
        UsageError: There is no loader for the board, or the key has a wrong length.
    """
    check = signature_check(public_key, small=small)
    layout, family, port = update_layout(board), memory_family(board), _port(board)
    core = nearest_core(_WITHOUT_FPU.get(board.core, board.core))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "update_layout.h").write_text(layout_header(board))
    key = ", ".join(f"0x{byte:02x}" for byte in public_key)
    (folder / "loader_settings.h").write_text(
        f'#define AR_LOADER_BOARD "{board.name}"\n#define AR_LOADER_KEY {{{key}}}\n'
    )
    script = folder / "loader.ld"
    script.write_text(linker_script(_loader_board(board, layout), _STACK_BYTES))
    elf, binary = folder / "loader.elf", folder / "loader.bin"
    library = check.folder()
    sources = [UPDATE.path(name) for name in (*_COMMON_SOURCES, *check.sources, *family.sources)]
    sources += [_source(name) for name in (*port.sources, *core.helpers)]
    macros = [*check.defines, *(f"-D{text}" for text in (*port.defines, f"PORT_WATCHDOG_MS={WATCHDOG_MS}u"))]
    macros += [] if board.core == "cortex-m0" else ["-DAR_LOADER_VTOR"]
    command = [
        *(f"{core.prefix}gcc", *core.architecture, *_FLAGS, *macros, f"-I{folder}"),
        *(*UPDATE.include_flags, *BOARDS.include_flags, *check.flags(library)),
        *(str(path) for path in (*sources, *check.library_paths(library))),
        *(*_LINK_FLAGS, f"-T{script}", "-lgcc", "-o", str(elf)),
    ]
    _run(command, core)
    _run([f"{core.prefix}objcopy", "-O", "binary", str(elf), str(binary)], core)
    return Loader(elf, binary, binary.stat().st_size)


def _port(board: Board) -> _Port:
    if board.emulator is not None:
        port = family_named(board.emulator.family)
        return _Port(port.sources, port.defines)
    if memory_family_name(board) != "nrf52":
        raise UsageError(
            f"There is no boot loader for the real board {board.name} yet.",
            "docs/update-install.md lists the boards that have one.",
        )
    assert board.update is not None
    pin = board.update.tx_pin
    serial = () if pin is None else (f"PORT_TX_PIN={pin}u",)
    return _Port(("port_nrf52.c",), ("PORT_TICKS_PER_US=16u", *serial))


def _source(name: str) -> Path:
    """Return the path of a C file of the loader's port: the real boards' are with the loader."""
    return (UPDATE if name in UPDATE else BOARDS).path(name)


def _loader_board(board: Board, layout: UpdateLayout) -> Board:
    """Return ``board`` with the memory that the loader has."""
    flash, ram = board.flash[0], board.ram[0]
    return replace(
        board,
        flash=(replace(flash, origin=layout.loader.origin, size=layout.loader.size),),
        ram=(replace(ram, origin=ram.origin + ram.size - RAM_BYTES, size=RAM_BYTES),),
    )


def _run(command: Sequence[str], core: Core) -> None:
    if not is_compiler_installed(command[0]):
        raise ToolError(f"{command[0]} is not installed.", f"Install it: apt install {core.package}")
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode == 0:
        return
    lines = result.stderr.strip().splitlines() or ["it printed no message"]
    overflow = next(
        (line for line in lines if "overflowed by" in line or "is not within region" in line), None
    )
    if overflow is not None:
        raise DoesNotFitError(f"The boot loader does not fit: {overflow.strip()}.")
    raise ToolError(f"{command[0]} failed: {next((x for x in lines if 'error' in x), lines[-1])}.")
