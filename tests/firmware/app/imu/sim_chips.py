"""Motion sensors that exist only in this process. Each one has the registers, the FIFO and the rules of a real chip,
and answers the reads and writes of its bus."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

Frame = Sequence[int]


class SimChip:
    """A chip with 128 registers and a FIFO of bytes. ``identity`` is its number at ``identity_at``.

    Frames that find no room replace the oldest bytes, as in the real chips.
    """

    identity_at: int
    identity: int
    fifo_at: int
    fifo_bytes: int

    def __init__(self) -> None:
        self.registers = bytearray(128)
        self.registers[self.identity_at] = self.identity
        self.fifo: deque[int] = deque(maxlen=self.fifo_bytes)
        self.is_plugged = True
        self.overflowed = False

    def read(self, first: int, count: int) -> bytes | None:
        """Return ``count`` bytes from the register ``first``, or None if the chip does not answer."""
        if not self.is_plugged:
            return None
        if first == self.fifo_at:
            return bytes(self.fifo.popleft() if self.fifo else 0 for _ in range(count))
        self.update(first)
        data = bytes(self.registers[first : first + count])
        self.was_read(first)
        return data

    def write(self, first: int, data: bytes) -> bool:
        """Write registers from ``first`` on. Return whether the chip answers."""
        if not self.is_plugged:
            return False
        for k, value in enumerate(data):
            self.registers[first + k] = value
            self.was_written(first + k, value)
        return True

    def push(self, data: bytes) -> None:
        """Store a frame in the FIFO."""
        if len(self.fifo) + len(data) > self.fifo_bytes:
            self.overflowed = True
        self.fifo.extend(data)

    def update(self, first: int) -> None:
        """Set the registers that show the FIFO's state, before they are read."""
        raise NotImplementedError

    def was_read(self, first: int) -> None:
        """Do what reading a register causes."""

    def was_written(self, address: int, value: int) -> None:
        """Do what writing a register causes."""
        raise NotImplementedError

    def sample(self, frame: Frame) -> None:
        """Measure a frame: acceleration x, y, z, rotation x, y, z."""
        raise NotImplementedError


def _bytes(values: Frame, order: str) -> bytes:
    return b"".join((v & 0xFFFF).to_bytes(2, order) for v in values)  # type: ignore[arg-type]


class Mpu6050(SimChip):
    """An MPU-6050: high bytes first, and an overflow flag that reading clears."""

    identity_at, identity, fifo_at, fifo_bytes = 0x75, 0x68, 0x74, 1024

    def __init__(self) -> None:
        super().__init__()
        self.registers[0x6B] = 0x40  # the chip sleeps after power-on

    def update(self, first: int) -> None:
        self.registers[0x3A] = 0x10 * self.overflowed
        self.registers[0x72:0x74] = len(self.fifo).to_bytes(2, "big")

    def was_read(self, first: int) -> None:
        if first == 0x3A:
            self.overflowed = False

    def was_written(self, address: int, value: int) -> None:
        if address == 0x6B and value & 0x80:
            self.__init__()  # type: ignore[misc]
        if address == 0x6A and value & 0x04:
            self.fifo.clear()

    @property
    def rate(self) -> float:
        return 1000 / (1 + self.registers[0x19])

    def sample(self, frame: Frame) -> None:
        if self.registers[0x6B] & 0x40 or not self.registers[0x6A] & 0x40 or self.registers[0x23] != 0x78:
            return
        assert self.registers[0x1C] == 1 << 3 and self.registers[0x1B] == 2 << 3, (
            "4 g and 1000 degrees per second"
        )
        self.push(_bytes(frame, "big"))


