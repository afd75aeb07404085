"""Run update images on an emulated board without a boot loader: a small program jumps into slot 0 of the firmware."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.firmware.update.layout import update_layout
from arenite.host.emulator.machine import start
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board

#: The processor reads its first stack pointer and the address of its first instruction from address 0.
_JUMP = """
.syntax unified
.thumb
.section .vectors, "a"
.word 0x20001000
.word jump + 1
.text
.thumb_func
.global jump
jump:
    ldr r0, =VECTORS
    ldr r1, [r0]
    mov sp, r1
    ldr r0, [r0, #4]
    bx r0
"""
_TIMEOUT_S = 60.0


class SlotBoard:
    """A running board, and the text that it sends."""

    def __init__(self, transport: SerialTransport) -> None:
        self._transport = transport
        self._received = b""

    def read_until(self, text: str) -> str:
        """Return what the board has sent since the last call, up to the line that begins with ``text``."""
        return self.read_until_match(re.escape(text))

    def read_until_match(self, pattern: str) -> str:
        """Do the same for the line whose beginning matches a regular expression."""
        end = time.monotonic() + _TIMEOUT_S
        while True:
            lines = self._received.split(b"\n")
            for number, line in enumerate(lines[:-1]):
                if re.match(pattern.encode(), line):
                    self._received = b"\n".join(lines[number + 1 :])
                    return b"\n".join(lines[: number + 1]).decode("utf-8", "replace")
            assert time.monotonic() < end, f"{pattern!r} is not in {self._received!r}"
            self._received += self._transport.read(1.0)

    def send(self, line: str) -> None:
        self._transport.write(f"{line}\n".encode())


@contextmanager
def run_images(board_name: str, firmware: bytes, model: bytes, folder: Path) -> Iterator[SlotBoard]:
    """Run a firmware with a model in their slots 0 until the block ends."""
    board = load_board(board_name)
    layout = update_layout(board)
    source, elf = folder / "jump.S", folder / "jump.elf"
    vectors = layout.firmware[0].origin + layout.firmware_header_bytes
    source.write_text(_JUMP.replace("VECTORS", f"{vectors:#x}"))
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-nostdlib", str(source), "-o", str(elf)]
    subprocess.run(
        [*command, "-Wl,--section-start=.vectors=0,--section-start=.text=8,--entry=jump"], check=True
    )
    extra: list[str] = []
    for name, image, area in (
        ("firmware", firmware, layout.firmware[0]),
        ("model", model, layout.model[0]),
    ):
        path = folder / f"{name}.slot"
        path.write_bytes(image)
        extra += ["-device", f"loader,file={path},addr={area.origin:#x},force-raw=on"]
    with start(board, elf, extra=tuple(extra), icount=False) as machine:
        yield SlotBoard(machine.transport)
