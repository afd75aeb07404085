"""A simulated ROM loader of an ESP chip on a pseudo-terminal.

It decodes SLIP frames, keeps the flash in memory, and returns the MD5 of any range of the flash. It follows esptool's
documentation of the serial protocol and answers the requests that esptool sends when it does not upload its stub
loader.
"""

from __future__ import annotations

import hashlib
import os
import pty
import select
import struct
import threading
import tty
from types import TracebackType
from typing import Self

END, ESC, ESC_END, ESC_ESC = 0xC0, 0xDB, 0xDC, 0xDD
FLASH_BEGIN, FLASH_DATA, FLASH_END, SYNC, WRITE_REG, READ_REG = 0x02, 0x03, 0x04, 0x08, 0x09, 0x0A
SPI_SET_PARAMS, SPI_ATTACH, CHANGE_BAUD, FLASH_MD5, SECURITY_INFO = 0x0B, 0x0D, 0x0F, 0x13, 0x14
MAGIC_REGISTER = 0x40001000
#: Maps a chip to the word at MAGIC_REGISTER and its id in the security information (None: the ROM does not report it).
CHIPS = {"esp32": (0x00F01D83, None), "esp32c3": (0x1B31506F, 5), "esp32s3": (0x9, 9)}
_RESERVED_BYTES = 2  # number of zero bytes that real ROMs send after the status and error bytes


def _slip(data: bytes) -> bytes:
    """Return a SLIP frame."""
    escaped = data.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
    return b"\xc0" + escaped + b"\xc0"


def _unslip(data: bytes) -> bytes:
    """Return the content of a SLIP frame, without its delimiters."""
    return data.replace(b"\xdb\xdc", b"\xc0").replace(b"\xdb\xdd", b"\xdb")


class EspRom:
    """A chip in its ROM loader. ``port`` is its serial port, ``flash`` the content of its flash.

    ``spoil``: an address at which a wrong byte is stored. ``deaf``: the chip never answers.
    ``writes``: the address and size of each flash write.
    """

    def __init__(
        self, chip: str = "esp32", *, size: int = 4 << 20, spoil: int | None = None, deaf: bool = False
    ) -> None:
        self.chip, self.flash = chip, bytearray(b"\xff" * size)
        self.writes: list[tuple[int, int]] = []
        self._spoil, self._deaf = spoil, deaf
        self._master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._write_address = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _serve(self) -> None:
        """Answer requests until the chip is switched off."""
        pending = b""
        while not self._stop.is_set():
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            pending += os.read(self._master, 65536)
            *frames, pending = pending.split(b"\xc0")
            for frame in frames:
                if len(frame) >= 8 and not self._deaf:
                    self._answer(_unslip(frame))

    def _answer(self, request: bytes) -> None:
        command, length = struct.unpack_from("<BH", request, 1)
        data = request[8 : 8 + length]
        value, body = 0, b""
        if command == READ_REG:
            value = self._register(struct.unpack("<I", data)[0])
        elif command == FLASH_BEGIN:
            size, _, _, self._write_address = struct.unpack_from("<4I", data)
            self.writes.append((self._write_address, size))
        elif command == FLASH_DATA:
            count = struct.unpack_from("<I", data)[0]
            self._store(data[16 : 16 + count])
        elif command == FLASH_MD5:
            address, size = struct.unpack_from("<2I", data)
            body = hashlib.md5(self.flash[address : address + size]).hexdigest().encode("ascii")
        elif command == SECURITY_INFO:
            chip_id = CHIPS[self.chip][1]
            if chip_id is None:
                self._reply(command, 0, b"\x01\x05")  # failed: invalid command
                return
            body = struct.pack("<I8BII", 0, 0, *(0,) * 7, chip_id, 0)
        times = 8 if command == SYNC else 1
        for _ in range(times):
            self._reply(command, value, body + bytes(2 + _RESERVED_BYTES))

    def _reply(self, command: int, value: int, body: bytes) -> None:
        os.write(self._master, _slip(struct.pack("<BBHI", 1, command, len(body), value) + body))

    def _register(self, address: int) -> int:
        return CHIPS[self.chip][0] if address == MAGIC_REGISTER else 0

    def _store(self, data: bytes) -> None:
        start, end = self._write_address, self._write_address + len(data)
        self.flash[start:end] = data
        if self._spoil is not None and start <= self._spoil < end:
            self.flash[self._spoil] ^= 0x10
        self._write_address = end
