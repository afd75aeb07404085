"""``st-flash`` of the open-source stlink tools: a raw image and its address, over an ST-LINK."""

from __future__ import annotations

from arenite.host.flash.elf_image import raw_image, read_program
from arenite.host.flash.probes import probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload


def command(upload: Upload) -> list[str]:
    """``st-flash --reset write IMAGE ADDRESS``."""
    image, address = raw_image(upload.elf)
    serial = probe_serial(upload)
    chosen = ["--serial", serial] if serial else []
    return ["st-flash", "--reset", *chosen, *upload.extra, "write", str(image), hex(address)]


UPLOADER = CommandUploader(
    "stlink",
    "apt install stlink-tools",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"Couldn't find any ST-Link devices|[Cc]ould not (?:open|find).*ST-?[Ll]ink",
            "No ST-LINK is plugged in for {board}.",
            "Plug the board in at its ST-LINK socket; the cable must carry data.",
        ),
        KnownFailure(
            r"unknown chip id|Failed to connect to target|Can not connect to target",
            "The ST-LINK does not find a supported chip on {board}.",
            "Check power, jumpers and the wires to SWDIO and SWCLK; an old st-flash does not know new"
            " chips: try --tool openocd.",
        ),
        KnownFailure(
            r"addr too (?:low|high)|is not (?:aligned|in) flash|Unknown memory region",
            "The program's addresses are outside the flash of the chip that the ST-LINK found.",
            "Is the project for this board?",
        ),
    ),
)
