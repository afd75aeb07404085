"""Flash by copying a raw image to the drive of a DAPLink debug probe. The probe writes the image to the chip."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.flash.drives import Drive, drive_at, find_drives, put
from arenite.host.flash.elf_image import raw_image, read_program
from arenite.host.flash.upload import Upload

DETAILS = "DETAILS.TXT"
FAILED = "FAIL.TXT"
DRIVE_TIMEOUT_S = 30.0


class CopyUploader:
    """See ``Uploader``. ``port`` may be the drive's folder."""

    name = "copy"

    def missing(self) -> str | None:
        """See ``Uploader``: it needs no program."""
        return None

    def describe(self, upload: Upload) -> list[str]:
        """See ``Uploader``."""
        image, _ = raw_image(upload.elf)
        return [f"cp {shlex.quote(str(image))} <the drive with {DETAILS}>/", "sync"]

    def run(self, upload: Upload) -> int:
        """See ``Uploader``."""
        image, address = raw_image(upload.elf)
        if address != upload.board.flash[0].origin:
            raise UsageError(
                f"The program begins at {address:#x}, the flash of {upload.board.name} at"
                f" {upload.board.flash[0].origin:#x}: the probe writes a raw image to the beginning of the flash.",
                "Use --tool pyocd.",
            )
        drive = self._find(upload)
        put(drive, "ARENITE.BIN", image.read_bytes())
        self._settle(upload, drive)
        return read_program(upload.elf).nbytes

    def _find(self, upload: Upload) -> Drive:
        if upload.port and Path(upload.port).is_dir():
            return drive_at(Path(upload.port), DETAILS, upload.root)
        serials = tuple(text.lower() for text in upload.board.usb.serials)
        drives = find_drives(DETAILS, upload.root)
        fitting = [
            d for d in drives if not serials or d.facts.get("unique id", "").lower().startswith(serials)
        ]
        if len(fitting) > 1:
            names = ", ".join(str(d.folder) for d in fitting)
            raise UsageError(
                f"Several DAPLink drives are mounted: {names}.", "Choose one with --port FOLDER."
            )
        if fitting:
            return fitting[0]
        others = f" ({', '.join(str(d.folder) for d in drives)} belongs to another board)" if drives else ""
        raise DeviceError(
            f"No DAPLink drive of {upload.board.name} is mounted{others}.",
            "Connect the board. If this computer does not mount drives automatically, run `udisksctl mount -b"
            " /dev/disk/by-label/LABEL`.",
        )

    def _settle(self, upload: Upload, drive: Drive) -> None:
        """Wait until the probe has written the image. Its drive disappears while it writes, and then returns. After a
        failure, the drive has the file FAIL.TXT."""
        end = time.monotonic() + DRIVE_TIMEOUT_S
        image = drive.folder / "ARENITE.BIN"
        while time.monotonic() < end:
            # While the image is still on the drive, FAIL.TXT is from an earlier upload.
            if (drive.folder / DETAILS).is_file() and not image.exists():
                failed = drive.folder / FAILED
                if not failed.is_file():
                    return
                text = failed.read_text("ascii", "replace").strip().splitlines()
                raise DeviceError(
                    f"The probe of {upload.board.name} refused the program:"
                    f" {text[0] if text else 'no reason'}.",
                    "Disconnect it, connect it again and flash again, or use --tool pyocd.",
                )
            time.sleep(0.1)
        raise DeviceError(
            f"The drive {drive.folder} did not come back within {DRIVE_TIMEOUT_S:.0f} s.",
            "Disconnect the board and connect it again.",
        )


UPLOADER = CopyUploader()
