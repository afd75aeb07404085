"""Flash with ``dfu-util`` through a DFU bootloader: in the ROM of ST's chips (DfuSe, which takes addresses), or of
Arduino boards."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.host.flash.bootloader import enter_bootloader
from arenite.host.flash.elf_image import raw_image, read_program
from arenite.host.flash.probes import probe_serial
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload


def command(upload: Upload) -> list[str]:
    """Return the command ``dfu-util --download``. Raises UsageError for a board without a DFU bootloader."""
    dfu = upload.board.targets.dfu
    if dfu is None:
        raise UsageError(f"{upload.board.name} has no DFU bootloader.", "Choose another --tool.")
    image, address = raw_image(upload.elf)
    address_option = ["--dfuse-address", f"{address:#010x}:leave"] if dfu.address is not None else ["--reset"]
    serial = probe_serial(upload) if upload.probe else None
    serial_option = ["--serial", serial] if serial else []
    return [
        *(
            "dfu-util",
            "--device",
            ",".join(dfu.ids),
            "--alt",
            str(dfu.alternate),
            *serial_option,
            *address_option,
        ),
        *upload.extra,
        *("--download", str(image)),
    ]


UPLOADER = CommandUploader(
    "dfu",
    "apt install dfu-util",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"No DFU capable USB device available",
            "{board} is not in its DFU bootloader.",
            "Press reset twice, or hold BOOT (BOOT0) during reset. With --port auto, Arenite starts"
            " the bootloader of a running board.",
        ),
        KnownFailure(
            r"More than one DFU capable USB device found",
            "Several boards are in their DFU bootloader.",
            "Disconnect all but one, or choose one with --probe SERIAL. `dfu-util --list` shows the serial numbers.",
        ),
    ),
    prepare=enter_bootloader,
    # After ":leave" the board disconnects before it answers the last request.
    success_output="File downloaded successfully",
)
