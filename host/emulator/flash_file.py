"""Run an emulated board with updates whose flash memory is kept in a file, so that it survives the emulator.

The file has the bytes from the state of updates to the scratch (see ``update_layout``). On boards whose slots are in
the machine's RAM, QEMU maps the file, which therefore always has the current content. QEMU keeps the flash memory of
an nRF51 in its own memory; there the content is loaded before the start, and the file is written by ``save`` and when
the board stops.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.files import replace_file
from arenite.firmware.update.layout import Area, UpdateLayout, update_layout
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board

_ERASED = 0xFF
_PACKET_BYTES = 1024
_TIMEOUT_S = 30.0


def new_flash(board: Board, path: Path, firmware: bytes, model: bytes) -> None:
    """Write the file ``path`` with the flash memory of a new device that has the images ``firmware`` and ``model``.

    Raises:
        UsageError: The board has no updates, or an image is larger than its slot.
    """
    layout = update_layout(board)
    content = bytearray([_ERASED]) * (layout.scratch.end - layout.state.origin)
    for name, image, slot in (("firmware", firmware, layout.firmware[0]), ("model", model, layout.model[0])):
        if len(image) > slot.size:
            raise UsageError(
                f"The image of the {name} has {len(image)} bytes, but its slot on {board.name} has {slot.size}."
            )
        at = slot.origin - layout.state.origin
        content[at : at + len(image)] = image
    replace_file(path, bytes(content))


class UpdatableEmulator:
    """A running board. ``machine`` is its emulator."""

    def __init__(self, machine: RunningEmulator, layout: UpdateLayout, flash: Path, is_mapped: bool) -> None:
        self.machine, self._layout, self._flash, self._is_mapped = machine, layout, flash, is_mapped
        self._received = b""

    def reset(self) -> None:
        """Reset the board, as its reset button does."""
        self._execute("system_reset")

    def save(self) -> None:
        """Write the flash memory to the file. The board halts meanwhile."""
        if not self._is_mapped:
            self._execute("stop")
            self._write_file()
            self._execute("cont")

    def cut(self) -> None:
        """Take the power away: kill the emulator at whatever instruction it is, and keep the flash memory."""
        if self.machine.process.poll() is None:
            if not self._is_mapped:
                self._execute("stop")
                self._write_file()
            self.machine.process.kill()
        self.machine.stop()

    def read(self, area: Area) -> bytes:
        """Return the content of an area, as it is now."""
        self.save()
        at = area.origin - self._layout.state.origin
        with self._flash.open("rb") as stream:
            stream.seek(at)
            return stream.read(area.size)

    def _write_file(self) -> None:
        start, end = self._layout.state.origin, self._layout.scratch.end
        with temporary_folder("arenite-flash-") as folder:
            path = folder / "flash.bin"
            # Not pmemsave, which sees only memory that is not private to the processor.
            self._execute("memsave", val=start, size=end - start, filename=str(path))
            replace_file(self._flash, path.read_bytes())

    def _execute(self, command: str, **arguments: Any) -> None:
        """Run a command of QEMU's machine protocol, and wait for its answer."""
        process = self.machine.process
        assert process.stdin is not None and process.stdout is not None
        message = {"execute": command, "arguments": arguments, "id": command}
        with suppress(OSError):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        end = time.monotonic() + _TIMEOUT_S
        while True:
            line, found, self._received = self._received.partition(b"\n")
            if found:
                answer = _answer(line, command)
                if answer is None:
                    continue
                if "error" in answer:
                    raise ToolError(f"QEMU refused '{command}': {answer['error'].get('desc')}.")
                return
            self._received = line
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
            data = os.read(process.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise ToolError(
                    f"QEMU did not answer '{command}': {'it takes too long' if not ready else 'it ended'}."
                )
            self._received += data


def _answer(line: bytes, command: str) -> dict[str, Any] | None:
    """Return the answer in a line of QEMU's output, or None if it is an event, a message or another answer."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and message.get("id") == command else None


@contextmanager
def start_updatable(
    board: Board,
    loader: Path,
    flash: Path,
    *,
    icount: bool = True,
    skip_sleep: bool = False,
    folder: Path | None = None,
) -> Iterator[UpdatableEmulator]:
    """Run ``board`` with the boot loader ``loader`` (an ELF) and the flash memory in the file ``flash``, which
    ``new_flash`` wrote, until the block ends. Afterwards the file has the board's flash memory. The firmware can read
    the files in ``folder`` by semihosting; None if it reads none.

    Raises:
        ToolError: QEMU is missing or does not start.
        UsageError: The board is not emulated or has no updates, or a file does not exist.
    """
    layout = update_layout(board)
    size = layout.scratch.end - layout.state.origin
    if not flash.is_file() or flash.stat().st_size < size:
        raise UsageError(
            f"The file {flash} has no flash memory of {board.name}, which has {size} bytes.",
            "Make it anew: it is a device's memory with a firmware and a model.",
        )
    ram = next((region for region in board.ram if region.origin == layout.state.origin), None)
    if ram is not None:
        os.truncate(flash, ram.size)
        backend = f"memory-backend-file,id=flash,size={ram.size},mem-path={flash.absolute()},share=on"
        mapped = ("-object", backend, "-machine", "memory-backend=flash")
        with start(
            board, loader, extra=mapped, icount=icount, skip_sleep=skip_sleep, folder=folder
        ) as machine:
            yield UpdatableEmulator(machine, layout, flash, is_mapped=True)
        return
    with temporary_folder("arenite-flash-") as place:
        gdb = place / "gdb"
        halted = ("-S", "-gdb", f"unix:path={gdb},server=on,wait=off")
        with start(
            board, loader, extra=halted, icount=icount, skip_sleep=skip_sleep, folder=folder
        ) as machine:
            _load(gdb, layout.state.origin, flash.read_bytes()[:size])
            emulator = UpdatableEmulator(machine, layout, flash, is_mapped=False)
            try:
                yield emulator
            finally:
                emulator.cut()


def _load(gdb: Path, origin: int, content: bytes) -> None:
    """Write ``content`` to the memory at ``origin`` of a machine that halts, and start the machine. ``gdb`` is the Unix
    socket of its GDB server."""
    with socket.socket(socket.AF_UNIX) as stub:
        stub.settimeout(_TIMEOUT_S)
        end = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                stub.connect(str(gdb))
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise ToolError(f"QEMU's GDB server does not answer: {error}.") from error
                time.sleep(0.02)
        for at in range(0, len(content), _PACKET_BYTES):
            part = content[at : at + _PACKET_BYTES]
            if part.strip(bytes([_ERASED])):
                _packet(stub, f"M{origin + at:x},{len(part):x}:{part.hex()}")
        _packet(stub, "D")  # the machine runs


def _packet(stub: socket.socket, text: str) -> None:
    """Send a packet of GDB's protocol, and wait until QEMU says that it did what the packet asks."""
    data = text.encode()
    stub.sendall(b"$%s#%02x" % (data, sum(data) & 255))
    received = b""
    while b"$OK#" not in received:
        part = stub.recv(4096)
        received += part
        if not part or b"$E" in received:
            raise ToolError(
                "QEMU did not write the flash memory.", "Run `arenite doctor` to check the emulators."
            )
