"""The 16-bit FFT of the micro front end and of SignalRfft with NumPy: all windows at once.

Each rounding is that of the C code.

Products have 15 fractional bits and are rounded. Sums wrap to 16 bits, as they do in the original code.
"""

from __future__ import annotations

import numpy as np

_HALF, _QUARTER = 32767 // 2, 32767 // 4  # the factors that divide by 2 and by 4

_Complex = tuple[np.ndarray, np.ndarray]


def sine_wave(length: int) -> np.ndarray:
    """Return sin(2 pi k / length): int16 [length], where 32767 is 1. ``length`` is a power of two."""
    quarter = np.sin(2 * np.pi * np.arange(length // 4 + 1) / length)
    half = np.concatenate([quarter[:-1], quarter[:0:-1]])
    return np.round(32767 * np.concatenate([half, -half])).astype(np.int16)


def _wrap(values: np.ndarray) -> np.ndarray:
    """Return the low 16 bits of each value, as signed numbers."""
    return values.astype(np.int16).astype(np.int64)


def _rounded(products: np.ndarray) -> np.ndarray:
    return _wrap((products + (1 << 14)) >> 15)


def _scaled(z: _Complex, factor: int) -> _Complex:
    return _rounded(z[0] * factor), _rounded(z[1] * factor)


def _times(a: _Complex, b: _Complex) -> _Complex:
    return _rounded(a[0] * b[0] - a[1] * b[1]), _rounded(a[0] * b[1] + a[1] * b[0])


def _sum(a: _Complex, b: _Complex) -> _Complex:
    return _wrap(a[0] + b[0]), _wrap(a[1] + b[1])


def _difference(a: _Complex, b: _Complex) -> _Complex:
    return _wrap(a[0] - b[0]), _wrap(a[1] - b[1])


def input_order(half: int) -> np.ndarray:
    """Return, for each position of the FFT's memory, the index of the complex number that is put there.

    All stages have radix 4. If ``half`` is not a power of 4, the first stage has radix 2.
    """
    order = np.zeros(1, np.int64)
    size = half
    radices = []
    while size > 1:
        radices.append(4 if size % 4 == 0 else 2)
        size //= radices[-1]
    for radix in reversed(radices):
        order = np.concatenate([order * radix + digit for digit in range(radix)])
    return order


def real_fft(values: np.ndarray, wave: np.ndarray) -> _Complex:
    """Return the real and imaginary parts [windows, length / 2 + 1] of the spectra of int64 [windows, length], divided
    by the length. ``wave`` is the table ``sine_wave(length)``.

    Even and odd samples are the real and imaginary part of a complex series of half the length.
    """
    length = values.shape[1]
    half = length // 2
    wave = wave.astype(np.int64)
    order = input_order(half)
    re, im = values[:, 0::2][:, order], values[:, 1::2][:, order]
    size = 1
    while size < half:
        radix = 2 if size == 1 and half.bit_length() % 2 == 0 else 4
        shape = (len(values), half // (radix * size), radix, size)
        blocks_re, blocks_im = re.reshape(shape), im.reshape(shape)
        z = [
            _scaled((blocks_re[:, :, k], blocks_im[:, :, k]), _QUARTER if radix == 4 else _HALF)
            for k in range(radix)
        ]
        angle = np.arange(size) * (length // (radix * size))
        for k in range(1, radix):
            z[k] = _times(z[k], (wave[k * angle + length // 4], -wave[k * angle]))
        z = _four(z) if radix == 4 else [_sum(z[0], z[1]), _difference(z[0], z[1])]
        re = np.stack([part[0] for part in z], axis=2).reshape(re.shape)
        im = np.stack([part[1] for part in z], axis=2).reshape(im.shape)
        size *= radix
    return _separate(re, im, wave)


def _four(z: list[_Complex]) -> list[_Complex]:
    """Return the butterfly of four numbers."""
    far, near = _difference(z[0], z[2]), _sum(z[0], z[2])
    total, turn = _sum(z[1], z[3]), _difference(z[1], z[3])
    return [
        _sum(near, total),
        (_wrap(far[0] + turn[1]), _wrap(far[1] - turn[0])),
        _difference(near, total),
        (_wrap(far[0] - turn[1]), _wrap(far[1] + turn[0])),
    ]


def _separate(re: np.ndarray, im: np.ndarray, wave: np.ndarray) -> _Complex:
    """Return the spectrum of the real series from that of the complex series."""
    half = re.shape[1]
    out_re, out_im = (np.zeros((len(re), half + 1), np.int64) for _ in range(2))
    first = _scaled((re[:, 0], im[:, 0]), _HALF)
    out_re[:, 0], out_re[:, half] = _wrap(first[0] + first[1]), _wrap(first[0] - first[1])
    k = np.arange(1, half // 2 + 1)
    front = _scaled((re[:, k], im[:, k]), _HALF)
    back = _scaled((re[:, half - k], _wrap(-im[:, half - k])), _HALF)
    even, odd = _sum(front, back), _difference(front, back)
    turned = _times(odd, (-wave[k], -wave[k + half // 2]))
    # For k = half / 2 both positions are the same, and the second value stays.
    out_re[:, k], out_im[:, k] = _wrap((even[0] + turned[0]) >> 1), _wrap((even[1] + turned[1]) >> 1)
    out_re[:, half - k] = _wrap((even[0] - turned[0]) >> 1)
    out_im[:, half - k] = _wrap((turned[1] - even[1]) >> 1)
    return out_re, out_im
