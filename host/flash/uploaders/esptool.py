"""Flash with esptool, which writes each file to its flash address and checks its MD5. esptool is run as a separate
program, not imported, because its license is the GPL."""

from __future__ import annotations

from arenite.host.flash.esp_layout import chip_of, flash_parts
from arenite.host.flash.upload import CommandUploader, KnownFailure, Upload, find_program, program


def command(upload: Upload) -> list[str]:
    """Return the command ``esptool write-flash ADDRESS FILE...``. esptool resets the chip before and after."""
    # Version 4 is called esptool.py and writes its commands with an underscore; version 5 accepts both forms.
    is_version_4 = not find_program("esptool") and find_program("esptool.py")
    port = ["--port", upload.port] if upload.port else []
    files = [
        text
        for part in flash_parts(upload.board, upload.binary)
        for text in (hex(part.address), str(part.path))
    ]
    write_command = "write_flash" if is_version_4 else "write-flash"
    return [
        program("esptool.py" if is_version_4 else "esptool"),
        "--chip",
        chip_of(upload.board),
        *port,
        *upload.extra,
        write_command,
        *files,
    ]


class Esptool(CommandUploader):
    """The uploader for esptool, whose program is called esptool or esptool.py."""

    def missing(self) -> str | None:
        """See ``Uploader``."""
        return None if find_program("esptool") or find_program("esptool.py") else self.install


UPLOADER = Esptool(
    "esptool",
    "pip install esptool",
    command,
    lambda upload: sum(part.path.stat().st_size for part in flash_parts(upload.board, upload.binary)),
    (
        KnownFailure(
            r"This chip is (\S+?),? not|chip is (ESP\S+)[^.]*\. Wrong",
            "The chip on {port} is an {found}, but the project is for {board}.",
            "Choose the right port, or generate the project for the board that is connected.",
        ),
        KnownFailure(
            r"No such file or directory: '(/dev/[^']+)'|could not open port '?(/dev/\S+?)'?:.*No such file",
            "The serial port {port} does not exist.",
            "Connect the board, or find its port with --port auto.",
        ),
        KnownFailure(
            r"[Pp]ermission denied|\[Errno 13\]",
            "No permission to open {port}.",
            "Add yourself to the group 'dialout' and log in again.",
        ),
        KnownFailure(
            r"port is busy|[Rr]esource busy|\[Errno 16\]|Could not exclusively lock",
            "Another program uses {port}.",
            "Close the serial monitor or IDE that uses it.",
        ),
        KnownFailure(
            r"No serial data received|Failed to connect|Timed out waiting for packet|Wrong boot mode",
            "The chip on {port} does not answer, because it is not in its ROM loader.",
            "Hold BOOT, press RESET and release BOOT, then try again. Check cable and port.",
        ),
        KnownFailure(
            r"MD5 of file does not match|digest does not match|File md5",
            "The flash of {board} differs from the program after the upload.",
            "Flash again at a lower speed: --extra=--baud --extra=115200. Check cable and power supply.",
        ),
        KnownFailure(
            r"(?:Could not|No) (?:auto-)?(?:detect|find).*port|No serial ports found",
            "esptool does not find the port of {board}.",
            "Add --port auto, or --port with the name of the port.",
        ),
    ),
)