class Lsm6ds3(SimChip):
    """An LSM6DS3: a FIFO of words without tags, rotation before acceleration."""

    identity_at, identity, fifo_at, fifo_bytes = 0x0F, 0x69, 0x3E, 8190  # a whole number of words
    mode_at = 0x0A

    def update(self, first: int) -> None:
        words = len(self.fifo) // 2
        self.registers[0x3A] = words & 0xFF
        self.registers[0x3B] = words >> 8 | 0x40 * self.overflowed
        self.registers[0x3C] = -words % 6
        self.registers[0x3D] = 0

    def was_written(self, address: int, value: int) -> None:
        if address == 0x12 and value & 1:
            self.__init__()  # type: ignore[misc]
        if address == self.mode_at and value & 7 == 0:
            self.fifo.clear()
            self.overflowed = False

    @property
    def rate(self) -> float:
        assert self.registers[0x10] >> 4 == self.registers[0x11] >> 4 == self.registers[0x0A] >> 3
        return 13 * 2.0 ** (self.registers[0x10] // 16 - 1)

    def sample(self, frame: Frame) -> None:
        if self.registers[0x0A] & 7 != 6 or self.registers[0x08] != 0x09:
            return
        assert self.registers[0x12] & 0x44 == 0x44
        assert self.registers[0x10] & 0x0C == 0x08 and self.registers[0x11] & 0x0E == 0x08
        self.push(_bytes((*frame[3:], *frame[:3]), "little"))


class Lsm6dso(Lsm6ds3):
    """An LSM6DSO: a FIFO of tagged words of three samples. Now and then there is the word of another sensor."""

    identity, fifo_at, fifo_bytes = 0x6C, 0x78, 7 * 512
    moment = 0

    def update(self, first: int) -> None:
        words = len(self.fifo) // 7
        self.registers[0x3A] = words & 0xFF
        self.registers[0x3B] = words >> 8 | 0x48 * self.overflowed

    @property
    def rate(self) -> float:
        number = self.registers[0x10] >> 4
        assert number == self.registers[0x11] >> 4
        assert self.registers[0x09] == number * 17
        return 13 * 2.0 ** (number - 1)

    def sample(self, frame: Frame) -> None:
        if self.registers[0x0A] != 6:
            return
        assert self.registers[0x10] & 0x0C == 0x08 and self.registers[0x11] & 0x0E == 0x08
        count = self.moment % 4 << 1
        self.moment += 1
        self.push(bytes([1 << 3 | count]) + _bytes(frame[3:], "little"))
        if frame[0] % 7 == 0:
            self.push(bytes([3 << 3 | count]) + bytes(6))  # the temperature
        self.push(bytes([2 << 3 | count]) + _bytes(frame[:3], "little"))


class Bmi270(SimChip):
    """A BMI270, which does nothing until its configuration was loaded."""

    identity_at, identity, fifo_at, fifo_bytes = 0x00, 0x24, 0x26, 2040  # 170 frames
    CONFIGURATION = bytes((k * 7 + (k >> 8)) & 0xFF for k in range(8192))

    def __init__(self) -> None:
        super().__init__()
        self.registers[0x7C] = 3
        self.loaded = bytearray(8192)

    def write(self, first: int, data: bytes) -> bool:
        if first == 0x5E and self.is_plugged:
            assert self.registers[0x7C] == 0 and self.registers[0x59] == 0
            at = 2 * (self.registers[0x5B] + 16 * self.registers[0x5C])
            self.loaded[at : at + len(data)] = data
            return True
        return super().write(first, data)

    def update(self, first: int) -> None:
        self.registers[0x24:0x26] = len(self.fifo).to_bytes(2, "little")

    def was_written(self, address: int, value: int) -> None:
        if address == 0x7E and value == 0xB6:
            self.__init__()  # type: ignore[misc]
        if address == 0x7E and value == 0xB0:
            self.fifo.clear()
        if address == 0x59 and value == 1:
            self.registers[0x21] = 1 if self.loaded == self.CONFIGURATION else 2

    @property
    def rate(self) -> float:
        assert self.registers[0x40] == self.registers[0x42]
        return 25 * 2.0 ** ((self.registers[0x40] & 15) - 6)

    def sample(self, frame: Frame) -> None:
        if self.registers[0x21] != 1 or self.registers[0x7D] & 6 != 6 or self.registers[0x49] != 0xC0:
            return
        assert self.registers[0x41] == self.registers[0x43] == 1
        self.push(_bytes((*frame[3:], *frame[:3]), "little"))
