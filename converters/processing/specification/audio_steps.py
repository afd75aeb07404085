"""The preprocessing steps that convert sound to a tensor, in the order in which they run. ``do`` is the name of the
step in a preprocessing file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.record_fields import check_one_of, check_within, record_error


@dataclass(frozen=True)
class AudioSource:
    """A recording of ``samples`` 16-bit samples of one channel, at ``rate`` samples per second. A shorter recording is
    padded with zeros at its end; a longer one is cut. ``unit`` states the range of the samples in the training
    pipeline: true for [-1, 1), false for [-32768, 32767]."""

    kind: ClassVar[str] = "audio"
    rate: int
    samples: int
    unit: bool = True

    def __post_init__(self) -> None:
        check_within(self.rate, 100, 1_000_000, "The source's rate")
        check_within(self.samples, 16, 1 << 22, "The source's samples")


@dataclass(frozen=True)
class Peak:
    """Divide all samples by their largest absolute value, or, if ``signed`` is true, by their largest value, so that a
    negative peak is ignored (as in MLPerf Tiny)."""

    do: ClassVar[str] = "peak"
    signed: bool = False


@dataclass(frozen=True)
class Preemphasis:
    """Subtract ``coefficient`` times the previous sample from each sample, so that high frequencies become louder. The
    sample before the first one is 0, as in MLPerf Tiny. The coefficient is rounded to 12 fractional bits."""

    do: ClassVar[str] = "preemphasis"
    coefficient: float = 0.97

    def __post_init__(self) -> None:
        check_within(self.coefficient, 0.001, 0.999, "Preemphasis: coefficient")


@dataclass(frozen=True)
class Frame:
    """Cut the samples into overlapping frames of ``length`` samples, one every ``step`` samples. If ``centre`` is
    ``zeros`` or ``reflect``, half of the FFT length is added as padding at each end, as librosa does with
    ``center=True``."""

    do: ClassVar[str] = "frame"
    length: int
    step: int
    centre: str = "none"

    def __post_init__(self) -> None:
        check_within(self.length, 2, 8192, "Frame: length")
        check_within(self.step, 1, 1 << 20, "Frame: step")
        check_one_of(self.centre, ("none", "zeros", "reflect"), "Frame: centre")


@dataclass(frozen=True)
class AudioWindow:
    """Multiply each frame by a window: ``hann``, ``hamming`` or ``none``. The window is periodic, as in
    TensorFlow, librosa and torchaudio, or, if ``periodic`` is false, symmetric."""

    do: ClassVar[str] = "window"
    kind: str = "hann"
    periodic: bool = True

    def __post_init__(self) -> None:
        check_one_of(self.kind, ("hann", "hamming", "none"), "Window: kind")


@dataclass(frozen=True)
class Fft:
    """Compute the magnitude spectrum (``power`` 1) or the power spectrum (``power`` 2) of each frame. A frame is padded
    with zeros to ``length`` samples: it is at the start of the FFT's input (``padding`` "end", as in TensorFlow) or in
    the middle ("both", as in librosa)."""

    do: ClassVar[str] = "fft"
    length: int
    power: int = 1
    padding: str = "end"

    def __post_init__(self) -> None:
        check_within(self.power, 1, 2, "FFT: power")
        check_one_of(self.padding, ("end", "both"), "FFT: padding")
        if not 16 <= self.length <= 8192 or self.length & (self.length - 1):
            raise record_error(f"FFT: length is {self.length}, expected a power of two from 16 to 8192.")


@dataclass(frozen=True)
class Mel:
    """Apply ``bins`` triangular filters from ``low`` to ``high`` Hz (``high`` 0 means half the sample rate).

    ``convention`` is ``tf`` (HTK's scale, triangles linear in mel), ``librosa`` (Slaney's mel scale, and each triangle
    normalized to equal area), or ``htk`` (HTK's scale, triangles linear in Hz, as in torchaudio's default and
    ``librosa.filters.mel(htk=True, norm=None)``).
    """

    do: ClassVar[str] = "mel"
    bins: int
    low: float = 0.0
    high: float = 0.0
    convention: str = "tf"

    def __post_init__(self) -> None:
        check_within(self.bins, 1, 512, "Mel: bins")
        check_one_of(self.convention, ("tf", "librosa", "htk"), "Mel: convention")
        if self.low < 0 or (self.high and self.high <= self.low):
            raise record_error(f"Mel: {self.low:g} to {self.high:g} Hz is not an ascending range.")


@dataclass(frozen=True)
class Log:
    """Compute ``factor`` times the logarithm to base ``e``, ``2`` or ``10`` of value + ``offset`` if ``offset`` is
    above 0, otherwise of max(value, ``floor``). For decibels of a power, use factor 10 and base 10."""

    do: ClassVar[str] = "log"
    base: str = "e"
    factor: float = 1.0
    offset: float = 0.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_one_of(self.base, ("e", "2", "10"), "Log: base")
        check_within(self.factor, 0.01, 20, "Log: factor")
        if min(self.offset, self.floor) < 0 or (self.offset > 0) == (self.floor > 0):
            raise record_error("Log takes an offset or a floor above 0, and only one of them.")
        check_within(max(self.offset, self.floor), 1e-18, 1e18, "Log: offset or floor")


@dataclass(frozen=True)
class Mfcc:
    """Compute the first ``coefficients`` of the type-II DCT of each frame's bins. ``scaling`` is ``ortho``, as in SciPy
    with ``norm="ortho"``, or ``tf``, as in ``tf.signal.mfccs_from_log_mel_spectrograms``: its first coefficient is
    larger by a factor of sqrt(2) than that of ``ortho``."""

    do: ClassVar[str] = "mfcc"
    coefficients: int
    scaling: str = "tf"

    def __post_init__(self) -> None:
        check_within(self.coefficients, 1, 512, "MFCC: coefficients")
        check_one_of(self.scaling, ("tf", "ortho"), "MFCC: scaling")


AudioStep = Peak | Preemphasis | Frame | AudioWindow | Fft | Mel | Log | Mfcc | Micro
_LOG_STEPS: tuple[type, ...] = (Peak, Preemphasis, Frame, AudioWindow, Fft, Mel, Log, Mfcc)
#: The steps of sound preprocessing, in the order in which they run. ``Micro`` takes the place of all others.
STEPS: tuple[type, ...] = (*_LOG_STEPS, Micro)
_OPTIONAL = (Peak, Preemphasis, AudioWindow, Mel, Mfcc)


def check_audio_order(kinds: list[type]) -> None:
    """Raise ``UsageError`` unless the step classes ``kinds`` are in the order of ``STEPS`` and include all required
    steps, or are only ``Micro``. Each of ``kinds`` must be in ``STEPS``."""
    if kinds == [Micro]:
        return
    required = [k for k in _LOG_STEPS if k not in _OPTIONAL]
    if kinds != [k for k in _LOG_STEPS if k in kinds] or any(k not in kinds for k in required):
        raise record_error(
            "Audio preprocessing consists of the steps peak, preemphasis, frame, window, fft, mel, log, mfcc in this "
            "order; frame, fft and log are required. Or it has the step micro instead of all these."
        )
