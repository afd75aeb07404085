"""Where the headers of the chips' vendors and of C libraries are; a folder that does not exist if nothing says so. And
how the Arduino core with Mbed OS is compiled."""

from __future__ import annotations

import os
from pathlib import Path

HEADERS = Path(os.environ.get("ARENITE_DRIVER_HEADERS", "/nonexistent"))
NEWLIB = Path(os.environ.get("ARENITE_NEWLIB", "/nonexistent"))
PICOLIBC = Path(os.environ.get("ARENITE_PICOLIBC", "/nonexistent"))


def mbed_core(folder: Path, variant: str, library: str) -> tuple[list[str], list[Path]]:
    """Return compiler options and folders of headers for ``library`` of ArduinoCore-mbed. ``variant`` is the folder of
    the board. ``folder`` gets a link to the checkout of ArduinoCore-API.

    The checkouts of both repositories, and newlib, must be there.
    """
    core = HEADERS / "ArduinoCore-mbed"
    board = core / "variants" / variant
    (folder / "core").mkdir()
    (folder / "core/api").symlink_to(HEADERS / "ArduinoCore-API/api")  # as the core's own checkout has it
    lines = (board / "includes.txt").read_text().split()
    mbed = [Path(line.replace("-iwithprefixbefore/", f"{core}/cores/arduino/", 1)) for line in lines]
    (cxx,) = (NEWLIB / "c++").iterdir()
    flags = ["-std=gnu++14", "-mthumb", "-DARDUINO=10819", "-DARDUINO_ARCH_MBED", f"@{board / 'defines.txt'}"]
    flags += ["-include", str(board / "mbed_config.h"), "-fno-exceptions", "-fno-rtti"]
    headers = [folder / "core", folder / "core/api/deprecated", folder / "core/api/deprecated-avr-comp"]
    headers += [core / "cores/arduino", board, core / "libraries" / library, *mbed]
    return flags, [*headers, cxx, cxx / "arm-none-eabi", NEWLIB]
