"""Tables of a sound front end as integers for the C code: window, sines, mel filters, cosines and logarithms.

Sources: TensorFlow's mel_ops and dct_ops, librosa's filters.mel (M. Slaney's Auditory Toolbox), the HTK Book.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.processing.specification.audio_steps import AudioSource, AudioWindow, Fft, Mel, Mfcc
from arenite.converters.processing.specification.record_fields import record_error

#: The fractional bits of the window, of sines and of the cosines of the DCT.
WINDOW_BITS = 31
SINE_BITS = 31
DCT_BITS = 30
#: The table of log2(1 + i / 2^LOG_STEPS_BITS) has ``LOG_BITS`` fractional bits.
LOG_STEPS_BITS = 7
LOG_BITS = 30


def window(step: AudioWindow, length: int) -> np.ndarray:
    """Return the first half of the window, int32 [length / 2 + 1], where 2^31 is 1. The second half mirrors it."""
    return _signed(window_values(step, length)[: length // 2 + 1], WINDOW_BITS)


def _signed(values: np.ndarray, bits: int) -> np.ndarray:
    """Return ``values`` as int32 with ``bits`` fractional bits. 2^31 saturates to 2^31 - 1."""
    return np.round(values * (1 << bits)).clip(-(2**31), 2**31 - 1).astype(np.int32)


def window_values(step: AudioWindow, length: int) -> np.ndarray:
    """Return the weights of the window: float64 [length]."""
    period = length if step.periodic else length - 1
    turn = 2 * np.pi * np.arange(length) / period
    if step.kind == "none":
        return np.ones(length)
    return 0.5 - 0.5 * np.cos(turn) if step.kind == "hann" else 0.54 - 0.46 * np.cos(turn)


def sines(length: int) -> np.ndarray:
    """Return sin(2 pi k / length) for k from 0 to length / 4: int32 [length / 4 + 1], where 2^31 is 1."""
    return _signed(np.sin(2 * np.pi * np.arange(length // 4 + 1) / length), SINE_BITS)


def root_table() -> np.ndarray:
    """Return sqrt(k / 128) for k from 32 to 128: uint32 [97], where 2^31 is 1."""
    return np.round(np.sqrt(np.arange(32, 129) / 128) * (1 << 31)).astype(np.uint32)


def log_table() -> np.ndarray:
    """Return log2(1 + k / 128) for k from 0 to 128: int32 [129] with ``LOG_BITS`` fractional bits."""
    steps = 1 << LOG_STEPS_BITS
    return np.round(np.log2(1 + np.arange(steps + 1) / steps) * (1 << LOG_BITS)).astype(np.int32)


@dataclass(frozen=True)
class Filters:
    """A bank of filters. Filter ``b`` weights ``count[b]`` bins of the spectrum, the first of which is ``first[b]``.
    ``weights`` has the weights of all filters one after the other, in units of ``2^-exponent``."""

    first: np.ndarray  # uint16 [filters]
    count: np.ndarray  # uint16 [filters]
    weights: np.ndarray  # uint16
    exponent: int

    @property
    def last_bin(self) -> int:
        """The end of the range of bins that the filters read: the last bin plus 1."""
        return int((self.first.astype(int) + self.count)[self.count > 0].max(initial=1))


def filters(step: Mel | None, source: AudioSource, fft: Fft) -> Filters:
    """Return the mel filters. If ``step`` is None, return one filter per bin of the spectrum, with weight 1."""
    matrix = np.eye(fft.length // 2 + 1) if step is None else mel_matrix(step, source.rate, fft.length)
    largest = matrix.max()
    if largest <= 0:
        raise record_error("Mel: no bin of the spectrum is in the filters' range.")
    # The largest weight has 16 bits, or 15 if it is a power of two.
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
    """Return the weights of the mel filters: float64 [bins, length / 2 + 1]."""
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
        coefficients_matrix[:, 0] = 0  # TensorFlow leaves out bin 0, the constant part
        return np.asarray(coefficients_matrix)
    edges = _slaney_hertz(edges) if step.convention == "librosa" else _htk_hertz(edges)
    low, centre, top = (edges[k : k + step.bins, np.newaxis] for k in range(3))
    coefficients_matrix = np.maximum(
        0, np.minimum((hertz - low) / (centre - low), (top - hertz) / (top - centre))
    )
    scale = 2 / (top - low) if step.convention == "librosa" else 1.0
    return np.asarray(coefficients_matrix * scale)


def _htk(hertz: np.ndarray) -> np.ndarray:
    """Convert Hz to mel with the HTK formula."""
    return 2595 * np.log10(1 + hertz / 700)


def _htk_hertz(mel: np.ndarray) -> np.ndarray:
    """Convert mel to Hz with the HTK formula."""
    return 700 * (10 ** (mel / 2595) - 1)


#: Slaney's scale is linear up to 1000 Hz (mel 15), with 200 / 3 Hz per mel. Above 1000 Hz it is logarithmic: the
#: frequency rises by a factor of 6.4 in 27 mel.
_SLANEY_HERTZ_PER_MEL = 200 / 3
_LOG_STEP = np.log(6.4) / 27


def _slaney(hertz: np.ndarray) -> np.ndarray:
    """Convert Hz to mel with Slaney's scale."""
    above = 15 + np.log(np.maximum(hertz, 1e-9) / 1000) / _LOG_STEP
    return np.where(hertz >= 1000, above, hertz / _SLANEY_HERTZ_PER_MEL)


def _slaney_hertz(mel: np.ndarray) -> np.ndarray:
    """Convert mel to Hz with Slaney's scale."""
    return np.where(mel >= 15, 1000 * np.exp(_LOG_STEP * (mel - 15)), mel * _SLANEY_HERTZ_PER_MEL)


def cosines(step: Mfcc, bins: int) -> np.ndarray:
    """Return the coefficients of the DCT: int32 [coefficients, bins], where 2^30 is 1."""
    if step.coefficients > bins:
        raise record_error(f"MFCC: {bins} bins have at most {bins} coefficients, not {step.coefficients}.")
    return np.round(cosine_matrix(step, bins) * (1 << DCT_BITS)).astype(np.int32)


def cosine_matrix(step: Mfcc, bins: int) -> np.ndarray:
    """Return the coefficients of the DCT: float64 [coefficients, bins]."""
    k, n = np.arange(step.coefficients)[:, np.newaxis], np.arange(bins)
    coefficients_matrix = np.cos(np.pi * k * (2 * n + 1) / (2 * bins)) * np.sqrt(2 / bins)
    if step.scaling == "ortho":
        coefficients_matrix[0] /= np.sqrt(2)
    return np.asarray(coefficients_matrix)
