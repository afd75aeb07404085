"""An emulated board with the boot loader, and a small firmware and model for it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arenite.firmware.boards.cores import COMMON_FLAGS, LINK_FLAGS, nearest_core
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.sources import BOARDS, UPDATE
from arenite.firmware.update.layout import update_layout
from arenite.firmware.update.loader import WATCHDOG_MS, layout_header
from arenite.host.emulator.flash_file import UpdatableEmulator, new_flash, start_updatable
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.profiles.board import Board
from tests.firmware.update.image_check import keys

PROGRAM = Path(__file__).with_name("loader_program.c")
_TIMEOUT_S = 120.0


def skip_without_tools() -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def build_program(board: Board, folder: Path, number: int, *macros: str, source: Path = PROGRAM) -> bytes:
    """Build the firmware ``number`` and return its payload."""
    folder.mkdir(parents=True, exist_ok=True)
    layout, core = update_layout(board), nearest_core(board.core)
    assert board.emulator is not None
    family = family_named(board.emulator.family)
    (folder / "update_layout.h").write_text(layout_header(board))
    header = layout.firmware_header_bytes
    slot = layout.firmware[0]
    flash = replace(board.flash[0], origin=slot.origin + header, size=slot.size - header)
    script = folder / "program.ld"
    script.write_text(linker_script(replace(board, flash=(flash,)), 2048))
    elf, binary = folder / f"program{number}.elf", folder / f"program{number}.bin"
    flash_driver = "flash_nrf.c" if board.emulator.family == "nrf51" else "flash_ram.c"
    sources = [source, *map(BOARDS.path, (core.start, *family.sources, *core.helpers))]
    names = ("slots.c", "boot_choose.c", "boot_state.c", "swap.c", "state_store.c", flash_driver)
    sources += [UPDATE.path(name) for name in names]
    defines = [*family.defines, f"PROGRAM_NUMBER={number}", "AR_HEALTH", *macros]
    if family.watchdog_ms:
        defines.append(f"PORT_WATCHDOG_MS={WATCHDOG_MS}u")
    command = [
        *(
            f"{core.prefix}gcc",
            *core.architecture,
            *COMMON_FLAGS,
            "-Os",
            "-fno-tree-loop-distribute-patterns",
        ),
        *(*[f"-D{name}" for name in defines], f"-I{folder}", *UPDATE.include_flags, *BOARDS.include_flags),
        *(*map(str, sources), *LINK_FLAGS, f"-T{script}", "-lgcc", "-o", str(elf)),
    ]
    subprocess.run(command, check=True, cwd=folder)
    subprocess.run([f"{core.prefix}objcopy", "-O", "binary", str(elf), str(binary)], check=True)
    return binary.read_bytes()


@dataclass(frozen=True)
class Images:
    """A firmware and a model that belong together."""

    firmware: bytes
    model: bytes


def sign_images(
    board: Board,
    payload: bytes,
    model_number: int,
    *,
    counter: int = 1,
    foreign: bool = False,
    model_bytes: int = 900,
    firmware_header: int = 512,
    algorithm: str = "ed25519",
) -> Images:
    """Return the images of a firmware and of a model, whose first word is ``model_number``."""
    layout, abi, key = update_layout(board), hashlib.sha256(payload).digest(), keys(algorithm)[foreign]
    firmware = ImageProperties(
        *("1.0.0", counter, board.name, "firmware", abi),
        firmware_header,
        layout.firmware[0].origin,
    )
    model = ImageProperties(
        *("1.0.0", counter, board.name, "model", abi), layout.model_header_bytes, layout.model[0].origin
    )
    content = model_number.to_bytes(4, "little") + bytes(
        k * model_number & 255 for k in range(4, model_bytes)
    )
    return Images(
        sign_image(payload, firmware, key, layout.firmware[0].size),
        sign_image(content, model, key, layout.model[0].size),
    )


class LoaderBoard:
    """A running board with the test firmware."""

    def __init__(self, emulator: UpdatableEmulator) -> None:
        self.emulator, self._received = emulator, b""

    def line(self) -> str:
        """Return the next line that the board says."""
        end = time.monotonic() + _TIMEOUT_S
        while b"\n" not in self._received:
            assert time.monotonic() < end, f"the board is silent after {self._received!r}"
            self._received += self.emulator.machine.transport.read(1.0)
        line, _, self._received = self._received.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def send(self, data: bytes) -> None:
        """Send bytes, in pieces that the pseudo-terminal takes."""
        for at in range(0, len(data), 256):
            self.emulator.machine.transport.write(data[at : at + 256])

    def ask(self, data: bytes) -> str:
        self.send(data)
        return self.line()

    def install(self, pairs: int = 3) -> str:
        """Ask for the installation of the images in the slots 1, reset the board, and return what it says then."""
        assert self.ask(b"R" + bytes([pairs])) == "done"
        return self.reset()

    def reset(self) -> str:
        """Reset the board and return the first line that it says."""
        return self.ask(b"Z")


def make_flash(board: Board, path: Path, used: Images, unused: Images | None = None) -> Path:
    """Write a flash memory with ``used`` in the slots 0 and ``unused`` in the slots 1, and return its path. A device
    writes the slots 1 itself, but bytes take long through the serial port of the emulated boards."""
    layout = update_layout(board)
    new_flash(board, path, used.firmware, used.model)
    with path.open("r+b") as stream:
        for area, image in zip(
            (layout.firmware[1], layout.model[1]),
            (unused.firmware, unused.model) if unused is not None else (b"", b""),
            strict=True,
        ):
            stream.seek(area.origin - layout.state.origin)
            stream.write(image)
    return path


@contextmanager
def run_board(board: Board, loader: Path, flash: Path, *, icount: bool = False) -> Iterator[LoaderBoard]:
    with start_updatable(board, loader, flash, icount=icount) as emulator:
        yield LoaderBoard(emulator)
