"""The plan of a motion front end: all numbers and tables that the NumPy reference and the C code use."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.processing.audio.plan import PAD_NONE, PEAK_NONE, AudioPlan
from arenite.converters.processing.audio.tables import Filters, log_table, root_table, sines, window
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.audio_steps import AudioWindow
from arenite.converters.processing.specification.imu_steps import STATISTICS, Bands, ImuSource, Statistics
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.converters.processing.specification.record_fields import record_error

#: The statistics that are shares, not in units of samples.
SHARES = ("zero_crossings", "mean_crossings")
#: Weights of a band have this number of bits.
_WEIGHT_BITS = 15


@dataclass(frozen=True)
class ImuPlan:
    """Numbers of a motion front end. Without statistics and bands, the result is the window itself.

    The first set of parameters of ``affine`` is for values in units of samples, the second for shares. ``bands`` has
    its own.
    """

    axes: int
    window: int
    hop: int
    unit: int
    statistics: tuple[int, ...]  # indices of imu_steps.STATISTICS
    bands: AudioPlan | None
    remove_mean: bool
    affine: input_values.Affine
    dtype: str

    @property
    def per_axis(self) -> int:
        """The number of features of an axis; 0 if the result is the window itself."""
        return len(self.statistics) + (0 if self.bands is None else self.bands.features)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the result: [axes, features], or [window, axes]."""
        return (self.axes, self.per_axis) if self.per_axis else (self.window, self.axes)


def plan_imu(spec: Preprocessing) -> ImuPlan:
    """Return the plan for ``spec``. Raises ``UsageError`` if its steps do not fit each other."""
    source = spec.source
    assert isinstance(source, ImuSource)
    statistics = next((s for s in spec.steps if isinstance(s, Statistics)), None)
    bands = next((s for s in spec.steps if isinstance(s, Bands)), None)
    samples, shares = (_affine(spec, divide) for divide in (float(source.unit), 1.0))
    both = {
        name: getattr(samples, name) + getattr(shares, name)
        for name in ("offset", "multiplier", "shift", "step")
    }
    return ImuPlan(
        axes=source.axes,
        window=source.window,
        hop=source.hop,
        unit=source.unit,
        statistics=() if statistics is None else tuple(map(STATISTICS.index, statistics.values)),
        bands=None if bands is None else _plan_bands(spec, source, bands),
        remove_mean=bands is not None and bands.remove_mean,
        affine=replace(samples, **both),
        dtype=input_values.result_type(spec),
    )


def _affine(spec: Preprocessing, divide: float) -> input_values.Affine:
    """Return the map of values that ``divide`` makes those of the training pipeline."""
    step = input_values.normalize_step_of(spec)
    last = () if spec.quantize_step is None else (spec.quantize_step,)
    # ``normalise`` divides first and subtracts then, so its divisor takes the other one.
    return input_values.affine(replace(spec, steps=(_divided(step, divide), *last)), 1)


def _divided(step: Normalize, divide: float) -> Normalize:
    return replace(step, divide=step.divide * divide)


def _plan_bands(spec: Preprocessing, source: ImuSource, bands: Bands) -> AudioPlan:
    """Return the plan of a sound of one frame that has the bands as filters."""
    if source.window > bands.fft:
        raise record_error(f"A window of {source.window} samples does not fit an FFT of {bands.fft}.")
    if bands.edges[-1] > source.rate:
        raise record_error(
            f"Bands: the last edge is {bands.edges[-1]:g} Hz, but at {source.rate:g} samples per second frequencies "
            f"end at {source.rate / 2:g} Hz."
        )
    hertz = np.arange(bands.fft // 2 + 1) * (source.rate / bands.fft)
    first = np.searchsorted(hertz, bands.edges)
    count = np.diff(first)
    for low, high, bins in zip(bands.edges, bands.edges[1:], count.tolist(), strict=False):
        if bins == 0:
            raise record_error(
                f"Bands: an FFT of {bands.fft} has no frequency from {low:g} to {high:g} Hz; "
                "use a longer one, or fewer bands."
            )
    shape = AudioWindow("hann") if bands.weights == "hann" else None
    return AudioPlan(
        samples=source.window,
        frames=1,
        features=len(count),
        length=source.window,
        step=source.window,
        lead=0,
        centre=PAD_NONE,
        inset=0,
        fft=bands.fft,
        power=2,
        peak=PEAK_NONE,
        preemphasis=0,
        unit=False,
        window=None if shape is None else window(shape, source.window),
        mirror=source.window,
        sines=sines(bands.fft),
        logs=log_table(),
        roots=root_table(),
        filters=Filters(
            first[:-1].astype(np.uint16),
            count.astype(np.uint16),
            np.full(int(count.sum()), 1 << _WEIGHT_BITS, np.uint16),
            _WEIGHT_BITS,
        ),
        cosines=None,
        mantissa=1 << 23,
        exponent=-23,
        is_floor=False,
        factor=round(math.log(2) * bands.factor * (1 << 28)),
        affine=_affine(spec, 1.0),
        dtype=input_values.result_type(spec),
    )
