"""Tables of the micro front end: window, sine wave, filter bank, gain of the automatic gain control, logarithm.

The front end's original code computes its tables in single precision when it starts. The functions here round in the
same places. Cosines and powers are exact to the last bit of single precision. The logarithm is that of the C libraries
glibc (before 2.41), newlib and musl, which is not, because two of 236 weights of micro_speech depend on its last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.signal.channels import GAINS
from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.record_fields import record_error

#: The fractional bits of the window and of the weights of a filter.
WINDOW_BITS = 12
FILTER_BITS = 12
#: The fractional bits of a smoothing coefficient.
SMOOTHING_BITS = 14

_F = np.float32


def window_weights(length: int) -> np.ndarray:
    """Return a Hann window whose samples are between those of a periodic one: int16 [length], where 2^12 is 1."""
    turn = _F(_F(np.pi) * _F(2)) / _F(length)
    at = turn * (np.arange(length).astype(_F) + _F(0.5))
    values = _F(0.5) - _F(0.5) * np.cos(at.astype(np.float64)).astype(_F)
    return np.asarray(np.floor(values * _F(1 << WINDOW_BITS) + _F(0.5)), np.int16)


@dataclass(frozen=True)
class Bank:
    """A bank of triangular filters.

    The energies from ``first`` on are cut into ``channels + 1`` consecutive parts of ``count`` energies. An energy of
    part k goes to channel k - 1 with its weight, and to channel k with its rest, if there are such channels.
    """

    first: int
    count: np.ndarray  # uint16 [channels + 1]
    weights: np.ndarray  # uint16, the parts one after the other; 2^12 is 1
    rests: np.ndarray  # uint16; almost always 2^12 - weight

    @property
    def is_complementary(self) -> bool:
        """Whether each rest is 2^12 - weight."""
        return bool((self.weights + self.rests == 1 << FILTER_BITS).all())

    @property
    def last(self) -> int:
        """The index of the last energy that a filter reads, plus 1."""
        return self.first + int(self.count.sum())


def _mel(hertz: np.ndarray | np.float32) -> np.ndarray:
    """Convert Hz (float32) to mel (float32)."""
    return np.asarray(_F(1127) * _log1p(np.asarray(hertz / _F(700), _F)))


#: ln 2 in two parts: a number of few bits, and the rest.
_LN2_HIGH, _LN2_LOW = _F(6.9313812256e-01), _F(9.0580006145e-06)
#: A minimax polynomial of (ln((1 + s) / (1 - s)) - 2 s) / s in s^2. The highest power is first.
_SERIES = tuple(
    _F(c)
    for c in (
        1.4798198640e-01,
        1.5313838422e-01,
        1.8183572590e-01,
        2.2222198546e-01,
        2.8571429849e-01,
        4.0000000596e-01,
        6.6666668653e-01,
    )
)


def _log1p(x: np.ndarray) -> np.ndarray:
    """Return ln(1 + x) for float32 x from 0 to 2^20, with the roundings of Sun's fdlibm in single precision.

    1 + x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). Then s = f / (2 + f) gives a series that converges fast.
    ``lost`` corrects what 1 + x lost when it was rounded.
    """
    is_small = x < _F(0.41421356)
    total = _F(1) + x
    fraction, exponent = np.frexp(total)
    is_low = fraction < _F(0.70710678)  # frexp's fraction is from 1/2 to 1
    k = np.where(is_small, 0, np.where(is_low, exponent - 1, exponent)).astype(_F)
    f = np.where(is_small, x, np.where(is_low, fraction * _F(2), fraction) - _F(1)).astype(_F)
    lost = np.where(exponent > 1, _F(1) - (total - x), x - (total - _F(1))) / total
    half_square = _F(0.5) * f * f
    s = f / (_F(2) + f)
    z = s * s
    series = np.zeros_like(z)
    for coefficient in _SERIES:
        series = z * (series + coefficient)
    rest = s * (half_square + series)
    small = f - (half_square - rest)
    large = k * _LN2_HIGH - ((half_square - (rest + (k * _LN2_LOW + lost))) - f)
    return np.asarray(np.where(is_small, small, large), _F)


def filter_bank(step: Micro, rate: int, fft: int) -> Bank:
    """Return the filters for a spectrum of ``fft / 2 + 1`` energies. Raises ``UsageError`` if the highest filter is
    not below half the sample rate."""
    low = _mel(_F(step.low))
    spacing = _F(_F(_mel(_F(step.high)) - low) / _F(step.channels + 1))
    ends = low + spacing * np.arange(1, step.channels + 2).astype(_F)
    bin_hertz = _F(_F(0.5) * _F(rate)) / _F(fft // 2)
    first = int(_F(1.5) + _F(step.low) / bin_hertz)
    at = _mel(np.arange(fft // 2 + 2).astype(_F) * bin_hertz)
    stops = np.maximum(np.searchsorted(at, ends, side="right"), first)
    if stops[-1] > fft // 2:
        raise record_error(
            f"Micro: the filters up to {step.high:g} Hz reach half the sample rate, {rate / 2:g} Hz."
        )
    starts = np.concatenate([[first], stops[:-1]])
    weights: list[int] = []
    rests: list[int] = []
    for k, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        begin = low if k == 0 else ends[k - 1]
        shares = (ends[k] - at[start:stop]) / _F(ends[k] - begin)
        for numbers, values in ((weights, shares), (rests, _F(1) - shares)):
            numbers += np.floor(values * _F(1 << FILTER_BITS) + _F(0.5)).astype(int).tolist()
    return Bank(
        first, (stops - starts).astype(np.uint16), np.array(weights, np.uint16), np.array(rests, np.uint16)
    )


def gain_table(step: Micro, input_bits: int) -> np.ndarray:
    """Return the gain as a function of the noise, which has ``input_bits`` fractional bits: int16 [GAINS].

    The first two numbers are the gains for noise 0 and 1. The four numbers from ``4 * n - 6`` on are for noise of n
    bits: a parabola through three points, and a number that is not used.
    """

    def gain(noise: int) -> int:
        base = _F(_F(noise) / _F(1 << input_bits)) + _F(step.offset)
        power = _F(float(base) ** -float(_F(step.strength)))
        value = _F(_F(1 << step.gain_bits) * power)
        return 32767 if value > 32767 else int(value + _F(0.5))

    table = np.zeros(GAINS, np.int64)
    table[:2] = gain(0), gain(1)
    for bits in range(2, 33):
        x0 = 1 << (bits - 1)
        y0, y1, y2 = (gain(x) for x in (x0, x0 + x0 // 2, min(2 * x0, (1 << 32) - 1)))
        linear = 4 * (y1 - y0) - (y2 - y0)
        table[4 * bits - 6 : 4 * bits - 3] = y0, linear, (y2 - y0) - linear
    return table.astype(np.int16)
