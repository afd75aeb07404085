"""A model of flash memory that enforces the rules of real ones and loses power at a chosen operation, and the state
store on top of it, compiled for the host."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from arenite.firmware.sources import STATE_STORE

_U32, _P = ctypes.c_uint32, ctypes.c_void_p
_ERASE = ctypes.CFUNCTYPE(ctypes.c_int, _P, _U32)
_PROGRAM = ctypes.CFUNCTYPE(ctypes.c_int, _P, _U32, _P, _U32)
_READ = ctypes.CFUNCTYPE(ctypes.c_int, _P, _U32, _P, _U32)
_BUSY = ctypes.CFUNCTYPE(ctypes.c_int, _P)

UNSUITABLE, EMPTY, LOADED = -1, 0, 1
FAILED, IDLE, BUSY, SAVED = -1, 0, 1, 2
_STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")


class _FlashStruct(ctypes.Structure):
    _fields_ = [
        ("page_bytes", _U32),
        ("pages", _U32),
        ("unit_bytes", _U32),
        ("erase", _ERASE),
        ("program", _PROGRAM),
        ("read", _READ),
        ("busy", _BUSY),
        ("context", _P),
    ]


@cache
def _library() -> ctypes.CDLL:
    handle, name = tempfile.mkstemp(suffix=".so")
    os.close(handle)
    source = str(STATE_STORE.path("state_store.c"))
    command = ["gcc", *_STRICT, "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    subprocess.run([*command, "-fPIC", "-shared", source, "-o", name], check=True)
    library = ctypes.CDLL(name)
    Path(name).unlink()
    return library


class Flash:
    """A flash memory that is erased by page and programmed by unit.

    A wrong use (a unit that is programmed twice, an address outside) is kept in ``violations``. Power fails in
    operation ``cut_at``, where each erasure and each programmed unit counts. After that nothing changes until
    ``restart``. The unit that is programmed when the power fails has any subset of its bits cleared, and the page that
    is erased has any content.
    """

    def __init__(self, page_bytes: int, pages: int, unit_bytes: int) -> None:
        self.page_bytes, self.pages, self.unit_bytes = page_bytes, pages, unit_bytes
        self.content = bytearray(b"\xff" * (page_bytes * pages))
        self.programmed = bytearray(page_bytes * pages // unit_bytes)
        self.erasures = [0] * pages
        self.operations, self.cut_at = 0, -1
        self.is_dead = False
        self.violations: list[str] = []
        self.random = random.Random(0)
        #: Pages that stay as they are when they are programmed, and the bytes that they should have, by address.
        self.failing_pages: set[int] = set()
        self.missing: dict[int, bytes] = {}

    def restart(self, cut_at: int = -1) -> None:
        """Turn the power on again. The next cut is in operation ``cut_at``, counted from now."""
        self.is_dead, self.operations, self.cut_at = False, 0, cut_at

    def _some_bits(self, old: bytes, new: bytes) -> bytes:
        """Return ``old`` after any subset of the bits that ``new`` clears was cleared."""
        size = len(old)
        masks = self.random.choice((bytes(size), b"\xff" * size, self.random.randbytes(size)))
        return bytes(o & (n | ~m & 255) for o, n, m in zip(old, new, masks, strict=True))

    def _fails_here(self) -> bool:
        self.operations += 1
        self.is_dead = self.operations - 1 == self.cut_at
        return self.is_dead

    def program_missing(self) -> None:
        """Program what failing pages lack."""
        for at, data in self.missing.items():
            for k, byte in enumerate(data):
                self.content[at + k] &= byte

    def erase(self, page: int) -> int:
        if self.is_dead:
            return 0
        if page >= self.pages:
            self.violations.append(f"erase page {page}")
            return 1
        start, end = page * self.page_bytes, (page + 1) * self.page_bytes
        old = bytes(self.content[start:end])
        self.erasures[page] += 1
        if self._fails_here():
            half = len(old) // 2
            drifted = bytes(byte | self.random.getrandbits(8) for byte in old)
            results = (old, self.random.randbytes(len(old)), drifted, b"\xff" * half + old[half:])
            self.content[start:end] = self.random.choice(results)
            # Even if it looks erased, no unit may be programmed before the erasure is repeated.
            self.programmed[start // self.unit_bytes : end // self.unit_bytes] = b"\1" * (
                (end - start) // self.unit_bytes
            )
            return 0
        self.content[start:end] = b"\xff" * (end - start)
        self.programmed[start // self.unit_bytes : end // self.unit_bytes] = bytes(
            (end - start) // self.unit_bytes
        )
        return 0

    def program(self, at: int, data: bytes) -> int:
        if self.is_dead:
            return 0
        unit = self.unit_bytes
        if at % unit or len(data) % unit or at + len(data) > len(self.content):
            self.violations.append(f"program {len(data)} bytes at {at}")
            return 1
        for k in range(0, len(data), unit):
            number = (at + k) // unit
            if self.programmed[number]:
                self.violations.append(f"unit {number} programmed twice")
            self.programmed[number] = 1
            old, new = bytes(self.content[at + k : at + k + unit]), data[k : k + unit]
            if self._fails_here():
                self.content[at + k : at + k + unit] = self._some_bits(old, new)
                return 0
            if (at + k) // self.page_bytes in self.failing_pages:
                self.missing[at + k] = new
                continue
            self.content[at + k : at + k + unit] = bytes(o & n for o, n in zip(old, new, strict=True))
        return 0


class Store:
    """The state store on ``flash``. A new object is a start of the device."""

    def __init__(self, flash: Flash, record_bytes: int, tag: int = 7, busy_steps: int = 0) -> None:
        self.flash, self._copy = flash, ctypes.create_string_buffer(record_bytes)
        self._busy_steps, self._waiting = busy_steps, 0
        self._struct = _FlashStruct(
            flash.page_bytes,
            flash.pages,
            flash.unit_bytes,
            _ERASE(lambda _, page: self._begin(flash.erase(page))),
            _PROGRAM(lambda _, at, data, n: self._begin(flash.program(at, ctypes.string_at(data, n)))),
            _READ(self._read),
            _BUSY(self._busy) if busy_steps else _BUSY(),
        )
        self._store = ctypes.create_string_buffer(256)  # larger than ar_store
        self.result = _library().ar_store_start(
            self._store, ctypes.byref(self._struct), _U32(record_bytes), _U32(tag), self._copy
        )

    @property
    def record(self) -> bytes | None:
        """The record that was found at the start, or None."""
        return self._copy.raw if self.result == LOADED else None

    def _begin(self, result: int) -> int:
        if self._waiting:
            self.flash.violations.append("an operation began while another one ran")
        self._waiting = self._busy_steps
        return result

    def _busy(self, _: int) -> int:
        if self._waiting:
            self._waiting -= 1
            return 1
        return 0

    def _read(self, _: int, at: int, data: int, count: int) -> int:
        if at + count > len(self.flash.content):
            self.flash.violations.append(f"read {count} bytes at {at}")
            return 1
        ctypes.memmove(data, bytes(self.flash.content[at : at + count]), count)
        return 0

    def begin(self, record: bytes) -> bool:
        return bool(_library().ar_store_save(self._store, record))

    def step(self) -> int:
        return int(_library().ar_store_step(self._store))

    def save(self, record: bytes) -> int:
        """Save the record. Return the last result of ``ar_store_step``, or BUSY if the power failed."""
        assert self.begin(record)
        result = BUSY
        while result == BUSY and not self.flash.is_dead:
            result = self.step()
        return BUSY if self.flash.is_dead else result
