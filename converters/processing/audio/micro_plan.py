"""The plan of the micro front end: all numbers and tables that the NumPy reference and the C code use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.signal.channels import RATIO_BITS, NoiseSettings, log_table
from arenite.converters.graph.signal.fft16 import sine_wave
from arenite.converters.processing.audio.micro_tables import (
    FILTER_BITS,
    SMOOTHING_BITS,
    Bank,
    filter_bank,
    gain_table,
    window_weights,
)
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.processing.specification.record_fields import record_error

#: The largest number of frames: micro.h stores it in 16 bits.
MAX_FRAMES = 65535


@dataclass(frozen=True)
class MicroPlan:
    """Numbers and tables of the micro front end. The module ``micro_tables`` describes the tables."""

    samples: int  # samples per recording
    frames: int  # windows per recording
    features: int  # features per window: the number of channels
    length: int  # samples per window
    step: int  # samples from the start of one window to the start of the next
    fft: int  # length of the FFT: the smallest power of two that is not below ``length``
    window: np.ndarray
    wave: np.ndarray
    bank: Bank
    noise: NoiseSettings  # a coefficient has SMOOTHING_BITS fractional bits
    gains: np.ndarray | None  # None without gain control
    ratio_shift: int  # shift from the product of signal and gain to RATIO_BITS fractional bits
    logs: np.ndarray | None  # None without logarithm
    log_shift: int
    correction: int  # shift to the left before the logarithm; a negative number is a shift to the right
    affine: input_values.Affine
    dtype: str

    @property
    def memory_bytes(self) -> int:
        """The bytes that the C code remembers from window to window: the estimate of the noise."""
        return 4 * self.features


def plan_micro(spec: Preprocessing) -> MicroPlan:
    """Return the plan for ``spec``, which has a step ``micro``. Raises ``UsageError`` if its settings do not fit each
    other."""
    source = spec.source
    assert isinstance(source, AudioSource)
    step = next(s for s in spec.steps if isinstance(s, Micro))
    if source.samples < step.length:
        raise record_error(f"{source.samples} samples are less than a window of {step.length}.")
    frames = (source.samples - step.length) // step.step + 1
    if frames > MAX_FRAMES:
        raise record_error(
            f"{source.samples} samples are {frames:,} windows, expected at most {MAX_FRAMES:,}."
        )
    fft = 1 << (step.length - 1).bit_length()
    # The filters' weights are scaled by 2^FILTER_BITS before the square root, and the FFT's result is divided by
    # its length.
    correction = fft.bit_length() - 1 - FILTER_BITS // 2
    return MicroPlan(
        samples=source.samples,
        frames=frames,
        features=step.channels,
        length=step.length,
        step=step.step,
        fft=fft,
        window=window_weights(step.length),
        wave=sine_wave(fft),
        bank=filter_bank(step, source.rate, fft),
        noise=_noise_settings(step),
        gains=gain_table(step, step.smoothing_bits - correction) if step.pcan else None,
        ratio_shift=step.gain_bits - correction - RATIO_BITS,
        logs=log_table() if step.log else None,
        log_shift=step.log_shift,
        correction=correction,
        affine=input_values.affine(spec, 1),
        dtype=input_values.result_type(spec),
    )


def _noise_settings(step: Micro) -> NoiseSettings:
    smoothing = _coefficient(step.even_smoothing), _coefficient(step.odd_smoothing)
    return NoiseSettings(
        smoothing=smoothing,
        keeping=((1 << SMOOTHING_BITS) - smoothing[0], (1 << SMOOTHING_BITS) - smoothing[1]),
        min_remaining=_coefficient(step.min_signal_remaining),
        bits=SMOOTHING_BITS,
        smoothing_bits=step.smoothing_bits,
        clamp=False,
    )


def _coefficient(value: float) -> int:
    return int(np.float32(value) * np.float32(1 << SMOOTHING_BITS))
