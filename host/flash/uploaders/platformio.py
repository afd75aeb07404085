"""Flash with PlatformIO's upload target, which downloads and runs the tool of each platform."""

from __future__ import annotations

import sys

from arenite.host.flash.elf_image import read_program
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload


def command(upload: Upload) -> list[str]:
    """Return the command ``pio run --target upload`` of the PlatformIO that is installed beside this Python."""
    port = ["--upload-port", upload.port] if upload.port else []
    project = ["--project-dir", str(upload.directory), "--environment", upload.board.name]
    return [sys.executable, "-m", "platformio", "run", *project, "--target", "upload", *port, *upload.extra]


class PlatformIO(CommandUploader):
    """The uploader for PlatformIO, which is run as a module of this Python and not as a program."""

    def missing(self) -> str | None:
        """See ``Uploader``."""
        from importlib.util import find_spec

        return None if find_spec("platformio") else self.install


UPLOADER = PlatformIO(
    "platformio",
    "pip install 'arenite[build]'",
    command,
    lambda upload: read_program(upload.elf).nbytes,
    (
        KnownFailure(
            r"^(?:HTTPClientError|InternetConnectionError)",
            "PlatformIO could not download the uploader of {board}.",
            "Connect this computer to the network, or choose an installed tool with --tool.",
        ),
        KnownFailure(
            r"[Pp]lease specify `?upload_port",
            "PlatformIO does not find the port of {board}.",
            "Add --port auto, or --port with the name of the port.",
        ),
    ),
)
