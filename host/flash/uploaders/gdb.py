"""GDB's ``load`` by Arenite's own client: into an emulated board without a program, or over any GDB server of
a probe.

After the load the memory is compared with the program; the chip is reset, so that it starts as after
power-on, and released.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.emulator.machine import RunningEmulator, command_line, start_empty
from arenite.host.flash.elf_image import Program, read_program
from arenite.host.flash.gdb_flash import flash_regions, write_flash
from arenite.host.flash.gdb_remote import GdbRemote, crc32
from arenite.host.flash.upload import Upload

#: Reset commands of the servers, tried in this order: QEMU's, then OpenOCD's and pyOCD's, then J-Link's.
RESETS = ("system_reset", "reset halt", "reset")


def load(remote: GdbRemote, program: Program) -> None:
    """Write ``program`` into the target's memory and compare.  Raises DeviceError where a byte differs."""
    flash = flash_regions(remote)
    for region in flash:
        if held := [segment for segment in program.segments if region.holds(segment)]:
            write_flash(remote, region, held)
    for segment in program.segments:
        if not any(region.holds(segment) for region in flash):
            remote.write(segment.address, segment.data)
    for segment in program.segments:
        checksum = remote.checksum(segment.address, len(segment.data))
        if checksum is not None and checksum == crc32(segment.data):
            continue
        read_back = remote.read(segment.address, len(segment.data))
        if read_back != segment.data:
            at = next(k for k, (a, b) in enumerate(zip(read_back, segment.data, strict=True)) if a != b)
            raise DeviceError(
                f"At {segment.address + at:#x} the target has {read_back[at]:#04x}, the program"
                f" {segment.data[at]:#04x}: the target did not store the program.",
                "Is it flash that this server cannot write? Then use another --tool.",
            )


def restart(remote: GdbRemote) -> None:
    """Reset the target, which stays halted. Raises DeviceError when the server knows none of RESETS."""
    last: DeviceError | None = None
    for command in RESETS:
        try:
            remote.monitor(command)
            return
        except DeviceError as error:
            last = error
    assert last is not None
    raise last


@contextmanager
def flashed_emulator(upload: Upload) -> Iterator[RunningEmulator]:
    """An emulated board that is started empty, receives its program over GDB, and runs it until the block
    ends."""
    program = read_program(upload.elf)
    with tempfile.TemporaryDirectory(prefix="arenite-gdb-") as folder:
        address = str(Path(folder) / "gdb")
        with start_empty(upload.board, address) as machine:
            remote = GdbRemote(address)
            try:
                load(remote, program)
                restart(remote)
                remote.detach()
            finally:
                remote.close()
            yield machine


class GdbUploader:
    """See ``Uploader``. ``port`` is the server's HOST:PORT."""

    name = "gdb"

    def missing(self) -> str | None:
        """See ``Uploader``: it needs no program, because the client is part of Arenite."""
        return None

    def describe(self, upload: Upload) -> list[str]:
        """See ``Uploader``: the equivalent GDB command."""
        server, lines = upload.port or "localhost:1234", []
        if upload.board.emulated and upload.port is None:
            command = command_line(upload.board, None, ("-S", "-gdb", "tcp::1234"))
            # QEMU's own command words mean nothing to GDB.
            plain = [word for word in command if word not in ("-qmp", "stdio", "--preconfig")]
            lines = [shlex.join(plain) + " &"]
        steps = [f"target remote {server}", "load", "compare-sections", "monitor system_reset", "detach"]
        words = [word for step in steps for word in ("-ex", step)]
        return [*lines, shlex.join(["gdb-multiarch", "-batch", *words, str(upload.elf)])]

    def run(self, upload: Upload) -> int:
        """See ``Uploader``. An emulated board without a ``port`` is for :func:`flashed_emulator`."""
        if upload.port is None:
            raise UsageError(
                f"GDB needs the server of {upload.board.name}'s probe.",
                "Start one (openocd, pyocd gdbserver) and give --port HOST:PORT.",
            )
        program = read_program(upload.elf)
        remote = GdbRemote(upload.port)
        try:
            load(remote, program)
            restart(remote)
            remote.detach()
        finally:
            remote.close()
        return program.nbytes


UPLOADER = GdbUploader()
