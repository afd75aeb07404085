"""Cut the power of an emulated micro:bit at random instructions, and check which record it finds afterwards.

``python -m tests.firmware.state_store.power_cuts 10000`` prints the number of cuts and what they hit. QEMU keeps the
content of the flash memory over a reset, as the nRF51 does. The RAM, which a power cut erases, is filled with noise.
"""

from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from arenite.firmware.sources import STATE_STORE

RECORD_BYTES = 200
_RAM, _RAM_BYTES = 0x20000000, 2048
_SCRIPT = """
ENTRY(reset)
SECTIONS
{
    .text 0 : { KEEP(*(.vectors)) *(.text .text.* .rodata .rodata.*) }
    .noinit 0x20001000 (NOLOAD) : { *(.noinit) }
    .bss 0x20000000 (NOLOAD) : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(4); bss_end = .; }
    stack_top = 0x20000800;
    /DISCARD/ : { *(.comment) *(.ARM.*) }
}
"""


def build(folder: Path) -> tuple[Path, dict[str, int]]:
    """Build the firmware. Return its ELF and the addresses of its symbols."""
    (folder / "link.ld").write_text(_SCRIPT)
    elf = folder / "power_cuts.elf"
    sources = [Path(__file__).with_name("power_cuts.c")]
    sources += [STATE_STORE.path(name) for name in ("state_store.c", "flash_nrf.c")]
    flags = ("-mcpu=cortex-m0", "-mthumb", "-O2", "-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror")
    link = ("-nostdlib", f"-T{folder / 'link.ld'}", "-fno-tree-loop-distribute-patterns")
    command = ["arm-none-eabi-gcc", *flags, *STATE_STORE.include_flags, *map(str, sources), *link]
    subprocess.run([*command, "-lgcc", "-o", str(elf)], check=True)
    table = subprocess.run(["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True).stdout
    return elf, {name: int(at, 16) for at, name in re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}


def record(number: int) -> bytes:
    """Return record ``number`` as the firmware computes it."""
    mixed = ((number * 2654435761 + i * 40503) % 2**32 >> 13 & 255 for i in range(4, RECORD_BYTES))
    return number.to_bytes(4, "little") + bytes(mixed)


class Device:
    """A machine in QEMU, by default a micro:bit, controlled through its GDB stub."""

    def __init__(self, elf: Path, folder: Path, machine_name: str = "microbit") -> None:
        path = folder / "gdb"
        machine = ["qemu-system-arm", "-M", machine_name, "-kernel", str(elf), "-icount", "shift=6", "-S"]
        silent = ["-display", "none", "-serial", "null", "-monitor", "none"]
        self.process = subprocess.Popen([*machine, *silent, "-gdb", f"unix:{path},server=on,wait=off"])
        self._socket = socket.socket(socket.AF_UNIX)
        self._data = b""
        end = time.monotonic() + 60
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self._socket.settimeout(60)
        self.send("qXfer:features:read:target.xml:0,40")  # without it, single registers cannot be read

    def send(self, text: str) -> str:
        """Send a packet and return the reply."""
        self._socket.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 255))
        while True:
            match = re.search(rb"\$([^#]*)#..", self._data)
            if match is not None:
                self._data = self._data[match.end() :]
                self._socket.sendall(b"+")
                return match[1].decode()
            received = self._socket.recv(65536)
            assert received, "QEMU ended"
            self._data += received

    def read(self, at: int, count: int) -> bytes:
        return bytes.fromhex(self.send(f"m{at:x},{count:x}"))

    def write(self, at: int, data: bytes) -> None:
        assert self.send(f"M{at:x},{len(data):x}:{data.hex()}") == "OK"

    def run(self) -> int:
        """Run until a breakpoint, and return its address."""
        reply = self.send("c")
        assert reply.startswith("T05"), reply
        return int.from_bytes(bytes.fromhex(self.send("pf")), "little")

    def skip_nop(self, at: int) -> None:
        """Go on behind the instruction at ``at``, which has a breakpoint."""
        assert self.send(f"Pf={(at + 2).to_bytes(4, 'little').hex()}") == "OK"

    def restart(self, noise: bytes) -> None:
        """Take the power away and turn it on again."""
        assert self.send("qRcmd," + b"system_reset".hex()) == "OK"
        for k in range(0, len(noise), 1024):  # a packet has at most 4,096 characters
            self.write(_RAM + k, noise[k : k + 1024])

    def close(self) -> None:
        self._socket.close()
        self.process.kill()
        self.process.wait()


def run_cuts(count: int, seed: int, max_ticks: int = 400_000) -> Counter[str]:
    """Cut the power ``count`` times. Return how often a cut hit the start, and what the next start found. Raises
    ``AssertionError`` for a record that is neither the last one that was saved nor the one that was being saved."""
    results: Counter[str] = Counter()
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        elf, symbols = build(Path(name))
        device = Device(elf, Path(name))
        try:
            for symbol in ("cut", "started"):
                assert device.send(f"Z0,{symbols[symbol] & ~1:x},2") == "OK"
            saved = begun = 0
            for k in range(count):
                device.restart(choose.randbytes(_RAM_BYTES))
                device.write(symbols["cut_after"], choose.randrange(1, max_ticks).to_bytes(4, "little"))
                if device.run() == symbols["cut"] & ~1:
                    results["cut during the start"] += 1
                    continue
                words = device.read(symbols["progress"], 12)
                found, number, _ = (int.from_bytes(words[i : i + 4], "little") for i in (0, 4, 8))
                assert number in (saved, begun), f"cut {k}: record {number}, expected {saved} or {begun}"
                assert found == int(number > 0), f"cut {k}: result {found} for record {number}"
                if found:
                    assert device.read(symbols["copy"], RECORD_BYTES) == record(number), f"cut {k}"
                kind = "found" if number == begun else "not found"
                results["cut between saves" if saved == begun else f"cut in a save, record {kind}"] += 1
                device.skip_nop(symbols["started"] & ~1)
                assert device.run() == symbols["cut"] & ~1
                words = device.read(symbols["progress"], 12)
                begun, saved = (int.from_bytes(words[i : i + 4], "little") for i in (4, 8))
                results["records"] = begun
        finally:
            device.close()
    return results


if __name__ == "__main__":
    start = time.monotonic()
    print(dict(run_cuts(int(sys.argv[1]), seed=1)), f"{time.monotonic() - start:.0f} s")
