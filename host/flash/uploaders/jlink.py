"""Flash with SEGGER's J-Link Commander. A small script loads the ELF, resets the chip and exits."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.flash.elf_image import read_program
from arenite.host.flash.probes import probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload


def command(upload: Upload) -> list[str]:
    """Write the script beside the ELF, and return the command ``JLinkExe -CommandFile``.

    Raises UsageError if the board's profile has no J-Link device name, or if the script cannot express the path.
    """
    device = upload.board.targets.jlink
    if not device:
        raise UsageError(f"J-Link has no name for the chip of {upload.board.name}.", "Choose another --tool.")
    path = str(upload.elf)
    if '"' in path or any(character < " " for character in path):
        # J-Link Commander cannot escape these characters, so it would read the rest of the path as commands.
        raise UsageError(
            f"The path {path!r} contains a quotation mark or a control character, which J-Link Commander cannot read.",
            "Rename the folder, or choose another --tool.",
        )
    script = upload.elf.with_suffix(".jlink")
    write_atomic(script, f'loadfile "{path}"\nr\ng\nexit\n')
    serial = probe_serial(upload)
    serial_option = ["-SelectEmuBySN", serial.lstrip("0")] if serial else []
    interface = "JTAG" if upload.board.core.startswith("rv") else "SWD"
    return [
        *("JLinkExe", "-NoGui", "1", "-ExitOnError", "1", *serial_option, *upload.extra),
        *("-Device", device, "-If", interface, *(("-JTAGConf", "-1,-1") if interface == "JTAG" else ())),
        *("-Speed", "4000", "-AutoConnect", "1", "-CommandFile", str(script)),
    ]


UPLOADER = CommandUploader(
    "jlink",
    "the J-Link software from https://www.segger.com/downloads/jlink",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"Connecting to J-Link.*FAILED|No emulators connected|Cannot connect to J-Link",
            "No J-Link of {board} is connected.",
            "Connect the board or the probe. Use a cable that carries data.",
        ),
        KnownFailure(
            r"Cannot connect to (?:the )?(?:target|CPU)|Could not connect to (?:the )?target",
            "The J-Link is connected, but does not find the chip of {board}.",
            "Check power, jumpers and the wires to SWDIO and SWCLK.",
        ),
        KnownFailure(
            r"Unknown device|is unknown to this software version",
            "This J-Link software does not know the chip of {board}.",
            "Install a newer version.",
        ),
    ),
)
