"""Convert windows of a motion sensor to tensors with integer arithmetic. The C code gives the same bytes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from arenite.converters.processing.audio.reference import plan_features
from arenite.converters.processing.imu.plan import SHARES, ImuPlan, plan_imu
from arenite.converters.processing.specification.imu_steps import STATISTICS
from arenite.converters.processing.specification.input_values import FRACTION_BITS, Affine, apply_affine
from arenite.converters.processing.specification.preprocessing import Preprocessing

_INT32 = (-(2**31), 2**31 - 1)


def preprocess_imu(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Convert int16 samples [moments, axes] to the model's input [axes, features], or [window, axes] without steps. A
    shorter recording is padded with zeros at its end, a longer one is cut."""
    plan = plan_imu(spec)
    recorded = samples.astype(np.int16).reshape(-1, plan.axes)[: plan.window]
    window = np.concatenate([recorded, np.zeros((plan.window - len(recorded), plan.axes), np.int16)])
    return window_features(spec, plan, window)


def window_features(spec: Preprocessing, plan: ImuPlan, window: np.ndarray) -> np.ndarray:
    """Convert a window, int16 [window, axes], with ``plan``, which was made for ``spec``."""
    if not plan.per_axis:
        return _mapped(spec, plan, window.astype(np.int64) << FRACTION_BITS, 0)
    return np.stack([_axis(spec, plan, window[:, k]) for k in range(plan.axes)])


def _mapped(spec: Preprocessing, plan: ImuPlan, values: np.ndarray, place: int) -> np.ndarray:
    """Apply the parameters at ``place`` of the plan's affine map."""
    a = plan.affine
    own = Affine(
        a.offset[place : place + 1],
        a.multiplier[place : place + 1],
        a.shift[place : place + 1],
        a.step[place : place + 1],
        a.zero_point,
        a.low,
        a.high,
    )
    return apply_affine(spec, own, values[..., np.newaxis])[..., 0]


def _axis(spec: Preprocessing, plan: ImuPlan, samples: np.ndarray) -> np.ndarray:
    """Return the features of one axis."""
    features = []
    for index in plan.statistics:
        name = STATISTICS[index]
        value = min(max(statistic(name, samples.tolist(), plan.unit), _INT32[0]), _INT32[1])
        features.append(_mapped(spec, plan, np.array([value], np.int64), int(name in SHARES)))
    if plan.bands is not None:
        moved = samples.astype(np.int64)
        if plan.remove_mean:
            moved = (moved - int(moved.sum()) // len(moved)).clip(-32768, 32767)
        features.append(plan_features(spec, plan.bands, moved.astype(np.int16))[0])
    return np.concatenate(features)


def statistic(name: str, samples: list[int], unit: int) -> int:
    """Return a statistic with ``FRACTION_BITS`` fractional bits, rounded down, in units of samples; ``energy`` is the
    mean of the squares divided by ``unit``."""
    count, total, squares = len(samples), sum(samples), sum(x * x for x in samples)
    if name == "mean":
        return (total << FRACTION_BITS) // count
    if name == "std":
        variance = ((count * squares - total * total) << FRACTION_BITS) // (count * count)
        return math.isqrt(variance << FRACTION_BITS)
    if name == "rms":
        return math.isqrt(((squares << FRACTION_BITS) // count) << FRACTION_BITS)
    if name == "energy":
        return (squares << FRACTION_BITS) // (count * unit)
    if name in SHARES:
        level = total if name == "mean_crossings" else 0
        above = [x * count >= level for x in samples]
        changes = sum(a != b for a, b in pairwise(above))
        return (changes << FRACTION_BITS) // (count - 1)
    low, high = min(samples), max(samples)
    return {"min": low, "max": high, "peak_to_peak": high - low}[name] << FRACTION_BITS
