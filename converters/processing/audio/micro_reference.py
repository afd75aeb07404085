"""The micro front end with NumPy and integers. The C code gives the same bytes, and so does the original code.

The noise estimate of a channel depends on all earlier windows, so a recording begins with a noise estimate of 0.
"""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.signal.channels import (
    controlled,
    corrected,
    logarithms,
    reduce_noise,
    rounded_root,
)
from arenite.converters.graph.signal.fft16 import real_fft
from arenite.converters.processing.audio.micro_plan import MicroPlan, plan_micro
from arenite.converters.processing.audio.micro_tables import WINDOW_BITS, Bank
from arenite.converters.processing.specification import input_values
from arenite.converters.processing.specification.preprocessing import Preprocessing

_MAX_FEATURE = 65535


def preprocess_micro(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Convert int16 samples to the model's input [windows, channels]."""
    plan = plan_micro(spec)
    return micro_rows(spec, plan, samples, np.zeros(plan.features, np.int64))[0]


def micro_rows(
    spec: Preprocessing, plan: MicroPlan, samples: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the model's input [windows, channels], and the new estimate of the noise. ``noise`` is the
    estimate before the first window: int64 [channels]."""
    features, noise = _features(plan, samples, noise)
    values = features << input_values.FRACTION_BITS
    return input_values.apply_affine(spec, plan.affine, values[..., np.newaxis])[..., 0], noise


def micro_features(plan: MicroPlan, samples: np.ndarray) -> np.ndarray:
    """Return the features of a recording, whole numbers from 0 to 65535: int64 [windows, channels]. A short recording
    is padded with zeros, a long one is cut."""
    return _features(plan, samples, np.zeros(plan.features, np.int64))[0]


def _features(plan: MicroPlan, samples: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    recorded = samples.astype(np.int64)[: plan.samples]
    clip = np.concatenate([recorded, np.zeros(plan.samples - len(recorded), np.int64)])
    at = np.arange(plan.frames)[:, np.newaxis] * plan.step + np.arange(plan.length)
    windowed = (clip[at] * plan.window) >> WINDOW_BITS
    shift = scale_shift(windowed)
    padded = np.zeros((plan.frames, plan.fft), np.int64)
    # A sample of -32768 can lose its upper bits here.
    padded[:, : plan.length] = (windowed << shift[:, np.newaxis]).astype(np.int16)
    re, im = real_fft(padded, plan.wave)
    sums = filtered(plan.bank, re * re + im * im)
    signal = np.array([[rounded_root(int(s)) for s in row] for row in sums]) >> shift[:, np.newaxis]
    rows = []
    for row in signal:
        row, noise = reduce_noise(plan.noise, row, noise)
        if plan.gains is not None:
            row = controlled(row, noise, plan.gains, plan.ratio_shift)
        if plan.logs is not None:
            row = logarithms(corrected(row, plan.correction), plan.logs, 1 << plan.log_shift)
        rows.append(np.minimum(row, _MAX_FEATURE))
    return np.array(rows), noise


def scale_shift(windowed: np.ndarray) -> np.ndarray:
    """Return the shift that makes the largest sample of each window [windows, samples] a number of 15 bits. Samples of
    -32768 do not count."""
    size = np.abs(windowed)
    top = np.where(size > 32767, 0, size).max(axis=1)
    return np.array([15 - int(t).bit_length() for t in top])


def filtered(bank: Bank, energy: np.ndarray) -> np.ndarray:
    """Return the sums of weighted energies: int64 [windows, channels] for the energies [windows, length / 2 + 1]."""
    used = energy[:, bank.first : bank.last]
    ends = np.cumsum(bank.count.astype(np.int64))
    starts = ends - bank.count
    own, rest = (
        np.stack([(used * w)[:, a:b].sum(axis=1) for a, b in zip(starts, ends, strict=True)], axis=1)
        for w in (bank.weights.astype(np.int64), bank.rests.astype(np.int64))
    )
    return np.asarray(own[:, 1:] + rest[:, :-1])
