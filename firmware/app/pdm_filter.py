"""The filter that turns the bits of a PDM microphone into samples, for chips that have none: its tables for C, and an
exact reference.

The bit stream has 64 bits per sample. A sinc filter of third order takes every 16th value, which leaves four values per
sample with a full scale of 4096. A lowpass filter takes every fourth of these values, flattens the passband and scales
to 16 bits. A first-order highpass removes the microphone's offset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BITS_PER_SAMPLE = 64
SINC_STEP = 16
LOWPASS_STEP = 4
#: The impulse response of the sinc filter: 46 taps, and two zeros, so that whole half-words are filtered.
SINC = np.append(np.convolve(np.convolve(np.ones(16, int), np.ones(16, int)), np.ones(16, int)), [0, 0])
#: Fractional bits of the lowpass filter's taps, less the three bits by which it scales 4096 up to 32768.
LOWPASS_SHIFT = 12
#: Fractional bits of the highpass filter's mean; it forgets an offset in 2**10 samples.
OFFSET_SHIFT = 10
# fmt: off
_LOWPASS_HALF = [
    -1, 4, 6, 3, 2, 11, 29, 31, -11, -99, -177, -146, 58, 371, 576, 410, -223, -1077, -1571, -1057, 778, 3610,
    6511, 8346,
]
# fmt: on
#: What ``design_lowpass`` returns. The taps are symmetric, and their sum is 2**15.
LOWPASS = np.array(_LOWPASS_HALF + _LOWPASS_HALF[::-1], np.int64)


def design_lowpass() -> np.ndarray:
    """Return the taps in ``LOWPASS``. It needs SciPy."""
    from scipy import signal

    design: Any = signal.firwin2  # its type hints do not have windows with a parameter
    frequencies = np.array([0.0, 2000.0, 4000.0, 6000.0, 6600.0, 9800.0, 32000.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = np.pi * frequencies / 1_024_000
        response = np.abs(np.sin(16 * angle) / (16 * np.sin(angle))) ** 3
    response[0] = 1.0
    gains = np.where(frequencies <= 6600, 1 / response, 0.0)
    taps = design(48, frequencies, gains, fs=64000, window=("kaiser", 4.0))
    scaled: np.ndarray = np.rint(taps / taps.sum() * 2**15).astype(np.int64)
    return scaled


def pdm_samples(bits: np.ndarray) -> np.ndarray:
    """Return the int16 samples of a bit stream, as ``pdm_decimate`` computes them.

    Args:
        bits: zeros and ones in the order of their arrival, a multiple of 64. Zeros came before them.
    """
    signs = np.concatenate([np.full(len(SINC) - SINC_STEP, -1), 2 * bits.astype(np.int64) - 1])
    values = np.convolve(signs, SINC, "valid")[::SINC_STEP]
    values = np.concatenate([np.zeros(len(LOWPASS) - LOWPASS_STEP, np.int64), values])
    sums = np.convolve(values, LOWPASS, "valid")[::LOWPASS_STEP]
    samples, mean = [], 0
    for value in (sums + (1 << (LOWPASS_SHIFT - 1))) >> LOWPASS_SHIFT:
        mean += int(value) - (mean >> OFFSET_SHIFT)
        samples.append(min(max(int(value) - (mean >> OFFSET_SHIFT), -32768), 32767))
    return np.array(samples, np.int16)


def tables_header() -> str:
    """Return the text of ``pdm_tables.h``."""
    rows = []
    for first in range(0, len(SINC), 4):
        taps = SINC[first : first + 4]
        sums = [sum(int(t) * (1 if n >> k & 1 else -1) for k, t in enumerate(taps)) for n in range(16)]
        rows.append("    {" + ", ".join(map(str, sums)) + "},")
    lowpass = ", ".join(map(str, LOWPASS))
    newline = "\n"
    return f"""\
/* Written by firmware/app/pdm_filter.py. */
#ifndef ARENITE_PDM_TABLES_H
#define ARENITE_PDM_TABLES_H

#include <stdint.h>

enum {{ PDM_TAPS = {len(LOWPASS)}, PDM_LOWPASS_SHIFT = {LOWPASS_SHIFT}, PDM_OFFSET_SHIFT = {OFFSET_SHIFT} }};

/* The sinc filter's sum over four bits, for each position of the four bits among the last 48, the latest first. */
/* clang-format off */
static const int16_t pdm_sinc[{len(SINC) // 4}][16] = {{
{newline.join(rows)}
}};

static const int16_t pdm_lowpass[PDM_TAPS] = {{
    {lowpass}
}};
/* clang-format on */

#endif
"""
