"""The preprocessing steps that convert windows of a motion sensor to a tensor. ``do`` is the name of the step in a
preprocessing file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.specification.record_fields import check_one_of, check_within, record_error

#: The statistics of an axis. The C code numbers them in this order.
STATISTICS = (
    "mean",
    "std",
    "rms",
    "min",
    "max",
    "peak_to_peak",
    "zero_crossings",
    "mean_crossings",
    "energy",
)
#: The largest window: its sums of squares and their products then fit 64 bits.
MAX_WINDOW = 4096
#: The largest number of samples in a window, over all axes.
MAX_NUMBERS = 65535


@dataclass(frozen=True)
class ImuSource:
    """Windows of ``window`` moments, one every ``hop`` moments, with a 16-bit sample of each of ``axes`` axes, at
    ``rate`` moments per second. A sample of ``unit`` is 1 in the training pipeline (8192: g, for a sensor of 4 g)."""

    kind: ClassVar[str] = "imu"
    axes: int
    rate: float
    window: int
    hop: int
    unit: int = 32768

    def __post_init__(self) -> None:
        check_within(self.axes, 1, 32, "The source's axes")
        check_within(self.rate, 0.01, 1_000_000, "The source's rate")
        check_within(self.window, 2, MAX_WINDOW, "The source's window")
        check_within(self.hop, 1, 1 << 20, "The source's hop")
        check_within(self.unit, 1, 32768, "The source's unit")
        if self.window * self.axes > MAX_NUMBERS:
            raise record_error(
                f"The source's window has {self.window} moments of {self.axes} axes, which are "
                f"{self.window * self.axes:,} samples, expected at most {MAX_NUMBERS:,}."
            )


@dataclass(frozen=True)
class Statistics:
    """Compute these ``values`` of each axis. ``energy`` is the mean of the squares. ``zero_crossings`` and
    ``mean_crossings`` are the share of neighbors that are on different sides of 0, or of the mean."""

    do: ClassVar[str] = "statistics"
    values: tuple[str, ...] = STATISTICS

    def __post_init__(self) -> None:
        for value in self.values:
            check_one_of(value, STATISTICS, "Statistics: a value")
        if len(set(self.values)) != len(self.values):
            raise record_error("Statistics: a value is named twice.")


@dataclass(frozen=True)
class Bands:
    """Compute, for each axis, ``factor`` times the natural logarithm of 1 + the power between successive ``edges`` in
    Hz, from an FFT of ``fft`` samples of the window, in units of samples. The last edge is not included. ``weights`` is
    ``hann`` or ``none``. With ``remove_mean`` the window's mean is subtracted first."""

    do: ClassVar[str] = "bands"
    edges: tuple[float, ...]
    fft: int
    weights: str = "hann"
    factor: float = 0.1
    remove_mean: bool = True

    def __post_init__(self) -> None:
        check_one_of(self.weights, ("hann", "none"), "Bands: weights")
        check_within(self.factor, 0.01, 20, "Bands: factor")
        if len(self.edges) < 2 or any(b <= a for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise record_error("Bands: edges must be two or more frequencies in ascending order.")
        check_within(self.edges[0], 0, 1e6, "Bands: the first edge")
        if not 16 <= self.fft <= 8192 or self.fft & (self.fft - 1):
            raise record_error(f"Bands: fft is {self.fft}, expected a power of two from 16 to 8192.")


ImuStep = Statistics | Bands
STEPS: tuple[type, ...] = (Statistics, Bands)


def check_imu_order(kinds: list[type]) -> None:
    """Raise ``UsageError`` unless each of the step classes ``kinds`` occurs once, in the order of ``STEPS``."""
    if kinds != [k for k in STEPS if k in kinds]:
        raise record_error(
            "Motion preprocessing consists of the steps statistics, bands in this order; both are optional."
        )
