"""The preprocessing step ``micro``: the fixed-point front end of micro_speech, openWakeWord's microWakeWord and
ESPHome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.specification.record_fields import check_within, record_error


@dataclass(frozen=True)
class Micro:
    """Compute ``channels`` features of each window of ``length`` samples, one window every ``step`` samples.

    The steps are window, FFT, filters from ``low`` to ``high`` Hz, square root, noise reduction, automatic gain
    control and logarithm. The defaults are those of micro_speech; microWakeWord has ``step = 160``.

    Noise reduction: the estimate of a channel's noise moves towards the signal by ``even_smoothing`` (channels 0, 2,
    ...) or ``odd_smoothing`` (1, 3, ...) of their difference, and has ``smoothing_bits`` additional fractional bits.
    At least ``min_signal_remaining`` of the signal remains. Gain control (``pcan``): the signal is divided by
    (noise + ``offset``) to the power of ``strength``. The logarithm is multiplied by 2 to the power of ``log_shift``.
    """

    do: ClassVar[str] = "micro"
    length: int = 480
    step: int = 320
    channels: int = 40
    low: float = 125.0
    high: float = 7500.0
    smoothing_bits: int = 10
    even_smoothing: float = 0.025
    odd_smoothing: float = 0.06
    min_signal_remaining: float = 0.05
    pcan: bool = True
    strength: float = 0.95
    offset: float = 80.0
    gain_bits: int = 21
    log: bool = True
    log_shift: int = 6

    def __post_init__(self) -> None:
        check_within(self.length, 32, 4096, "Micro: length")
        check_within(self.step, 1, 1 << 20, "Micro: step")
        check_within(self.channels, 1, 256, "Micro: channels")
        if self.low < 0 or self.high <= self.low:
            raise record_error(f"Micro: {self.low:g} to {self.high:g} Hz is not an ascending range.")
        check_within(self.smoothing_bits, 6, 16, "Micro: smoothing_bits")
        for name in ("even_smoothing", "odd_smoothing", "min_signal_remaining"):
            check_within(getattr(self, name), 0, 1, f"Micro: {name}")
        check_within(self.strength, 0, 1, "Micro: strength")
        check_within(self.offset, 0.01, 1e6, "Micro: offset")
        check_within(self.gain_bits, 20, 30, "Micro: gain_bits")
        check_within(self.log_shift, 0, 8, "Micro: log_shift")
