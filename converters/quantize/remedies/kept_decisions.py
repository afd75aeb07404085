"""Choose the activations with which a classifier keeps the float model's decisions: int8, or else int16."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.scoring.model_runner import run_outputs


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
    """Return ``quantized`` if its class equals that of the float model ``flatbuffer`` for every sample, otherwise the
    model with int16 activations if that changes fewer classes.

    The class is the first largest value of output 0. ``quantized`` was quantized with ``recipe``, which has int8
    activations.
    """
    expected = _classes(flatbuffer, samples, reference=False)
    changed = int((_classes(quantized.flatbuffer, samples, reference=True) != expected).sum())
    count = f"the {len(samples):,} calibration samples"
    if not changed:
        note = f"int8 keeps the source's class for all of {count}."
        return KeptDecisions(recipe, quantized, note)
    wide = load_recipe("int16x8")
    with_int16 = quantize(flatbuffer, wide, observations)
    still_changed = int((_classes(with_int16.flatbuffer, samples, reference=True) != expected).sum())
    if still_changed >= changed:
        note = (
            f"int8 changes the source's class for {changed:,} of {count}, and int16 activations for {still_changed:,}."
            " The image has int8."
        )
        return KeptDecisions(recipe, quantized, note)
    kept = "none" if not still_changed else f"{still_changed:,}"
    note = (
        f"int8 changes the source's class for {changed:,} of {count}, int16 activations for {kept}: the image has int16"
        " activations (recipe int16x8). --recipe int8 makes it smaller and faster."
    )
    return KeptDecisions(wide, with_int16, note)


def _classes(flatbuffer: bytes, samples: Dataset, *, reference: bool) -> np.ndarray:
    """Return the class of each sample: the position of the first largest value of output 0."""
    outputs = run_outputs(flatbuffer, samples, reference=reference)[0]
    return np.array([int(np.argmax(output)) for output in outputs])
