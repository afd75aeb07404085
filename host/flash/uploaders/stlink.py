"""Flash with ``st-flash`` of the open-source stlink tools: it writes a raw image to an address over an ST-LINK."""

from __future__ import annotations

from arenite.host.flash.elf_image import raw_image, read_program
from arenite.host.flash.probes import probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload


def command(upload: Upload) -> list[str]:
    """Return the command ``st-flash --reset write IMAGE ADDRESS``."""
    image, address = raw_image(upload.elf)
    serial = probe_serial(upload)
    serial_option = ["--serial", serial] if serial else []
    return ["st-flash", "--reset", *serial_option, *upload.extra, "write", str(image), hex(address)]


UPLOADER = CommandUploader(
    "stlink",
    "apt install stlink-tools",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"Couldn't find any ST-Link devices|[Cc]ould not (?:open|find).*ST-?[Ll]ink",
            "No ST-LINK of {board} is connected.",
            "Connect the USB cable to the board's ST-LINK socket. Use a cable that carries data.",
        ),
        KnownFailure(
            r"unknown chip id|Failed to connect to target|Can not connect to target",
            "The ST-LINK does not find a supported chip on {board}.",
            "Check power, jumpers and the wires to SWDIO and SWCLK. If st-flash is too old for this"
            " chip, use --tool openocd.",
        ),
        KnownFailure(
            r"addr too (?:low|high)|is not (?:aligned|in) flash|Unknown memory region",
            "The program's addresses are outside the flash of the chip that the ST-LINK found.",
            "Check that the project was generated for this board.",
        ),
    ),
)
