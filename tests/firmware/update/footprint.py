"""Measure the check of update images on a Cortex-M0 and a Cortex-M4: bytes of code and stack.

``python -m tests.firmware.update.footprint`` prints the figures of docs/update-images.md, and those of a whole updater.
The code is compiled with ``-Os`` and linked with ``--gc-sections``. Its size is that of a program with the check less
that of the same program without it, so it includes the library for the curve and the compiler's functions for 64-bit
arithmetic. QEMU runs the check of a signed image. The stack was painted before the check; the figure is that of the
deepest byte that changed.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.firmware.sources import UPDATE
from arenite.firmware.update.algorithms import CHECKS
from tests.firmware.state_store.power_cuts import Device
from tests.firmware.update import updater
from tests.firmware.update.image_check import ABI, BOARD, MODEL, library_or_skip, public_key, signed
from tests.firmware.update.updater import MACHINES, SIZE_FLAGS, script, write_files

_STACK_BYTES = 8192


@dataclass(frozen=True)
class Footprint:
    """The needs of the check on a core."""

    code_bytes: int
    stack_bytes: int
    result: int  # of ar_image_check


def _build(folder: Path, core: str, algorithm: str, image: bytes, *flags: str) -> Path:
    """Build the program with the update image ``image``, and return its ELF."""
    check, library = CHECKS[algorithm], library_or_skip(algorithm)
    (folder / "link.ld").write_text(script(_STACK_BYTES))
    files = {"image": image, "abi": ABI}
    files["key"] = public_key(algorithm)
    write_files(folder, files)
    elf = folder / f"{core}{len(flags)}.elf"
    sources = [Path(__file__).with_name("footprint.c"), folder / "files.S", *check.library_paths(library)]
    sources += check.source_paths
    options = [f"-mcpu={core}", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror"]
    options += [
        "-ffunction-sections",
        "-fdata-sections",
        "-Wl,--gc-sections",
        f'-DDEVICE_BOARD="{BOARD}"',
        *flags,
    ]
    options += [
        *check.defines,
        *UPDATE.include_flags,
        *check.flags(library),
        "-nostdlib",
        f"-T{folder / 'link.ld'}",
    ]
    command = [
        "arm-none-eabi-gcc",
        *options,
        "-fno-tree-loop-distribute-patterns",
        *SIZE_FLAGS,
        *map(str, sources),
        "-lgcc",
    ]
    subprocess.run([*command, "-o", str(elf)], check=True)
    return elf


def _text_bytes(elf: Path) -> int:
    table = subprocess.run(
        ["arm-none-eabi-size", str(elf)], check=True, capture_output=True, text=True
    ).stdout
    return int(table.splitlines()[1].split()[0])


def signed_image(algorithm: str) -> bytes:
    """Return the image that is checked."""
    return signed(replace(MODEL, counter=1), algorithm=algorithm)


def measure(core: str, algorithm: str, image: bytes | None = None) -> Footprint:
    """Return the footprint of the check of an algorithm on ``core``, a key of ``MACHINES``."""
    image = signed_image(algorithm) if image is None else image
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        elf = _build(folder, core, algorithm, image)
        code_bytes = _text_bytes(elf) - _text_bytes(_build(folder, core, algorithm, image, "-DWITHOUT_CHECK"))
        table = subprocess.run(
            ["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True
        ).stdout
        symbols = {symbol: int(at, 16) for at, symbol in re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}
        device = Device(elf, folder, MACHINES[core])
        try:
            assert device.send(f"Z0,{symbols['done'] & ~1:x},2") == "OK"
            assert device.run() == symbols["done"] & ~1
            words = device.read(symbols["reported"], 8)
        finally:
            device.close()
    result, stack_bytes = (int.from_bytes(words[k : k + 4], "little") for k in (0, 4))
    return Footprint(code_bytes, stack_bytes, result)


def rows() -> list[str]:
    """Return the rows of the table of the check in docs/update-images.md."""
    result = []
    for core in MACHINES:
        for algorithm in CHECKS:
            footprint = measure(core, algorithm)
            cells = [core.replace("cortex-m", "Cortex-M"), algorithm]
            cells += [f"{footprint.code_bytes:,}", f"{footprint.stack_bytes:,}"]
            result.append(f"| {' | '.join(cells)} |")
    return result


if __name__ == "__main__":
    print("\n".join([*rows(), "", *updater.rows()]))
