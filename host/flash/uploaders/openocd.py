"""Flash with OpenOCD: the script of the connected probe, the script of the chip, and the ``program`` command."""

from __future__ import annotations

import re

from arenite.errors import ToolError, UsageError
from arenite.host.flash.elf_image import read_program
from arenite.host.flash.probes import probe_kind, probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload

_INTERFACES = {"cmsis-dap": "cmsis-dap", "stlink": "stlink", "jlink": "jlink", "icdi": "ti-icdi"}


_TCL_CONTROLS = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def tcl_word(text: str) -> str:
    """Return ``text`` as one word of a Tcl script that has the same value, without any substitution.

    Braces around the text would not suffice, because a single ``}`` in the text would end the word.
    """
    return re.sub(r"[^\w./:=@+-]", lambda match: _TCL_CONTROLS.get(match[0], f"\\{match[0]}"), text) or "{}"


def command(upload: Upload) -> list[str]:
    """Return the command ``openocd -f interface -f target -c program``. Raises UsageError for a chip without an
    OpenOCD script."""
    script = upload.board.targets.openocd
    if not script:
        raise UsageError(f"OpenOCD has no script for {upload.board.name}.", "Choose another --tool.")
    serial = probe_serial(upload)
    serial_option = ["-c", f"adapter serial {tcl_word(serial)}"] if serial else []
    if script.startswith("board/"):
        return ["openocd", "-f", f"{script}.cfg", *serial_option, *upload.extra, "-c", _program(upload)]
    kind = probe_kind(upload)
    interface = "jtag" if upload.board.core.startswith("rv") else "swd"
    # The ST-LINK's script selects the transport.
    transport_option = [] if kind == "stlink" else ["-c", f"transport select {interface}"]
    return [
        "openocd",
        *("-f", f"interface/{_INTERFACES[kind]}.cfg"),
        *serial_option,
        *transport_option,
        *("-f", f"target/{script}.cfg"),
        *upload.extra,
        *("-c", _program(upload)),
    ]


def _program(upload: Upload) -> str:
    path = str(upload.elf)
    if any(character in "{}\\" or character < " " for character in path):
        # OpenOCD's procedure "program" puts the name between braces and evaluates it again.
        raise UsageError(
            f"The path {path!r} contains a brace, a backslash or a control character, which OpenOCD cannot read.",
            "Rename the folder, or choose another --tool.",
        )
    return f"program {tcl_word(path)} verify reset exit"


UPLOADER = CommandUploader(
    "openocd",
    "apt install openocd",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"Can't find (target/\S+|board/\S+)",
            "This OpenOCD does not know the chip of {board}: {found} is missing.",
            "Install a newer OpenOCD, or choose another --tool.",
            ToolError,
        ),
        KnownFailure(
            r"Error: open failed|unable to find a matching CMSIS-DAP device|No J-Link device found|"
            r"no device found|unable to open ftdi device",
            "No debug probe of {board} is connected.",
            "Connect the board or the probe. Use a cable that carries data.",
        ),
        KnownFailure(
            r"target voltage may be too low|init mode failed|Error connecting DP|[Cc]annot read IDR|"
            r"UNEXPECTED idcode|Failed to read memory",
            "The probe is connected, but does not find the chip of {board}.",
            "Check power, jumpers and the wires to SWDIO and SWCLK.",
        ),
        KnownFailure(
            r"\*\* Verify Failed|checksum mismatch",
            "The flash of {board} differs from the program after the upload.",
            "Flash again. If the error stays, the flash is worn out or write-protected.",
        ),
    ),
)
