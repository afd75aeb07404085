"""Load a program with Arenite's own GDB client, into an emulated board or through the GDB server of any probe.

After the load, the memory is compared with the program. Then the chip is reset, so it starts as after power-on.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.emulator.machine import RunningEmulator, command_line, start_empty
from arenite.host.flash.elf_image import Program, read_program
from arenite.host.flash.gdb_flash import flash_regions, write_flash
from arenite.host.flash.gdb_remote import GdbRemote, crc32
from arenite.host.flash.upload import Upload
from arenite.processes import temporary_folder

#: The reset commands of GDB servers, tried in this order: QEMU, OpenOCD and pyOCD, J-Link.
RESETS = ("system_reset", "reset halt", "reset")


def load(remote: GdbRemote, program: Program) -> None:
    """Write ``program`` to the target's memory and read it back. Raises DeviceError if a byte differs."""
    flash = flash_regions(remote)
    for region in flash:
        if flash_segments := [segment for segment in program.segments if region.holds(segment)]:
            write_flash(remote, region, flash_segments)
    for segment in program.segments:
        if not any(region.holds(segment) for region in flash):
            remote.write(segment.address, segment.data)
    for segment in program.segments:
        checksum = remote.checksum(segment.address, len(segment.data))
        if checksum is not None and checksum == crc32(segment.data):
            continue
        read_back = remote.read(segment.address, len(segment.data))
        if read_back != segment.data:
            offset = next(k for k, (a, b) in enumerate(zip(read_back, segment.data, strict=True)) if a != b)
            raise DeviceError(
                f"At {segment.address + offset:#x} the target has {read_back[offset]:#04x}, the program"
                f" {segment.data[offset]:#04x}: the target did not store the program.",
                "If this is flash that the GDB server cannot write, use another --tool.",
            )


def restart(remote: GdbRemote) -> None:
    """Reset and halt the target. Raises DeviceError if the server supports none of RESETS."""
    last_error: DeviceError | None = None
    for command in RESETS:
        try:
            remote.monitor(command)
            return
        except DeviceError as error:
            last_error = error
    assert last_error is not None
    raise last_error


@contextmanager
def flashed_emulator(upload: Upload) -> Iterator[RunningEmulator]:
    """Start an emulated board without a program, load the program with Arenite's GDB client, and yield the running
    emulator. It is stopped at the end of the ``with`` block."""
    program = read_program(upload.elf)
    with temporary_folder("arenite-gdb-") as folder:
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
        """See ``Uploader``. The returned lines are the equivalent commands for GDB itself."""
        server, lines = upload.port or "localhost:1234", []
        if upload.board.emulated and upload.port is None:
            command = command_line(upload.board, None, ("-S", "-gdb", "tcp::1234"))
            # These arguments are for Arenite's control of QEMU. A user who runs GDB does not need them.
            shown_command = [
                argument for argument in command if argument not in ("-qmp", "stdio", "--preconfig")
            ]
            lines = [shlex.join(shown_command) + " &"]
        steps = [f"target remote {server}", "load", "compare-sections", "monitor system_reset", "detach"]
        options = [argument for step in steps for argument in ("-ex", step)]
        return [*lines, shlex.join(["gdb-multiarch", "-batch", *options, str(upload.elf)])]

    def run(self, upload: Upload) -> int:
        """See ``Uploader``. For an emulated board without a ``port``, use :func:`flashed_emulator`."""
        if upload.port is None:
            raise UsageError(
                f"GDB needs the server of {upload.board.name}'s probe.",
                "Start a server (openocd, pyocd gdbserver), and add --port HOST:PORT.",
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
