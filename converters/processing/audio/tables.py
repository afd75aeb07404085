"""Tables of a sound front end: window, sines, mel filters, cosines and logarithms, in the integers that C reads.

Sources: TensorFlow's mel_ops and dct_ops, librosa's filters.mel (M. Slaney's Auditory Toolbox), the HTK Book.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.specification.audio_steps import AudioSource, AudioWindow, Fft, Mel, Mfcc
from arenite.converters.processing.specification.record_fields import record_error

#: Fractional bits of the window, of sines, of mel weights (before their own exponent), of cosines.
WINDOW_BITS = 31
SINE_BITS = 31
MEL_BITS = 15
DCT_BITS = 30
#: log2(1 + i / 128) in this many fractional bits.
LOG_STEPS_BITS = 7
LOG_BITS = 30


def window(step: AudioWindow, length: int) -> np.ndarray:
    """int32 [length / 2 + 1], 1 as 2^31: the first half, which the second mirrors."""
    return _signed(window_values(step, length)[: length // 2 + 1], WINDOW_BITS)


def _signed(values: np.ndarray, bits: int) -> np.ndarray:
    """``values`` as int32, 1 as 2^31, which saturates to 2^31 - 1."""
    return np.round(values * (1 << bits)).clip(-(2**31), 2**31 - 1).astype(np.int32)


def window_values(step: AudioWindow, length: int) -> np.ndarray:
    """float64 [length]."""
    period = length if step.periodic else length - 1
    turn = 2 * np.pi * np.arange(length) / period
    if step.kind == "none":
        return np.ones(length)
    return 0.5 - 0.5 * np.cos(turn) if step.kind == "hann" else 0.54 - 0.46 * np.cos(turn)


def sines(length: int) -> np.ndarray:
    """int32 [length / 4 + 1]: sin(2 pi k / length), 1 as 2^31."""
    return _signed(np.sin(2 * np.pi * np.arange(length // 4 + 1) / length), SINE_BITS)


def root_table() -> np.ndarray:
    """uint32 [97]: sqrt(k / 128) for k from 32, 1 as 2^31."""
    return np.round(np.sqrt(np.arange(32, 129) / 128) * (1 << 31)).astype(np.uint32)


def log_table() -> np.ndarray:
    """int32 [129]."""
    steps = 1 << LOG_STEPS_BITS
    return np.round(np.log2(1 + np.arange(steps + 1) / steps) * (1 << LOG_BITS)).astype(np.int32)


@dataclass(frozen=True)
class Filters:
    """Filter ``b`` is sum over k of ``weights[k] * 2^-exponent`` times bin ``first[b] + k``, k counted from where the
    filters before it end; it has ``count[b]`` bins."""

    first: np.ndarray  # uint16 [bins]
    count: np.ndarray  # uint16 [bins]
    weights: np.ndarray  # uint16
    exponent: int

    @property
    def last_bin(self) -> int:
        """One past the last bin of the spectrum that any filter reads."""
        return int((self.first.astype(int) + self.count)[self.count > 0].max(initial=1))


def filters(step: Mel | None, source: AudioSource, fft: Fft) -> Filters:
    """Return the mel filters, or, without them, each bin of the spectrum alone."""
    matrix = np.eye(fft.length // 2 + 1) if step is None else mel_matrix(step, source.rate, fft.length)
    largest = matrix.max()
    if largest <= 0:
        raise record_error("Mel: no bin of the spectrum is in the filters' range.")
    # The largest weight takes 16 bits, or 15 where it is a power of two.
    exponent = int(np.floor(np.log2(65535 / largest)))
    first, count, weights = [], [], []
    for row in matrix:
        used = np.flatnonzero(row)
        start, stop = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        first.append(start)
        count.append(stop - start)
        weights += list(np.round(row[start:stop] * 2.0**exponent))
    return Filters(
        np.array(first, np.uint16), np.array(count, np.uint16), np.array(weights, np.uint16), exponent
    )


def mel_matrix(step: Mel, rate: int, length: int) -> np.ndarray:
    """float64 [bins, length / 2 + 1]."""
    high = step.high or rate / 2
    if high > rate / 2:
        raise record_error(
            f"Mel: high is {high:g} Hz, but at {rate} samples per second there are at most {rate / 2:g}."
        )
    hertz = np.arange(length // 2 + 1) * (rate / length)
    to_mel = _slaney if step.convention == "librosa" else _htk
    edges = np.linspace(to_mel(np.array(step.low)), to_mel(np.array(high)), step.bins + 2)
    if step.convention == "tf":
        at = to_mel(hertz)
        low, centre, top = (edges[k : k + step.bins, np.newaxis] for k in range(3))
        coefficients_matrix = np.maximum(
            0, np.minimum((at - low) / (centre - low), (top - at) / (top - centre))
        )
        coefficients_matrix[:, 0] = 0  # TensorFlow leaves the constant part out
        return np.asarray(coefficients_matrix)
    edges = _slaney_hertz(edges) if step.convention == "librosa" else _htk_hertz(edges)
    low, centre, top = (edges[k : k + step.bins, np.newaxis] for k in range(3))
    coefficients_matrix = np.maximum(
        0, np.minimum((hertz - low) / (centre - low), (top - hertz) / (top - centre))
    )
    scale = 2 / (top - low) if step.convention == "librosa" else 1.0
    return np.asarray(coefficients_matrix * scale)


def _htk(hertz: np.ndarray) -> np.ndarray:
    return 2595 * np.log10(1 + hertz / 700)


def _htk_hertz(mel: np.ndarray) -> np.ndarray:
    return 700 * (10 ** (mel / 2595) - 1)


#: Slaney's scale: straight up to 1000 Hz (mel 15), then logarithmic, 6.4 times in 27 steps.
_SLANEY_LINEAR_TOP = 200 / 3
_LOG_STEP = np.log(6.4) / 27


def _slaney(hertz: np.ndarray) -> np.ndarray:
    above = 15 + np.log(np.maximum(hertz, 1e-9) / 1000) / _LOG_STEP
    return np.where(hertz >= 1000, above, hertz / _SLANEY_LINEAR_TOP)


def _slaney_hertz(mel: np.ndarray) -> np.ndarray:
    return np.where(mel >= 15, 1000 * np.exp(_LOG_STEP * (mel - 15)), mel * _SLANEY_LINEAR_TOP)


def cosines(step: Mfcc, bins: int) -> np.ndarray:
    """int32 [coefficients, bins], 1 as 2^30."""
    if step.coefficients > bins:
        raise record_error(f"MFCC: {step.coefficients} coefficients of {bins} bins.")
    return np.round(cosine_matrix(step, bins) * (1 << DCT_BITS)).astype(np.int32)


def cosine_matrix(step: Mfcc, bins: int) -> np.ndarray:
    """float64 [coefficients, bins]."""
    k, n = np.arange(step.coefficients)[:, np.newaxis], np.arange(bins)
    coefficients_matrix = np.cos(np.pi * k * (2 * n + 1) / (2 * bins)) * np.sqrt(2 / bins)
    if step.scaling == "ortho":
        coefficients_matrix[0] /= np.sqrt(2)
    value: np.ndarray = coefficients_matrix
    return value
