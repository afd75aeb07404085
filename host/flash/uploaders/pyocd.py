"""Flash with pyOCD, which loads the ELF through any probe that it supports. CMSIS packs add further chips."""

from __future__ import annotations

from arenite.errors import ToolError, UsageError
from arenite.host.flash.elf_image import read_program
from arenite.host.flash.probes import probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload, program


def command(upload: Upload) -> list[str]:
    """Return the command ``pyocd load --target TARGET ELF``, which does not wait for a probe.

    Raises UsageError if the board's profile has no pyOCD target.
    """
    target = upload.board.targets.pyocd
    if not target:
        raise UsageError(f"pyOCD does not know the chip of {upload.board.name}.", "Choose another --tool.")
    serial = probe_serial(upload)
    serial_option = ["--uid", serial] if serial else []
    return [
        program("pyocd"),
        "load",
        "--no-wait",
        "--target",
        target,
        *serial_option,
        *upload.extra,
        str(upload.elf),
    ]


UPLOADER = CommandUploader(
    "pyocd",
    "pip install pyocd",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"Target type '?([^\s']+)'? (?:is )?not recognized|No target type '?([^\s']+)'?",
            "pyOCD does not know the chip {found} without its pack.",
            "Install the pack once: pyocd pack install {found}.",
            ToolError,
        ),
        KnownFailure(
            r"No (?:connected debug probes|available debug probes|target device available)",
            "No debug probe of {board} is connected.",
            "Connect the board or the probe. Use a cable that carries data.",
        ),
        KnownFailure(
            r"No ACK|DAP(?:Access)?.*(?:Timeout|Error)|SWD/JTAG [Cc]ommunication [Ff]ailure|TransferFaultError|"
            r"[Mm]emory transfer fault|Unable to (?:open|connect)",
            "The probe is connected, but does not find the chip of {board}.",
            "Check power, jumpers and the wires to SWDIO and SWCLK.",
        ),
    ),
)
