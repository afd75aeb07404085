"""The program of the PIO takes each pixel of a camera once, and nothing between rows. A small simulator runs its
instructions (RP2040 data sheet, chapter 3.4) on the signals of a camera."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.app.compiled_app import compiled

CLOCK, HREF, DATA = 14, 15, 6
_CODE = """
#include "rp2_camera_program.h"
uint16_t program[RP2_CAMERA_LENGTH];
void write_program(uint32_t clock, uint32_t bits);
void write_program(uint32_t clock, uint32_t bits) { rp2_camera_program(program, clock, bits); }
"""


def _program(folder: Path, bits: int) -> list[int]:
    library = compiled(folder, [], _CODE, {})
    library.write_program(CLOCK, bits)
    return list((ctypes.c_uint16 * 5).in_dll(library, "program"))


def _run(program: list[int], pins: np.ndarray) -> bytes:
    """Run the program on the values of all pins in each cycle. Return the bytes that it pushes."""
    at, shift, count, pushed = 0, 0, 0, bytearray()
    for value in pins.tolist():
        instruction = program[at]
        kind, low = instruction >> 13, instruction & 31
        nxt = 0 if at == len(program) - 1 else at + 1
        if kind == 1:  # wait
            if value >> low & 1 != instruction >> 7 & 1:
                continue
        elif kind == 0:  # jmp
            condition = instruction >> 5 & 7
            if condition == 0 or (condition == 6 and value >> HREF & 1):
                nxt = low
        else:
            assert kind == 2 and instruction >> 5 & 7 == 0, "in pins"
            shift = shift << low | value >> DATA & (1 << low) - 1
            count += low
            if count == 8:
                pushed.append(shift & 255)
                shift = count = 0
        at = nxt
    return bytes(pushed)


def _signals(rows: np.ndarray, bits: int, half: int, gated: bool) -> np.ndarray:
    """Return the pins in each cycle. The pixel clock has ``half`` cycles high and low; HREF and data change when it
    falls, one cycle later than the clock. ``gated`` stops the clock between rows."""
    values: list[int] = []

    def period(href: int, data: int, high: int) -> None:
        low = [0 | values[-1] & ~(1 << CLOCK)] if values else [0]
        word = href << HREF | data << DATA
        values.extend(low + [word] * (half - 1) + [word | high << CLOCK] * half)

    for row in rows.tolist():
        for _ in range(11):
            period(0, 5, 0 if gated else 1)
        for pixel in row:
            for shift in range(8 - bits, -1, -bits):
                period(1, pixel >> shift & (1 << bits) - 1, 1)
    for _ in range(11):
        period(0, 3, 0 if gated else 1)
    return np.array(values)


@pytest.mark.parametrize("bits", [8, 1])
@pytest.mark.parametrize("half", [3, 5, 20])
@pytest.mark.parametrize("gated", [False, True])
def test_every_pixel_is_taken_once(bits: int, half: int, gated: bool, tmp_path: Path) -> None:
    rows = np.random.default_rng(2).integers(0, 256, (5, 24))
    found = _run(_program(tmp_path, bits), _signals(rows, bits, half, gated))
    assert list(found) == rows.reshape(-1).tolist()


def test_a_clock_that_is_too_fast_loses_pixels(tmp_path: Path) -> None:
    rows = np.random.default_rng(2).integers(0, 256, (5, 24))
    assert len(_run(_program(tmp_path, 8), _signals(rows, 8, 1, False))) < rows.size
