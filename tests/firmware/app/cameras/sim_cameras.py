"""Chips of cameras that exist only in this process. Each one has the registers of a real chip, speaks the protocol of
its bus, and tells from the registers which frames it would send."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pytest


@dataclass(frozen=True)
class Sent:
    """What a chip sends: the size of a frame, the kind of pixels, and the microseconds of a row and of a frame."""

    width: int
    height: int
    pixels: str
    row_us: float
    frame_us: float


class SimCamera:
    """A chip with registers of 8 bits, whose numbers have ``number_bytes`` bytes, at ``address`` of the bus. Its clock
    has ``clock_hz``."""

    number_bytes = 1
    address: int
    identity: Mapping[int, int]
    defaults: Mapping[int, int] = MappingProxyType({})

    def __init__(self, clock_hz: int) -> None:
        self.clock_hz = clock_hz
        self.is_plugged = True
        self.writes_left = 10**9
        self.resets = 0
        self.reset()

    def reset(self) -> None:
        """Give all registers the values of a reset."""
        self.registers: dict[int, int] = defaultdict(int, {**self.defaults, **self.identity})

    def key(self, number: int) -> int:
        """Return where a register is kept."""
        return number

    def read(self, number: bytes) -> int | None:
        """Return the value of a register, or None if the chip does not answer."""
        if not self.is_plugged:
            return None
        assert len(number) == self.number_bytes
        return self.registers[self.key(int.from_bytes(number, "big"))]

    def write(self, data: bytes) -> bool:
        """Take the bytes of a transfer. Return whether the chip answers."""
        self.writes_left -= 1
        if not self.is_plugged or self.writes_left < 0:
            return False
        assert len(data) == self.number_bytes + 1
        number, value = int.from_bytes(data[:-1], "big"), data[-1]
        self.registers[self.key(number)] = value
        self.was_written(number, value)
        return True

    def was_written(self, number: int, value: int) -> None:
        """Do what writing a register causes."""
        raise NotImplementedError

    def word(self, number: int) -> int:
        """Return two registers, the upper byte first."""
        return self.registers[number] << 8 | self.registers[number + 1]

    def sent(self) -> Sent | None:
        """Return what the chip sends, or None if it does not send."""
        raise NotImplementedError

    def done_reset(self) -> None:
        """Count a reset and do it."""
        self.resets += 1
        self.reset()


class Hm01b0(SimCamera):
    """An HM01B0."""

    address = 0x24
    number_bytes = 2
    identity = MappingProxyType({0x0000: 0x01, 0x0001: 0xB0})
    defaults = MappingProxyType({0x0383: 1, 0x0387: 1, 0x3059: 0x02, 0x2100: 1})

    def was_written(self, number: int, value: int) -> None:
        if number == 0x0103:
            self.done_reset()

    def sent(self) -> Sent | None:
        r = self.registers
        if r[0x0100] & 7 != 1:
            return None
        assert r[0x0104] == 1, "the group hold ends, so registers take effect"
        assert r[0x0383] == r[0x0387] and (r[0x0390] == 3) == (r[0x0383] == 3)
        pixel_hz = self.clock_hz / (8 >> (r[0x3060] & 3))
        width, height = 324, 244 if r[0x3010] & 1 else 324
        if r[0x0383] == 3:
            width, height = width // 2, height // 2
        bits = {0x02: 8, 0x42: 4, 0x22: 1}[r[0x3059]]
        assert bits == 8 or r[0x3060] & 3 == 0, "a bit at a time needs eight periods of the clock for a pixel"
        row, rows = self.word(0x0342), self.word(0x0340)
        assert row >= (215 if width == 162 else 376) and rows >= height + 6
        assert self.word(0x2105) <= rows - 2
        return Sent(width, height, "GREY", row / pixel_hz * 1e6, row * rows / pixel_hz * 1e6)


class Ov7670(SimCamera):
    """An OV7670."""

    address = 0x21
    identity = MappingProxyType({0x0A: 0x76, 0x0B: 0x73, 0x1C: 0x7F, 0x1D: 0xA2})
    defaults = MappingProxyType({0x11: 0x80, 0x3A: 0x0D, 0x3D: 0x88, 0x40: 0xC0})

    def was_written(self, number: int, value: int) -> None:
        if number == 0x12 and value & 0x80:
            self.done_reset()

    def sent(self) -> Sent | None:
        r = self.registers
        if not self.resets:
            return None
        halves = r[0x72] & 3
        assert r[0x72] >> 4 & 3 == halves and r[0x73] & 7 == halves
        if halves:
            assert r[0x0C] & 4 and r[0x3E] & 0x10 and r[0x3E] & 7 == halves, "scaled with a slower clock"
        else:
            assert not r[0x0C] & 4 and not r[0x3E] & 0x10
        assert r[0x6B] >> 6 == 0 and not r[0x11] & 0x40
        clock = self.clock_hz / ((r[0x11] & 63) + 1)
        line = 2 * (784 + (r[0x2A] >> 4 << 8 | r[0x2B])) / clock * 1e6
        lines = 510 + (r[0x93] << 8 | r[0x92])
        if r[0x12] & 4:
            assert r[0x40] == 0xD0 and r[0x8C] & 2 == 0
            pixels = "RGB565"
        else:
            pixels = "UYVY" if r[0x3A] & 8 else "YUYV"
            assert r[0x3D] & 2 == 0
        return Sent(640 >> halves, 480 >> halves, pixels, line * (1 << halves), line * lines)


class Ov2640(SimCamera):
    """An OV2640, whose registers are in two banks."""

    address = 0x30
    identity = MappingProxyType({0x10A: 0x26, 0x10B: 0x42, 0x11C: 0x7F, 0x11D: 0xA2})
    bank = 0

    def key(self, number: int) -> int:
        return number if number == 0xFF else self.bank << 8 | number

    def was_written(self, number: int, value: int) -> None:
        if number == 0xFF:
            self.bank = value & 1
        elif self.bank == 1 and number == 0x12 and value & 0x80:
            self.done_reset()

    def sent(self) -> Sent | None:
        r = self.registers
        if not self.resets or r[0xE0] & 4 or r[0x05] & 1:
            return None
        assert r[0x112] == 0x40 and (r[0xC0], r[0xC1], r[0x8C]) == (100, 75, 0), (
            "800x600 pixels of the sensor"
        )
        part = (4 * (r[0x51] | (r[0x55] >> 3 & 1) << 8), 4 * (r[0x52] | (r[0x55] >> 7) << 8))
        left, top = r[0x53] | (r[0x55] & 7) << 8, r[0x54] | (r[0x55] >> 4 & 7) << 8
        assert abs(2 * left + part[0] - 800) <= 1 and abs(2 * top + part[1] - 600) <= 1, "the middle"
        assert part[0] == 800 or part[1] == 600, "as large as possible"
        size = 4 * (r[0x5A] | (r[0x5C] & 3) << 8), 4 * (r[0x5B] | (r[0x5C] & 4) << 6)
        assert abs(part[0] / part[1] / (size[0] / size[1]) - 1) < 0.03, "the shape is kept"
        for shift, k in ((0, 0), (3, 1)):
            halved = part[k] >> (r[0x50] >> shift & 7)
            assert size[k] <= halved < 2 * size[k] or r[0x50] >> shift & 7 == 3
        clock = self.clock_hz / ((r[0x111] & 63) + 1)
        line = (1190 + (r[0x12A] >> 4 << 8 | r[0x12B])) / clock * 1e6
        lines = 672 + (r[0x147] << 8 | r[0x146])
        mode = r[0xDA]
        assert r[0xC2] == (0x0A if mode & 0x08 else 0x0C)
        pixels = {0x40: "GREY", 0x09: "RGB565", 0x01: "YUYV", 0x00: "UYVY"}[mode]
        return Sent(*size, pixels, line * part[1] / size[1], line * lines)


class Ov5640(SimCamera):
    """An OV5640."""

    address = 0x3C
    number_bytes = 2
    identity = MappingProxyType({0x300A: 0x56, 0x300B: 0x40})
    defaults = MappingProxyType({0x3008: 0x02, 0x3103: 0x00})

    def was_written(self, number: int, value: int) -> None:
        if number == 0x3008 and value & 0x80:
            self.done_reset()

    def sent(self) -> Sent | None:
        r = self.registers
        if not self.resets or r[0x3008] != 0x02:
            return None
        assert r[0x3103] & 2 == 0, "the clock at the chip, not that of the PLL"
        assert r[0x3017] & 0x7F == 0x7F and r[0x3018] & 0xFC == 0xFC, "the pins of the port are outputs"
        assert r[0x3814] == r[0x3815] == 0x31 and r[0x3820] & 1 and r[0x3821] & 1
        columns, lines = (self.word(0x3804 + k) - self.word(0x3800 + k) + 1 for k in (0, 2))
        assert self.word(0x3804) <= 2623 and self.word(0x3806) <= 1951
        assert abs(self.word(0x3800) + self.word(0x3804) - 2623) <= 2, "the middle"
        part = columns // 2 - 2 * self.word(0x3810), lines // 2 - 2 * self.word(0x3812)
        assert part[0] == 1280 or part[1] == 960, "as large as possible"
        size = self.word(0x3808), self.word(0x380A)
        assert abs(part[0] / part[1] / (size[0] / size[1]) - 1) < 0.03 and r[0x5001] & 0x20
        line = self.word(0x380C) / (self.clock_hz / (1 << (r[0x3108] & 3))) * 1e6
        rows = self.word(0x380E)
        assert self.word(0x3A02) <= rows - 4 and self.word(0x3A14) <= rows - 4
        pixels = {0x10: "GREY", 0x61: "RGB565", 0x30: "YUYV", 0x32: "UYVY"}[r[0x4300]]
        assert r[0x501F] == (1 if pixels == "RGB565" else 0)
        return Sent(*size, pixels, line * part[1] / size[1], line * rows)


class Gc2145(SimCamera):
    """A GC2145, whose registers below 0xF0 are in pages."""

    address = 0x3C
    identity = MappingProxyType({0xF0: 0x21, 0xF1: 0x45})
    page = 0

    def key(self, number: int) -> int:
        return number if number >= 0xF0 else self.page << 8 | number

    def was_written(self, number: int, value: int) -> None:
        if number == 0xFE:
            if value & 0x80:
                self.done_reset()
            self.page = value & 7

    def sent(self) -> Sent | None:
        r = self.registers
        if not self.resets or r[0xF2] != 0x0F:
            return None
        assert self.page == 0 and r[0xF8] & 0x80 and r[0xF9] == 0xFE and r[0x86] == 0x23
        ratio = r[0x99] & 15
        assert r[0x99] >> 4 == ratio and ratio in (1, 2, 3, 4, 5) and r[0x9A] == 0x0E
        top, left, lines, columns = (self.word(number) for number in (0x09, 0x0B, 0x0D, 0x0F))
        assert top + lines <= 1200 + 8 and left + columns <= 1600 + 16, "the window is on the sensor"
        size = self.word(0x97), self.word(0x95)
        assert r[0x90] == 1 and size[0] * ratio == columns - 16 and size[1] * ratio == lines - 8
        assert 2 * left + columns - 16 == 1600 and 2 * top + lines - 8 == 1200, "the middle"
        blank, delay, blank_lines = self.word(0x05), self.word(0x11), self.word(0x07)
        assert 256 <= blank <= 0xFFF and delay <= 0x3FF and 16 <= blank_lines <= 0x1FFF
        clock = self.clock_hz * (r[0xF8] & 63) / 2 / ((r[0xFA] >> 4) + 1)
        line = (blank + delay + columns + 4) / clock * 1e6
        exposures = [self.word(0x100 + number) for number in (0x27, 0x29, 0x2B, 0x2D)]
        assert max(exposures) < blank_lines + lines and max(exposures) <= 0x1FFF, (
            "frames stay as long as they are"
        )
        assert self.word(0x125) * line == pytest.approx(10_000, abs=line)
        pixels = {0x06: "RGB565", 0x02: "YUYV", 0x00: "UYVY"}[r[0x84]]
        return Sent(*size, pixels, line * ratio, line * (blank_lines + lines))


CAMERAS: dict[str, type[SimCamera]] = {
    "hm01b0": Hm01b0,
    "ov7670": Ov7670,
    "ov2640": Ov2640,
    "ov5640": Ov5640,
    "gc2145": Gc2145,
}
