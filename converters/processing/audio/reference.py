"""Convert sound to tensors with NumPy and integer arithmetic, for all frames at once. The C code gives the same bytes.

A frame is windowed and scaled to fill 29 bits. Each stage of its FFT halves the values, so that no value overflows and
only the last bit is lost. The mel filters weight the magnitudes. After the logarithm to base 2, all powers of two,
including the scale of the frame, are added as terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from arenite.converters.processing.audio.plan import (
    FEATURE_BITS,
    FRAME_BITS,
    LOG2_BITS,
    PAD_REFLECT,
    PEAK_NONE,
    PEAK_SIGNED,
    POWER_SHIFT,
    PREEMPHASIS_BITS,
    AudioPlan,
    plan_audio,
)
from arenite.converters.processing.audio.tables import (
    DCT_BITS,
    LOG_BITS,
    LOG_STEPS_BITS,
    log_table,
    root_table,
)
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.preprocessing import Preprocessing

_MAX_BITS = 62  # the sum and the offset of a logarithm are below 2^62
#: The bits of a word. Only the upper word of a product is used.
_WORD = 32
_INT32 = (-(2**31), 2**31 - 1)


def preprocess_audio(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Convert int16 samples to the model's input [frames, features]."""
    return plan_features(spec, plan_audio(spec), samples)


def plan_features(spec: Preprocessing, plan: AudioPlan, samples: np.ndarray, before: int = 0) -> np.ndarray:
    """Convert int16 samples to the features [frames, features] of ``plan``, which was made for ``spec``. ``before`` is
    the sample before the first one; only pre-emphasis needs it."""
    *_, (_, values) = trace(plan, samples, before)
    return input_values.apply_affine(spec, plan.affine, values[..., np.newaxis])[..., 0]


