"""Choose the activations with which a classifier keeps the float model's decisions: int8, or else int16."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.scoring.model_runner import run_outputs

#: int8 is kept if an error this many times as large would still change no class. The samples in use come closer to the
#: borders between classes than the calibration samples, which the source was usually trained with.
_SAFETY = 16


@dataclass(frozen=True)
class KeptDecisions:
    """The chosen recipe, the model quantized with it, and a sentence with the choice and its reason."""

    recipe: Recipe
    quantized: QuantizedModel
    note: str


def keep_decisions(
    flatbuffer: bytes,
    recipe: Recipe,
    quantized: QuantizedModel,
    observations: Observations,
    samples: Dataset,
) -> KeptDecisions:
    """Return ``quantized`` if its class equals that of the float model ``flatbuffer`` for every sample, by a large
    margin; otherwise the model with int16 activations, if that keeps more classes or has smaller errors.

    The class is the first largest value of output 0. ``quantized`` was quantized with ``recipe``, which has int8
    activations.
    """
    expected = _outputs(flatbuffer, samples, reference=False)
    int8 = _compare(expected, _outputs(quantized.flatbuffer, samples, reference=True))
    count = f"the {len(samples):,} calibration samples"
    if not int8.changed and int8.error * _SAFETY <= int8.margin:
        note = f"int8 keeps the source's class for all of {count}."
        return KeptDecisions(recipe, quantized, note)
    wide = load_recipe("int16x8")
    with_int16 = quantize(flatbuffer, wide, observations)
    int16 = _compare(expected, _outputs(with_int16.flatbuffer, samples, reference=True))
    if (int16.changed, int16.error) >= (int8.changed, int8.error):
        note = (
            f"int8 changes the source's class for {int8.changed:,} of {count}, and int16 activations for"
            f" {int16.changed:,}. The image has int8."
        )
        return KeptDecisions(recipe, quantized, note)
    choice = "the image has int16 activations (recipe int16x8). --recipe int8 makes it smaller and faster."
    if not int8.changed:
        note = (
            f"int8 keeps the source's class for all of {count}, but with errors up to {int8.error:.2g}, where the best"
            f" two classes differ by {int8.margin:.2g} or more. Other samples can be closer, so {choice}"
        )
        return KeptDecisions(wide, with_int16, note)
    kept = "none" if not int16.changed else f"{int16.changed:,}"
    note = f"int8 changes the source's class for {int8.changed:,} of {count}, int16 activations for {kept}: {choice}"
    return KeptDecisions(wide, with_int16, note)


@dataclass(frozen=True)
class _Comparison:
    """``changed`` is the number of samples whose class differs. ``margin`` is the smallest difference between the best
    two classes of the float model, and ``error`` the largest error of a difference between its best class and another
    class."""

    changed: int
    margin: float
    error: float


def _compare(expected: np.ndarray, actual: np.ndarray) -> _Comparison:
    """Compare outputs, [samples][classes]."""
    rows, best = np.arange(len(expected)), expected.argmax(axis=1)
    changed = int((actual.argmax(axis=1) != best).sum())
    ahead = expected[rows, best][:, None] - expected
    error = float(np.abs(actual[rows, best][:, None] - actual - ahead).max())
    ahead[rows, best] = np.inf
    return _Comparison(changed, float(ahead.min()), error)


def _outputs(flatbuffer: bytes, samples: Dataset, *, reference: bool) -> np.ndarray:
    """Return output 0 of each sample as float64, [samples][classes]."""
    outputs = run_outputs(flatbuffer, samples, reference=reference)[0]
    return np.array([np.ravel(output) for output in outputs], np.float64)
