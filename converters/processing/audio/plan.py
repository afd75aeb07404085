"""The plan of a sound front end: all numbers and tables that the NumPy reference and the C code use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.processing.audio.tables import (
    Filters,
    cosines,
    filters,
    log_table,
    root_table,
    sines,
    window,
)
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import (
    AudioSource,
    AudioWindow,
    Fft,
    Frame,
    Log,
    Mel,
    Mfcc,
    Peak,
    Preemphasis,
)
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.processing.specification.record_fields import record_error

#: The fractional bits of a logarithm to base 2, and of a feature.
LOG2_BITS = 20
FEATURE_BITS = 16
#: A frame is scaled so that its largest sample has this number of bits. Then no butterfly overflows 32 bits.
FRAME_BITS = 29
#: The power spectrum is shifted right by this number of bits, so that its weighted sum stays below 2^63.
POWER_SHIFT = 13

#: The fractional bits of the pre-emphasis coefficient. A sample after pre-emphasis has 28 bits, so it fits a frame.
PREEMPHASIS_BITS = 12

#: The largest number of frames: audio.h stores it in 16 bits.
MAX_FRAMES = 65535

PEAK_NONE, PEAK_SIGNED, PEAK_SIZE = 0, 1, 2
PAD_NONE, PAD_ZEROS, PAD_REFLECT = 0, 1, 2


@dataclass(frozen=True)
class AudioPlan:
    """Numbers and tables of a sound front end. The module ``tables`` describes the tables. The logarithm's offset or
    floor is ``mantissa * 2^exponent`` in units of the training pipeline's values."""

    samples: int  # samples per recording
    frames: int  # frames per recording
    features: int  # features per frame
    length: int  # samples per frame
    step: int  # samples from the start of one frame to the start of the next
    lead: int  # the number of samples by which the first frame begins before the recording
    centre: int  # PAD_..., how the first and last frames are padded
    inset: int  # position of a frame in the FFT's input
    fft: int  # length of the FFT
    power: int  # 1 if the spectrum has magnitudes, 2 if it has powers
    peak: int  # PEAK_..., how the peak that samples are divided by is found
    preemphasis: (
        int  # multiplies the previous sample; PREEMPHASIS_BITS fractional bits; 0 for no pre-emphasis
    )
    unit: bool  # whether the training pipeline's samples are from -1 to 1
    window: np.ndarray | None
    mirror: int  # weight n of the window equals weight mirror - n
    sines: np.ndarray
    logs: np.ndarray
    roots: np.ndarray
    filters: Filters
    cosines: np.ndarray | None
    mantissa: int
    exponent: int
    is_floor: bool  # whether mantissa and exponent are the floor, not the offset
    factor: int  # multiplies a logarithm to base 2; 28 fractional bits
    affine: input_values.Affine
    dtype: str

    @property
    def memory_bytes(self) -> int:
        """The bytes that the C code remembers from frame to frame: the sample before the next frame."""
        return 4 if self.preemphasis else 0

    @property
    def bins(self) -> int:
        """The number of filters."""
        return len(self.filters.first)

    @property
    def base_exponent(self) -> int:
        """The number to add to log2 of a filter's integer sum to get log2 of the training pipeline's value.

        The scaling of the frame is not included, but the bits that pre-emphasis adds are. An integer magnitude is the
        magnitude of the samples divided by half the FFT's length, and a power has twice the exponent of a magnitude.
        """
        # log2 of half the FFT's length. An int16 sample is 2^15 times a sample from -1 to 1.
        magnitude = (self.fft.bit_length() - 2) - (15 if self.unit and not self.peak else 0)
        magnitude -= PREEMPHASIS_BITS if self.preemphasis else 0
        return self.power * magnitude - self.filters.exponent + (POWER_SHIFT if self.power == 2 else 0)


