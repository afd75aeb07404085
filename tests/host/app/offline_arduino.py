"""Let PlatformIO build for boards with a SAMD21 without a network, from checkouts of the core and its headers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from arenite.firmware.platformio.offline_packages import offline_package_files

#: The checkouts that are needed, by the names of their repositories.
CHECKOUTS = (
    "ArduinoCore-samd",
    "ArduinoCore-API",
    "ArduinoModule-CMSIS-Atmel",
    "CMSIS_5",
    "platform-atmelsam",
)


def _installed(folder: Path, kind: str, version: str) -> None:
    """Mark ``folder`` as a package that PlatformIO has installed."""
    spec = {"owner": "platformio", "id": None, "name": folder.name, "requirements": None, "uri": None}
    entry = {"type": kind, "name": folder.name, "version": version, "spec": spec}
    (folder / ".piopm").write_text(json.dumps(entry))


def _package(folder: Path, version: str, links: dict[str, Path]) -> None:
    """Write a package whose files are ``links``: their paths in it, and where they are."""
    folder.mkdir(parents=True)
    for path, target in links.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(target)
    (folder / "package.json").write_text(json.dumps({"name": folder.name, "version": version, "system": "*"}))
    _installed(folder, "tool", version)


def write_core_directory(core: Path, checkouts: Path) -> None:
    """Write PlatformIO's core directory with the platform ``atmelsam``, its core, and the installed compiler."""
    packages = core / "packages"
    for path, text in offline_package_files().items():
        (core / path).parent.mkdir(parents=True, exist_ok=True)
        (core / path).write_text(text)
    samd = checkouts / "ArduinoCore-samd"
    framework = packages / "framework-arduino-samd"
    _package(framework, "1.8.14", {name: samd / name for name in ("libraries", "variants", "bootloaders")})
    # Files of the core include those of ArduinoCore-API by relative paths.
    cores = framework / "cores/arduino"
    shutil.copytree(samd / "cores/arduino", cores, ignore=shutil.ignore_patterns("api"))
    shutil.copytree(checkouts / "ArduinoCore-API/api", cores / "api")
    atmel = checkouts / "ArduinoModule-CMSIS-Atmel/CMSIS-Atmel/CMSIS"
    _package(packages / "framework-cmsis-atmel", "1.2.2", {"CMSIS": atmel})
    include = checkouts / "CMSIS_5/CMSIS/Core/Include"
    _package(packages / "framework-cmsis", "1.40500.0", {"CMSIS/Include": include})
    # The core names a library of signal processing that nothing calls.
    library = packages / "framework-cmsis/CMSIS/Lib/GCC/libarm_cortexM0l_math.a"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"!<arch>\n")
    bin_folder = Path(shutil.which("arm-none-eabi-gcc") or "").parent
    tools = {f"bin/{path.name}": path for path in bin_folder.glob("arm-none-eabi-*")}
    _package(packages / "toolchain-gccarmnoneeabi", "1.70201.0", tools)
    platform = core / "platforms/atmelsam"
    shutil.copytree(checkouts / "platform-atmelsam", platform)
    _installed(platform, "platform", json.loads((platform / "platform.json").read_text())["version"])
