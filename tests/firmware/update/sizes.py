"""Measure the code and the RAM of the device's side of updates: ``python -m tests.firmware.update.sizes``.

Each file is compiled with ``-Os``. The code of a part is the sum of its files, with constants. The RAM is that of the
structures.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from arenite.firmware.sources import STATE_STORE, UPDATE

CORES = ("cortex-m0", "cortex-m4")
FLAGS = ("-mthumb", "-Os", "-std=c99", "-ffreestanding", "-ffunction-sections", "-Wall", "-Wextra", "-Werror")
#: The parts: the beginnings of the names of their files.
PARTS = {
    "protocol": ("smp", "cbor"),
    "forward error correction": ("coded_frames", "reed_solomon"),
    "device": ("device",),
    "installation": ("boot_choose", "boot_state", "swap", "state_store"),
    "SHA-256": ("sha256", "sha2_constants"),
}
#: The structures of the parts.
STRUCTURES = {"protocol": "ar_smp", "forward error correction": "ar_coded", "device": "ar_update"}


def _gcc(folder: Path, core: str, *sources: str) -> None:
    flags = (f"-mcpu={core}", *FLAGS, *UPDATE.include_flags)
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", *sources], check=True, cwd=folder)


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@cache
def code_bytes(part: str, core: str) -> int:
    """Return the bytes of code and constants of a part. It must have no variables."""
    paths = [*UPDATE.paths(".c"), STATE_STORE.path("state_store.c")]
    sources = sorted({str(path) for path in paths if path.name.startswith(PARTS[part])})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _gcc(folder, core, *sources)
        table = _output("arm-none-eabi-size", *sorted(str(path) for path in folder.glob("*.o")))
    rows = [tuple(map(int, line.split()[:3])) for line in table.splitlines()[1:]]
    assert sum(data + bss for _, data, bss in rows) == 0
    return sum(text for text, _, _ in rows)


def ram_bytes(part: str, core: str) -> int:
    """Return the bytes of the structure of a part, a key of ``STRUCTURES``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "probe.c").write_text(f'#include "device.h"\n{STRUCTURES[part]} ram_probe;\n')
        _gcc(folder, core, "probe.c")
        symbols = _output("arm-none-eabi-nm", "-S", str(folder / "probe.o"))
    size = re.search(r"^\w+ (\w+) B ram_probe", symbols, re.MULTILINE)
    assert size is not None
    return int(size[1], 16)


def table_row(part: str) -> str:
    """Return the row of a part in docs/update-serial.md."""
    codes = " | ".join(f"{code_bytes(part, core):,}" for core in CORES)
    ram = f"{ram_bytes(part, CORES[0]):,}" if part in STRUCTURES else ""
    return f"| {part} | {codes} | {ram} |"


def main() -> None:
    for part in PARTS:
        print(table_row(part))


if __name__ == "__main__":
    main()
