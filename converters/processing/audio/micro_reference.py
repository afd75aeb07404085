"""The micro front end with NumPy and integers. The C code gives the same bytes, and so does the original code.

The noise estimate of a channel depends on all earlier windows, so a recording begins with a noise estimate of 0.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from arenite.converters.processing.audio.micro_fft import real_fft
from arenite.converters.processing.audio.micro_plan import MicroPlan, plan_micro
from arenite.converters.processing.audio.micro_tables import (
    RATIO_BITS,
    RESULT_BITS,
    SMOOTHING_BITS,
    WINDOW_BITS,
    Bank,
)
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.preprocessing import Preprocessing

_WORD = (1 << 32) - 1
#: ln 2 with 16 fractional bits.
_LN_2 = 45426
_MAX_FEATURE = 65535


def preprocess_micro(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Convert int16 samples to the model's input [windows, channels]."""
    plan = plan_micro(spec)
    return micro_rows(spec, plan, samples, np.zeros(plan.features, np.int64))[0]


def micro_rows(
    spec: Preprocessing, plan: MicroPlan, samples: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the model's input [windows, channels], and the new estimate of the noise. ``noise`` is the
    estimate before the first window: int64 [channels]."""
    features, noise = _features(plan, samples, noise)
    values = features << input_values.FRACTION_BITS
    return input_values.apply_affine(spec, plan.affine, values[..., np.newaxis])[..., 0], noise


def micro_features(plan: MicroPlan, samples: np.ndarray) -> np.ndarray:
    """Return the features of a recording, whole numbers from 0 to 65535: int64 [windows, channels]. A short recording
    is padded with zeros, a long one is cut."""
    return _features(plan, samples, np.zeros(plan.features, np.int64))[0]


def _features(plan: MicroPlan, samples: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    recorded = samples.astype(np.int64)[: plan.samples]
    clip = np.concatenate([recorded, np.zeros(plan.samples - len(recorded), np.int64)])
    at = np.arange(plan.frames)[:, np.newaxis] * plan.step + np.arange(plan.length)
    windowed = (clip[at] * plan.window) >> WINDOW_BITS
    shift = scale_shift(windowed)
    padded = np.zeros((plan.frames, plan.fft), np.int64)
    # A sample of -32768 can lose its upper bits here.
    padded[:, : plan.length] = (windowed << shift[:, np.newaxis]).astype(np.int16)
    re, im = real_fft(padded, plan.wave)
    sums = filtered(plan.bank, re * re + im * im)
    signal = np.array([[rounded_root(int(s)) for s in row] for row in sums]) >> shift[:, np.newaxis]
    rows = []
    for row in signal:
        row, noise = reduce_noise(plan, row, noise)
        if plan.gains is not None:
            row = controlled(row, noise, plan.gains, plan.ratio_shift)
        if plan.logs is not None:
            row = logarithms(corrected(row, plan.correction), plan.logs, 1 << plan.log_shift)
        rows.append(np.minimum(row, _MAX_FEATURE))
    return np.array(rows), noise


def scale_shift(windowed: np.ndarray) -> np.ndarray:
    """Return the shift that makes the largest sample of each window [windows, samples] a number of 15 bits. Samples of
    -32768 do not count."""
    size = np.abs(windowed)
    top = np.where(size > 32767, 0, size).max(axis=1)
    return np.array([15 - int(t).bit_length() for t in top])


def filtered(bank: Bank, energy: np.ndarray) -> np.ndarray:
    """Return the sums of weighted energies: int64 [windows, channels] for the energies [windows, length / 2 + 1]."""
    used = energy[:, bank.first : bank.last]
    ends = np.cumsum(bank.count.astype(np.int64))
    starts = ends - bank.count
    own, rest = (
        np.stack([(used * w)[:, a:b].sum(axis=1) for a, b in zip(starts, ends, strict=True)], axis=1)
        for w in (bank.weights.astype(np.int64), bank.rests.astype(np.int64))
    )
    return np.asarray(own[:, 1:] + rest[:, :-1])


def rounded_root(value: int) -> int:
    """Return the square root, rounded, but at most 65535 for a value below 2^32, and at most 2^32 - 1."""
    root = isqrt(value)
    limit = 0xFFFF if value <= _WORD else _WORD
    return root + (value - root * root > root and root != limit)


def reduce_noise(plan: MicroPlan, signal: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the signal of a window without noise, and the new estimate of the noise: int64 [channels]."""
    odd = np.arange(len(signal)) % 2 == 1
    smoothing = np.where(odd, plan.odd_smoothing, plan.even_smoothing)
    scaled = (signal << plan.smoothing_bits) & _WORD
    noise = ((scaled * smoothing + noise * ((1 << SMOOTHING_BITS) - smoothing)) >> SMOOTHING_BITS) & _WORD
    floor = (signal * plan.min_remaining) >> SMOOTHING_BITS
    return np.maximum((scaled - np.minimum(noise, scaled)) >> plan.smoothing_bits, floor), noise


def controlled(signal: np.ndarray, noise: np.ndarray, gains: np.ndarray, shift: int) -> np.ndarray:
    """Return the signal of a window after gain control: int64 [channels]."""
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
    return int(np.int64(((sum_ + (1 << 14)) >> 15) + constant).astype(np.int16))


def corrected(signal: np.ndarray, correction: int) -> np.ndarray:
    """Return the signal shifted to the left by ``correction`` bits, within 32 bits."""
    return signal >> -correction if correction < 0 else (signal << correction) & _WORD


def logarithms(values: np.ndarray, table: np.ndarray, scale: int) -> np.ndarray:
    """Return ``scale`` * ln(value) rounded, for values below 2^32: int64 [channels]. The result for 0 is 0."""
    return np.array([_logarithm(int(v), table, scale) if v > 1 else 0 for v in values], np.int64)


def _logarithm(value: int, table: np.ndarray, scale: int) -> int:
    whole = value.bit_length() - 1
    part = ((value - (1 << whole)) << 16) >> whole
    segment = part >> 9
    rise = int(table[segment + 1]) - int(table[segment])
    # The original code shifts by 16 bits, although a segment has only 9. The interpolation is thus nearly nothing.
    log2 = (whole << 16) + part + int(table[segment]) + ((rise * (part & 511)) >> 16)
    return (scale * ((_LN_2 * log2 + 0x8000) >> 16) + 0x8000) >> 16