def trace(plan: AudioPlan, samples: np.ndarray, before: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the values of each stage: ``spectrum`` and ``mel`` (float64, in the training pipeline's
    units), then ``log`` and, if there is such a step, ``mfcc`` (int64 with ``FEATURE_BITS`` fractional bits).
    ``before`` is the sample before the first one."""
    clip, top = prepare_clip(plan, samples)
    values, scale = _scaled_frames(plan, _emphasized(plan, clip, before))
    # Only the bins up to the last one that a filter reads are computed.
    spectrum = _spectrum(plan, values)
    yield (
        "spectrum",
        spectrum * np.ldexp(1.0, _spectrum_exponent(plan, scale))[:, np.newaxis] / top**plan.power,
    )
    sums = _filtered(plan, spectrum)
    exponents = plan.base_exponent - plan.power * scale
    yield "mel", sums * np.ldexp(1.0, exponents)[:, np.newaxis] / top**plan.power
    logs = _logarithms(plan, sums, exponents, top)
    features = (logs * plan.factor + (1 << (LOG2_BITS + 28 - FEATURE_BITS - 1))) >> (
        LOG2_BITS + 28 - FEATURE_BITS
    )
    features = np.clip(features, *_INT32)
    yield "log", features
    if plan.cosines is not None:
        totals = features @ plan.cosines.astype(np.int64).T
        yield "mfcc", np.clip((totals + (1 << (DCT_BITS - 1))) >> DCT_BITS, *_INT32)


def prepare_clip(plan: AudioPlan, samples: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the recording as int64 [samples], padded with zeros or cut to the length of the plan, and the peak to
    divide it by (1 if there is no peak step)."""
    recorded = samples.astype(np.int64)[: plan.samples]
    clip = np.concatenate([recorded, np.zeros(plan.samples - len(recorded), np.int64)])
    if plan.peak == PEAK_NONE:
        return clip, 1
    return clip, max(int(clip.max() if plan.peak == PEAK_SIGNED else np.abs(clip).max()), 1)


def _emphasized(plan: AudioPlan, clip: np.ndarray, before: int) -> np.ndarray:
    """Return ``clip`` after pre-emphasis, with ``PREEMPHASIS_BITS`` fractional bits; unchanged if there is none."""
    if not plan.preemphasis:
        return clip
    previous = np.concatenate([[before], clip[:-1]])
    emphasized: np.ndarray = (clip << PREEMPHASIS_BITS) - plan.preemphasis * previous
    return emphasized


def _scaled_frames(plan: AudioPlan, clip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the frames as int64 [frames, fft], and ``scale`` [frames]: each frame was multiplied by 2^scale."""
    at = np.arange(plan.frames)[:, np.newaxis] * plan.step - plan.lead + np.arange(plan.length)
    if plan.centre == PAD_REFLECT:
        at = np.abs(at)
        at = np.where(at >= plan.samples, 2 * (plan.samples - 1) - at, at)
    inside = (at >= 0) & (at < plan.samples)
    frames = np.where(inside, clip[np.where(inside, at, 0)], 0)
    bits = bit_length(np.abs(frames).max(axis=1))
    scale = FRAME_BITS - bits
    values = frames << (scale + 1)[:, np.newaxis]
    if plan.window is None:
        values >>= 1
    else:
        n = np.arange(plan.length)
        values = (values * plan.window.astype(np.int64)[np.minimum(n, plan.mirror - n)]) >> 32
    padded = np.zeros((plan.frames, plan.fft), np.int64)
    padded[:, plan.inset : plan.inset + plan.length] = values
    return padded, scale


def bit_length(values: np.ndarray) -> np.ndarray:
    """Return the number of bits of each value; 0 for the value 0. Values must be below 2^63."""
    left = values.astype(np.uint64)
    bits = np.zeros(values.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        large = left >= np.uint64(1 << step)
        bits += np.where(large, step, 0)
        left = np.where(large, left >> np.uint64(step), left)
    return bits + (left > 0)


def _turn(plan: AudioPlan, k: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cos and -sin of 2 pi k / length for 0 <= k < length / 2, from the table of a quarter wave."""
    n = k * (plan.fft // length)
    quarter, table = plan.fft // 4, plan.sines.astype(np.int64)
    cos = np.where(n <= quarter, table[np.abs(quarter - n)], -table[np.abs(n - quarter)])
    sin = table[np.where(n <= quarter, n, plan.fft // 2 - n)]
    return cos, -sin


def _half_times(
    re: np.ndarray, im: np.ndarray, cos: np.ndarray, sin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return half the complex product of re + i im and cos + i sin. The factors cos and sin have 31 fractional bits;
    the upper word of each product is used."""
    return (
        ((re * cos) >> _WORD) - ((im * sin) >> _WORD),
        ((re * sin) >> _WORD) + ((im * cos) >> _WORD),
    )


def fft_real(plan: AudioPlan, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the real and imaginary part [frames, fft / 2 + 1] of the spectrum of int64 [frames, fft], divided by
    fft / 2.

    Even and odd samples are the real and imaginary part of a complex series of half the length. The FFT is radix 2 with
    decimation in time.
    """
    half = plan.fft // 2
    bits = half.bit_length() - 1
    order = np.array([int(f"{k:0{bits}b}"[::-1], 2) for k in range(half)])
    re, im = values[:, 0::2][:, order], values[:, 1::2][:, order]
    size = 1
    while size < half:
        shape = (len(values), half // (2 * size), 2, size)
        a, b = re.reshape(shape), im.reshape(shape)
        tr, ti = _half_times(a[:, :, 1], b[:, :, 1], *_turn(plan, np.arange(size), 2 * size))
        tr[:, :, 0], ti[:, :, 0] = a[:, :, 1, 0] >> 1, b[:, :, 1, 0] >> 1  # a twiddle factor of 1
        a, b = a[:, :, 0] >> 1, b[:, :, 0] >> 1
        re = np.stack([a + tr, a - tr], axis=2).reshape(re.shape)
        im = np.stack([b + ti, b - ti], axis=2).reshape(im.shape)
        size *= 2
    k = np.arange(1, half // 2 + 1)
    r, i, back_r, back_i = re[:, k], im[:, k], re[:, half - k], im[:, half - k]
    even = (r + back_r) >> 1, (i - back_i) >> 1
    odd = _half_times(i + back_i, back_r - r, *_turn(plan, k, plan.fft))
    out_re, out_im = (np.zeros((len(values), half + 1), np.int64) for _ in range(2))
    out_re[:, 0], out_re[:, half] = re[:, 0] + im[:, 0], re[:, 0] - im[:, 0]
    out_re[:, half - k], out_im[:, half - k] = even[0] - odd[0], odd[1] - even[1]
    out_re[:, k], out_im[:, k] = even[0] + odd[0], even[1] + odd[1]
    return out_re, out_im


def _spectrum(plan: AudioPlan, values: np.ndarray) -> np.ndarray:
    """Return magnitudes, or powers shifted right by ``POWER_SHIFT``: int64 [frames, bins that filters read]."""
    re, im = (part[:, : plan.filters.last_bin] for part in fft_real(plan, values))
    power = re * re + im * im
    return power >> POWER_SHIFT if plan.power == 2 else integer_sqrt(power)


def _spectrum_exponent(plan: AudioPlan, scale: np.ndarray) -> np.ndarray:
    """Return, for each frame, the exponent of the power of two from ``_spectrum`` to the training pipeline's units."""
    return plan.base_exponent + plan.filters.exponent - plan.power * scale


def integer_sqrt(values: np.ndarray) -> np.ndarray:
    """Return the square root of values below 2^62, to about 15 bits, by linear interpolation in a table."""
    table = root_table().astype(np.int64)
    # ``top`` is the value, shifted by an even number of bits so that it has 31 or 32 bits. Its bits from bit 25 on are
    # the index of the table, which begins at 32, and its lower 25 bits the place between two entries.
    up = bit_length(values) - 32
    up += up & 1
    top = np.where(up >= 0, values >> np.maximum(up, 0), values << np.maximum(-up, 0))
    step, part = np.maximum((top >> 25) - 32, 0), top & ((1 << 25) - 1)
    roots = table[step] + (((table[step + 1] - table[step]) * part) >> 25)
    return np.where(values > 0, roots >> (15 - (up >> 1)), 0)


def _filtered(plan: AudioPlan, spectrum: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the spectrum for each filter: int64 [frames, bins]."""
    bank = plan.filters
    sums = np.zeros((len(spectrum), plan.bins), np.int64)
    at = 0
    for b, (first, count) in enumerate(zip(bank.first.tolist(), bank.count.tolist(), strict=True)):
        sums[:, b] = spectrum[:, first : first + count] @ bank.weights[at : at + count].astype(np.int64)
        at += count
    return sums


def _logarithms(plan: AudioPlan, sums: np.ndarray, exponents: np.ndarray, top: int) -> np.ndarray:
    """Return log2 of (sum * 2^exponent / top^power + offset), or log2 of max(sum * 2^exponent / top^power, floor).

    ``sums`` is the result of ``_filtered``, ``exponents`` has one exponent per frame, and ``top`` is the peak. The
    result is int64 with ``LOG2_BITS`` fractional bits. Instead of dividing by the peak, the offset is multiplied by
    top^power, and log2(top^power) is subtracted from the logarithm.
    """
    peak = top**plan.power
    mantissa = plan.mantissa * peak
    at = plan.exponent - exponents[:, np.newaxis]  # exponent of the offset, in units of the sums
    # Sums and offset must stay below 2^62. If the offset would not fit, both are shifted right.
    cut = np.maximum(at + int(mantissa).bit_length() - _MAX_BITS, 0)
    at = at - cut
    # the offset or the floor, in units of the sums
    other = np.where(
        at >= 0, np.int64(mantissa) << np.clip(at, 0, 62), np.int64(mantissa) >> np.clip(-at, 0, 63)
    )
    sums = sums >> np.minimum(cut, 63)
    inner = np.maximum(sums, other) if plan.is_floor else np.minimum(sums, (1 << _MAX_BITS) - 1) + other
    logarithms = log2(np.maximum(inner, 1))
    logarithms += (exponents[:, np.newaxis] + cut) << LOG2_BITS
    return logarithms - int(log2(np.array([peak]))[0])


def log2(values: np.ndarray) -> np.ndarray:
    """Return log2 of int64 values >= 1, with ``LOG2_BITS`` fractional bits, by linear interpolation in a table."""
    table = log_table().astype(np.int64)
    exponent = bit_length(values) - 1
    # The 31 bits below the most significant bit.
    shifted = np.where(
        exponent >= 31, values >> np.maximum(exponent - 31, 0), values << np.maximum(31 - exponent, 0)
    )
    rest = shifted - (1 << 31)
    below = 31 - LOG_STEPS_BITS
    step, part = rest >> below, rest & ((1 << below) - 1)
    logarithms = table[step] + (((table[step + 1] - table[step]) * part) >> below)
    return cast(np.ndarray, (exponent << LOG2_BITS) + (logarithms >> (LOG_BITS - LOG2_BITS)))
