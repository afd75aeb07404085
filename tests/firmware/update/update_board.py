"""A device with updates on a model of its flash memory: a library, and a program on a pseudo-terminal.

The library has a clock of its own, whose ticks are the bytes of a line at 115,200 baud. ``BoardLine`` is that line as a
transport of the host. It can damage bytes and lose its connection.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import random
import subprocess
import tempfile
import tty
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from arenite.firmware.sources import STATE_STORE, UPDATE
from arenite.host.link.transport import PortGoneError
from arenite.host.update.signed_image import ImageProperties, sign_image
from tests.firmware.update.image_check import STRICT, compile_host, keys, public_key

BAUD = 115_200
NAME = "qemu_microbit"
#: The hash of graph, arena and kernels of the firmware that runs first.
ABI = bytes(range(32))
_HERE = Path(__file__).parent
_SANITIZERS = ("-g", "-fsanitize=undefined", "-fno-sanitize-recover=all")
_MAX_TAKEN_BYTES = 4096


@dataclass(frozen=True)
class Memory:
    """The flash memory of a device: sizes in bytes, times in microseconds."""

    name: str
    page_bytes: int
    unit_bytes: int
    check_bits: bool = False
    erase_us: int = 0  # of a page
    program_us: int = 0  # of a unit


#: Typical times of the data sheets.
NRF51 = Memory("nRF51", 1024, 4, erase_us=21_300, program_us=43)
NRF52 = Memory("nRF52840", 4096, 4, erase_us=85_000, program_us=41)
STM32L4 = Memory("STM32L4", 2048, 8, True, erase_us=22_000, program_us=82)
RP2040 = Memory("RP2040", 4096, 16, erase_us=45_000, program_us=44)
INSTANT = Memory("no flash times", 4096, 4)


class _Geometry(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint32)
        for name in (
            *("page_bytes", "unit_bytes", "check_bits", "firmware_pages", "model_pages"),
            *("erase_us", "program_us"),
        )
    ]


def _sources() -> list[Path]:
    names = ("device", "coded_frames", "reed_solomon", "smp", "cbor", "boot_choose", "boot_state", "swap")
    paths = [path for path in UPDATE.paths(".c") if path.name.startswith(names)]
    return [*paths, STATE_STORE.path("state_store.c"), _HERE / "update_board.c", _HERE / "flash_model.c"]


@cache
def _library_path() -> Path:
    """Compile the device, and return the path of the library, which aborts on undefined behavior."""
    handle, name = tempfile.mkstemp(prefix="update-board-", suffix=".so")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    compile_host(Path(name), _sources(), f"-I{_HERE}", *_SANITIZERS, "-fPIC", "-shared")
    return Path(name)


@cache
def library() -> ctypes.CDLL:
    """Return the device as a library."""
    loaded = ctypes.CDLL(str(_library_path()))
    loaded.board_create.restype = ctypes.c_void_p
    loaded.board_seconds.restype = ctypes.c_double
    loaded.board_violation.restype = ctypes.c_char_p
    return loaded


@cache
def program() -> Path:
    """Return the path of the device as a program on standard input and output."""
    handle, name = tempfile.mkstemp(prefix="update-device-")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    flags = [*STRICT, *_SANITIZERS, "-D_DEFAULT_SOURCE", f"-I{_HERE}", *UPDATE.include_flags]
    source = _HERE / "update_device.c"
    subprocess.run(["gcc", *flags, str(source), str(_library_path()), "-o", name], check=True)
    return Path(name)


@cache
def make_firmware(
    version: str = "1.0.0",
    counter: int = 1,
    payload_bytes: int = 3000,
    abi: bytes = ABI,
    first: bytes = b"F",
    board: str = NAME,
    foreign: bool = False,
) -> bytes:
    """Return a signed firmware. If ``first``, the first byte of its payload, is R, it fails its own test.
    ``foreign``: with another key than that of the devices."""
    properties = ImageProperties(version, counter, board, "firmware", abi, 512)
    payload = first + random.Random(version).randbytes(payload_bytes - 1)
    return sign_image(payload, properties, keys()[foreign], 1 << 20)


@cache
def make_model(
    version: str = "1.0.0",
    counter: int = 1,
    payload_bytes: int = 2000,
    abi: bytes = ABI,
    first: bytes = b"M",
    board: str = NAME,
    foreign: bool = False,
    record: bytes | None = None,
) -> bytes:
    """Return a signed model with a calibration record. The other arguments are those of ``make_firmware``."""
    properties = ImageProperties(version, counter, board, "model", abi, 64, record=record)
    payload = first + random.Random(f"model {version}").randbytes(payload_bytes - 1)
    return sign_image(payload, properties, keys()[foreign], 1 << 20)


class PowerCutError(Exception):
    """The power of the device failed."""


class Board:
    """A device whose slots 0 have ``firmware`` and ``model``."""

    def __init__(
        self,
        memory: Memory = INSTANT,
        firmware: bytes | None = None,
        model: bytes | None = None,
        *,
        firmware_pages: int = 8,
        model_pages: int = 16,
    ) -> None:
        self.memory = memory
        self._library = library()
        self.pages = (firmware_pages, model_pages)
        geometry = _Geometry(
            *(memory.page_bytes, memory.unit_bytes, memory.check_bits, firmware_pages, model_pages),
            *(memory.erase_us, memory.program_us),
        )
        self._board = ctypes.c_void_p(
            self._library.board_create(ctypes.byref(geometry), NAME.encode(), public_key())
        )
        for pair, image in enumerate(
            (firmware or make_firmware(), model or make_model())[: 1 + bool(model_pages)]
        ):
            self._library.board_put_image(self._board, pair, 0, image, len(image))
        assert self.start() >= 1

    def start(self, cut_after: int = 0) -> int:
        """Turn the power on, after a power cut. Cut it again in operation ``cut_after`` on the flash memory, if that is
        not 0. Return the result of the boot loader."""
        self._library.board_pull(self._board)
        return int(self._library.board_start(self._board, cut_after))

    def send(self, data: bytes) -> None:
        self._library.board_send(self._board, data, len(data))

    def receive(self, ticks: int) -> bytes:
        """Return what the device has sent within ``ticks``. Raise ``PowerCutError`` if its power failed."""
        if not self._library.board_run(self._board, ticks):
            raise PowerCutError
        violation = self._library.board_violation(self._board)
        assert violation is None, violation.decode()
        buffer = ctypes.create_string_buffer(_MAX_TAKEN_BYTES)
        count = self._library.board_take(self._board, buffer, _MAX_TAKEN_BYTES)
        return buffer.raw[:count]

    def pull(self) -> None:
        self._library.board_pull(self._board)

    def slot(self, pair: int, slot: int) -> bytes:
        buffer = ctypes.create_string_buffer(self.pages[pair] * self.memory.page_bytes)
        self._library.board_get_slot(self._board, pair, slot, buffer, len(buffer))
        return buffer.raw

    @property
    def seconds(self) -> float:
        return float(self._library.board_seconds(self._board))

    @property
    def operations(self) -> int:
        return int(self._library.board_operations(self._board))

    @property
    def violation(self) -> bytes | None:
        violation: bytes | None = self._library.board_violation(self._board)
        return violation

    @property
    def resets(self) -> int:
        return int(self._library.board_resets(self._board))

    def close(self) -> None:
        self._library.board_destroy(self._board)


class BadLine:
    """What a line does to bytes: replaces a share of them, in bursts of ``burst`` bytes."""

    def __init__(self, seed: int, share: float, burst: int = 1) -> None:
        self._random = random.Random(seed)
        self._begins = share / burst
        self._burst, self._left = burst, 0
        self.damaged = self.bytes = 0

    def __call__(self, data: bytes) -> bytes:
        result = bytearray(data)
        for i in range(len(result)):
            self.bytes += 1
            if not self._left and self._random.random() < self._begins:
                self._left = self._burst
            if self._left:
                self._left -= 1
                result[i] ^= self._random.randrange(1, 256)
                self.damaged += 1
        return bytes(result)


class BoardLine:
    """The line to a board as a transport. Time is that of the board: nothing waits.

    ``pulls_s``: times at which the line is pulled. Then reading and writing fail as with a real port, and ``open``
    connects it again. With ``silence_s``, they do not fail: for this long, all bytes are lost.
    """

    port = "a simulated line"

    def __init__(self, board: Board, pulls_s: Sequence[float] = (), silence_s: float = 0.0) -> None:
        self.board = board
        self.to_device: Callable[[bytes], bytes] = bytes
        self.from_device: Callable[[bytes], bytes] = bytes
        self.sent_bytes = 0
        self.pulled = 0
        self._pulls_s = sorted(pulls_s, reverse=True)
        self._silence_s, self._silent_until_s = silence_s, 0.0
        self._is_open = True

    def clock(self) -> float:
        return self.board.seconds

    def open(self) -> Self:
        self._is_open = True
        return self

    def _require_open(self) -> None:
        if not self._is_open:
            raise PortGoneError("The line was pulled.", "Connect it again.")

    @property
    def _is_silent(self) -> bool:
        return self.clock() < self._silent_until_s

    def _run(self, end_s: float) -> bytes:
        return self.board.receive(max(1, round((end_s - self.clock()) * BAUD / 10)))

    def _pull(self) -> None:
        self._pulls_s.pop()
        self.pulled += 1
        self.board.pull()
        self._silent_until_s = self.clock() + self._silence_s
        self._is_open = self._silence_s > 0

    def read(self, timeout_s: float) -> bytes:
        """See ``Transport``."""
        self._require_open()
        end_s = self.clock() + timeout_s
        while self.clock() < end_s:
            pull_s = self._pulls_s[-1] if self._pulls_s else end_s
            if self._pulls_s and self.clock() >= pull_s:
                self._pull()
                self._require_open()
                continue
            data = self._run(min(end_s, pull_s))
            if data and not self._is_silent:
                return self.from_device(data)
        return b""

    def write(self, data: bytes) -> None:
        """See ``Transport``."""
        self._require_open()
        self.sent_bytes += len(data)
        if not self._is_silent:
            self.board.send(self.to_device(data))

    def discard_input(self) -> None:
        """See ``Transport``."""
        self._require_open()
        self.from_device(self.board.receive(1))

    def close(self) -> None:
        """See ``Transport``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class DeviceProcess:
    """The device as a program, whose serial port is the pseudo-terminal ``port``."""

    def __init__(self, folder: Path, memory: Memory = INSTANT, firmware: bytes | None = None) -> None:
        names = ["key.bin", "firmware.bin", "model.bin"]
        for name, data in zip(names, (public_key(), firmware or make_firmware(), make_model()), strict=True):
            (folder / name).write_bytes(data)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        tty.setraw(self._master)
        self.port = os.ttyname(self._slave)
        arguments = [str(n) for n in (memory.page_bytes, memory.unit_bytes, 8, 16)] + [NAME, *names]
        self.process = subprocess.Popen(
            [str(program()), *arguments], cwd=folder, stdin=self._master, stdout=self._master
        )

    def close(self) -> None:
        assert self.process.poll() is None, (
            "the device stopped: a sanitizer or the flash memory found a mistake"
        )
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def __enter__(self) -> DeviceProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
