"""A device that serves the Simple Management Protocol on a pseudo-terminal: a C program, and a bad cable."""

from __future__ import annotations

import atexit
import hashlib
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
import threading
import tty
from collections.abc import Callable
from functools import cache
from pathlib import Path

from arenite.firmware.sources import UPDATE

SLOT_BYTES = 1 << 17
_HERE = Path(__file__).parent
_STRICT = (
    "-std=c99",
    "-D_DEFAULT_SOURCE",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wconversion",
    "-Wshadow",
)
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")

#: What a cable makes of bytes that go one way.
Cable = Callable[[bytes], bytes]


def sources() -> list[str]:
    """Return the C sources of the protocol."""
    return [str(path) for path in UPDATE.paths(".c") if path.name.startswith(("smp", "cbor"))]


@cache
def build(program: str) -> Path:
    """Compile ``program``, a C file of this folder, for this computer, with sanitizers. Return its path."""
    handle, name = tempfile.mkstemp(prefix=f"{program}-")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    hashes = [str(UPDATE.path(file)) for file in ("sha256.c", "sha2_constants.c")]
    command = ["gcc", *_STRICT, *SANITIZERS, *UPDATE.include_flags, *sources(), *hashes]
    subprocess.run([*command, str(_HERE / f"{program}.c"), "-o", name], check=True)
    return Path(name)


def make_image(version: tuple[int, int, int, int], body_bytes: int, seed: int = 0) -> bytes:
    """Return an MCUboot image with the SHA-256 of its header and body, and no signature."""
    body = random.Random(seed).randbytes(body_bytes)
    header = struct.pack("<LLHHLLBBHL4x", 0x96F3B83D, 0, 32, 0, len(body), 0, *version)
    entry = struct.pack("<BxH", 0x10, 32) + hashlib.sha256(header + body).digest()
    return header + body + struct.pack("<HH", 0x6907, 4 + len(entry)) + entry


def image_hash(image: bytes) -> bytes:
    """Return the hash by which clients name an image of ``make_image``."""
    return image[-32:]


def run_smpmgr(port: str, *arguments: str) -> str:
    """Run smpmgr as a user does. Return what it prints."""
    command = [sys.executable, "-m", "smpmgr", "--port", port, "--timeout", "20", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


class Damage:
    """A cable that replaces or drops each byte with a probability, and repeats lines of frames."""

    def __init__(self, seed: int, replaced: float = 0.0, dropped: float = 0.0, repeated: float = 0.0) -> None:
        self._random = random.Random(seed)
        self._replaced, self._dropped, self._repeated = replaced, dropped, repeated
        self.count = 0

    def __call__(self, data: bytes) -> bytes:
        result = bytearray()
        for byte in data:
            chance = self._random.random()
            if chance < self._dropped:
                self.count += 1
            elif chance < self._dropped + self._replaced:
                self.count += 1
                result.append(self._random.randrange(256))
            else:
                result.append(byte)
        if self._repeated and data.startswith(b"\x06\x09") and data.endswith(b"\n"):
            is_repeated = self._random.random() < self._repeated
            self.count += is_repeated
            result *= 1 + is_repeated
        return bytes(result)


class Cut:
    """A cable that is pulled after ``count`` bytes. Everything behind them is lost."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.has_lost = threading.Event()

    def __call__(self, data: bytes) -> bytes:
        rest = data[: self._left]
        self._left -= len(rest)
        if len(rest) < len(data):
            self.has_lost.set()
        return rest


class SmpDevice:
    """A device with two slots in ``folder``. Its serial port is the pseudo-terminal ``port``."""

    def __init__(self, folder: Path, image: bytes, unit_bytes: int = 8) -> None:
        self.folder, self._unit_bytes = folder, unit_bytes
        (folder / "slot0.bin").write_bytes(image.ljust(SLOT_BYTES, b"\xff"))
        (folder / "slot1.bin").write_bytes(b"\xff" * SLOT_BYTES)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)  # and it stays open, so that the terminal outlives its clients
        self.port = os.ttyname(self._slave)
        self.to_device: Cable = bytes
        self.from_device: Cable = bytes
        self._stop_read, self._stop_write = os.pipe()
        self._start()

    def _start(self) -> None:
        command = [str(build("smp_device")), str(self._unit_bytes)]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()

    def _relay(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        stdin, stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        while True:
            ready, _, _ = select.select([self._master, stdout, self._stop_read], [], [])
            if self._stop_read in ready:
                return
            for source, target, cable in (
                (self._master, stdin, self.to_device),
                (stdout, self._master, self.from_device),
            ):
                if source in ready:
                    data = os.read(source, 4096)
                    if not data:
                        return
                    data = cable(data)
                    while data:
                        data = data[os.write(target, data) :]

    def _stop(self) -> None:
        os.write(self._stop_write, b"x")
        self._thread.join()
        os.read(self._stop_read, 1)
        assert self.process.poll() is None, (
            "the device stopped: a sanitizer or a check of the slots found a mistake"
        )
        self.process.kill()
        self.process.wait()

    def cut_power(self) -> None:
        """Turn the device off and on again. It forgets its RAM, and the slots keep their content."""
        self._stop()
        self._start()

    def slot(self, number: int) -> bytes:
        return (self.folder / f"slot{number}.bin").read_bytes()

    def close(self) -> None:
        self._stop()
        for descriptor in (self._master, self._slave, self._stop_read, self._stop_write):
            os.close(descriptor)

    def __enter__(self) -> SmpDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