def plan_audio(spec: Preprocessing) -> AudioPlan:
    """Return the plan for ``spec``. Raises ``UsageError`` if its steps do not fit each other."""
    source = spec.source
    assert isinstance(source, AudioSource)

    def find(kind: type) -> Any:
        return next((s for s in spec.steps if isinstance(s, kind)), None)

    frame: Frame = find(Frame)
    fft: Fft = find(Fft)
    log: Log = find(Log)
    mel: Mel | None = find(Mel)
    mfcc: Mfcc | None = find(Mfcc)
    shape: AudioWindow | None = find(AudioWindow)
    peak: Peak | None = find(Peak)
    preemphasis: Preemphasis | None = find(Preemphasis)
    if preemphasis and frame.centre != "none":
        raise record_error(
            "Preemphasis cannot be combined with frames that are padded at both ends: set centre = 'none' in the "
            "frame step."
        )
    if frame.length > fft.length:
        raise record_error(f"Frames of {frame.length} samples do not fit an FFT of {fft.length}.")
    span = fft.length if frame.centre != "none" else frame.length
    lead = fft.length // 2 if frame.centre != "none" else 0
    inset = (fft.length - frame.length) // 2 if fft.padding == "both" else 0
    if frame.centre != "none" and fft.padding == "end" and frame.length != fft.length:
        raise record_error(
            "Centred frames shorter than the FFT must be in its middle: set padding = 'both' in the FFT step."
        )
    frames = (source.samples + 2 * lead - span) // frame.step + 1
    if frames < 1:
        raise record_error(f"{source.samples} samples are less than a frame of {span}.")
    if frames > MAX_FRAMES:
        raise record_error(
            f"{source.samples} samples are {frames:,} frames, expected at most {MAX_FRAMES:,}."
        )
    if frame.centre == "reflect" and source.samples <= lead:
        raise record_error(f"{source.samples} samples are too few to be reflected by {lead}.")
    # As in librosa, the frame is in the middle of the FFT's input.
    begin = lead - inset if frame.centre != "none" else 0
    bank = filters(mel, source, fft)
    bins = len(bank.first)
    mantissa, exponent = _binary(log.offset or log.floor)
    log_of_2 = {"e": math.log(2), "2": 1.0, "10": math.log10(2)}[log.base]
    return AudioPlan(
        samples=source.samples,
        frames=frames,
        features=mfcc.coefficients if mfcc else bins,
        length=frame.length,
        step=frame.step,
        lead=begin,
        centre={"none": PAD_NONE, "zeros": PAD_ZEROS, "reflect": PAD_REFLECT}[frame.centre],
        inset=inset,
        fft=fft.length,
        power=fft.power,
        peak=PEAK_NONE if peak is None else PEAK_SIGNED if peak.signed else PEAK_SIZE,
        preemphasis=round(preemphasis.coefficient * (1 << PREEMPHASIS_BITS)) if preemphasis else 0,
        unit=source.unit,
        window=None if shape is None or shape.kind == "none" else window(shape, frame.length),
        mirror=frame.length - (0 if shape is None or shape.periodic else 1),
        sines=sines(fft.length),
        logs=log_table(),
        roots=root_table(),
        filters=bank,
        cosines=None if mfcc is None else cosines(mfcc, bins),
        mantissa=mantissa,
        exponent=exponent,
        is_floor=log.floor > 0,
        factor=round(log_of_2 * log.factor * (1 << 28)),
        affine=input_values.affine(spec, 1),
        dtype=input_values.result_type(spec),
    )


def _binary(value: float) -> tuple[int, int]:
    """Return (mantissa, exponent) with ``value`` = mantissa * 2^exponent and the mantissa in [2^23, 2^24)."""
    fraction, exponent = math.frexp(value)
    mantissa = round(fraction * (1 << 24))
    if mantissa == 1 << 24:
        mantissa, exponent = mantissa // 2, exponent + 1
    return mantissa, exponent - 24
