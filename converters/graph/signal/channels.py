"""The steps after the FFT of the micro front end and of TensorFlow Lite Micro's signal operators with NumPy: square
root, noise reduction, gain control and logarithm. A channel is the result of one filter."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

#: The fractional bits of a signal-to-noise ratio, and of the gain control's result.
RATIO_BITS = 12
RESULT_BITS = 6
#: The numbers in the table of gains: two gains, then three coefficients (and a gap) for each further bit length.
GAINS = 4 * 32 - 3

_WORD = (1 << 32) - 1
#: ln 2 with 16 fractional bits.
_LN_2 = 45426


def rounded_root(value: int) -> int:
    """Return the square root, rounded, but at most 65535 for a value below 2^32, and at most 2^32 - 1."""
    root = isqrt(value)
    limit = 0xFFFF if value <= _WORD else _WORD
    return root + (value - root * root > root and root != limit)


@dataclass(frozen=True)
class NoiseSettings:
    """The settings of noise reduction, as in ``ar_noise`` of channels.h. 2^bits is 1."""

    smoothing: tuple[int, int]  # share of the signal in the new estimate: even and odd channels
    keeping: tuple[int, int]  # share of the old estimate
    min_remaining: int
    bits: int
    smoothing_bits: int  # additional fractional bits of the estimate
    clamp: bool  # whether an estimate above the signal is lowered to the signal

    def fields(self) -> dict[str, int | list[int]]:
        """Return the fields of ``ar_noise``."""
        return {
            "smoothing": list(self.smoothing),
            "keeping": list(self.keeping),
            "min_remaining": self.min_remaining,
            "bits": self.bits,
            "smoothing_bits": self.smoothing_bits,
            "clamp": int(self.clamp),
        }


def reduce_noise(
    settings: NoiseSettings, signal: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the signal of a window without noise, and the new estimate of the noise: int64 [channels]. ``noise`` is
    the estimate before the window."""
    out, estimates = [], []
    for channel, (value, old) in enumerate(zip(signal.tolist(), noise.tolist(), strict=True)):
        odd = channel & 1
        scaled = (value << settings.smoothing_bits) & _WORD
        estimate = ((scaled * settings.smoothing[odd] + old * settings.keeping[odd]) >> settings.bits) & _WORD
        floor = ((value * settings.min_remaining) >> settings.bits) & _WORD
        lowered = min(estimate, scaled)
        out.append(max((scaled - lowered) >> settings.smoothing_bits, floor))
        estimates.append(lowered if settings.clamp else estimate)
    return np.array(out, np.int64), np.array(estimates, np.int64)


def controlled(signal: np.ndarray, noise: np.ndarray, gains: np.ndarray, shift: int) -> np.ndarray:
    """Return the signal of a window after gain control: int64 [channels]. ``gains`` is int16 [GAINS]. ``shift`` leads
    from the product of signal and gain to RATIO_BITS fractional bits."""
    result = []
    for value, estimate in zip(signal.tolist(), noise.tolist(), strict=True):
        ratio = ((value * (gain_of(estimate, gains) & _WORD)) >> shift) & _WORD
        if ratio < 2 << RATIO_BITS:  # the square of the ratio / 2
            result.append((ratio * ratio) >> (2 + 2 * RATIO_BITS - RESULT_BITS))
        else:  # the ratio - 1
            result.append((ratio >> (RATIO_BITS - RESULT_BITS)) - (1 << RESULT_BITS))
    return np.array(result, np.int64)


def gain_of(noise: int, gains: np.ndarray) -> int:
    """Return the gain for an estimate of the noise."""
    if noise <= 2:
        return int(gains[noise])
    bits = noise.bit_length()
    constant, linear, square = (int(g) for g in gains[4 * bits - 6 : 4 * bits - 3])
    part = (noise << 11 >> bits) & 0x3FF
    sum_ = (((square * part) >> 5) + (linear << 5)) * part
    return int(np.int64((_signed_word(sum_ + (1 << 14)) >> 15) + constant).astype(np.int16))


def _signed_word(value: int) -> int:
    """Return the low 32 bits of ``value`` as a signed number."""
    return ((value + (1 << 31)) & _WORD) - (1 << 31)


def corrected(signal: np.ndarray, correction: int) -> np.ndarray:
    """Return the signal shifted to the left by ``correction`` bits, within 32 bits."""
    return signal >> -correction if correction < 0 else (signal << correction) & _WORD


def log_table() -> np.ndarray:
    """Return log2(1 + k / 128) - k / 128 for k from 0 to 128: uint16 [129] with 16 fractional bits."""
    part = np.arange(129) / 128
    return np.round((np.log2(1 + part) - part) * 65536).astype(np.uint16)


def logarithms(values: np.ndarray, table: np.ndarray, scale: int) -> np.ndarray:
    """Return ``scale`` * ln(value) rounded, for values below 2^32: int64 [channels]. The results for 0 and 1 are 0."""
    return np.array([_logarithm(int(v), table, scale) if v > 1 else 0 for v in values], np.int64)


def _logarithm(value: int, table: np.ndarray, scale: int) -> int:
    whole = value.bit_length() - 1
    part = ((value - (1 << whole)) << 16) >> whole
    segment = part >> 9
    rise = int(table[segment + 1]) - int(table[segment])
    # The original code shifts by 16 bits, although a segment has only 9. The interpolation is thus nearly nothing.
    log2 = (whole << 16) + part + int(table[segment]) + ((rise * (part & 511)) >> 16)
    return ((scale * ((_LN_2 * log2 + 0x8000) >> 16) + 0x8000) & _WORD) >> 16
