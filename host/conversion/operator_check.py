"""Check that there is a kernel for every operator, before the steps of a conversion that take minutes."""

from __future__ import annotations

from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.tflite.int4 import int8_weights
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.operator_needs import check_supported

#: The number of samples with which the model is quantized for the check. The scales of the result are not used.
_TRIAL_SAMPLES = 4

#: An error with one of these words may depend on the ranges of the samples. It is ignored here, because only the
#: complete calibration shows whether it occurs.
_DEPENDS_ON_SAMPLES = ("scale", "zero point")


#: The hint for an operator that stays float32 in every integer recipe.
_WITHOUT_KERNEL = (
    "This operator has no integer kernel, so no recipe for boards can convert it. Replace the layer, or end the model"
    " before it and compute the rest in your own code; docs/operators.md lists the operators."
)


def check_operators(flatbuffer: bytes, recipe: Recipe, samples: Dataset) -> None:
    """Raise ``UnsupportedModelError`` if no kernel can run an operator of the float model after quantization with
    ``recipe``. The reasons are an unsupported operator, or a size or stride beyond a kernel's limits.

    The model is quantized with a few of the ``samples``, without the steps that only improve accuracy.
    """
    if recipe.settings.activations == "float":
        return  # only host computers run such a model
    observations = observe(flatbuffer, samples.limited(_TRIAL_SAMPLES))
    trial = quantize(flatbuffer, recipe.without_slow_steps(), observations)
    try:
        check_supported(int8_weights(fold_constants(parse(trial.flatbuffer))[0]))
    except UnsupportedModelError as error:
        if not any(word in error.problem for word in _DEPENDS_ON_SAMPLES):
            raise replace_hint(error, recipe) from error


def replace_hint(error: UnsupportedModelError, recipe: Recipe) -> UnsupportedModelError:
    """Return ``error``. If it is about a layer in float32, its hint is replaced: by one on the recipe if the recipe
    leaves layers in float32, else by one on the operator, which has no integer kernel."""
    if any(rule.settings.get("activations") == "float" for rule in recipe.layers):
        hint = f"The recipe '{recipe.name}' leaves layers in float32: give them integer activations."
        return UnsupportedModelError(error.problem, hint)
    if "has type float32" in error.problem:
        return UnsupportedModelError(error.problem, _WITHOUT_KERNEL)
    return error
