"""The levels of frequency bands, for a spectrogram on a screen."""

from __future__ import annotations

import numpy as np

#: The number of bands from 0 to half the rate, all of the same width.
BANDS = 64
#: The levels that are shown as 0 and 255, in dB of full scale.
_LOWEST_DB, _HIGHEST_DB = -110.0, -20.0


class Spectrum:
    """Computes the levels of a stream of samples with ``rate`` samples per second, over windows of 32 ms."""

    def __init__(self, rate: int) -> None:
        self._length = max(1 << (round(rate * 0.032) - 1).bit_length(), 4 * BANDS)
        self._window = np.hanning(self._length)
        self._samples = np.zeros(self._length, np.int16)

    def levels(self, samples: np.ndarray) -> list[int]:
        """Return the levels of all bands, from 0 to 255, for the window that ends with int16 ``samples``."""
        self._samples = np.concatenate([self._samples, samples])[-self._length :]
        values = np.fft.rfft(self._samples * self._window / 32768)[1:]
        power = (np.abs(values) ** 2).reshape(BANDS, -1).mean(1) * (4 / self._length**2)
        db = 10 * np.log10(power + 1e-20)
        scaled = 255 * (db - _LOWEST_DB) / (_HIGHEST_DB - _LOWEST_DB)
        return [int(value) for value in np.clip(scaled, 0, 255)]
