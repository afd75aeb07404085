"""A float model that computes the same outputs as another one, and loses less when it is quantized to int8."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.calibration.trained_ranges import trained_ranges
from arenite.converters.quantize.weights.bottleneck_rotation import rotate_bottlenecks
from arenite.converters.quantize.weights.channel_balance import balance_channels
from arenite.converters.quantize.weights.logit_shift import shift_logits
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer


@dataclass(frozen=True)
class BalancedModel:
    """The float model and its observations. Tensors and operators have the indices that they have in the original."""

    flatbuffer: bytes
    observations: Observations


@dataclass(frozen=True)
class _StoredSamples:
    """The samples of ``Observations.inputs`` in the form that ``observe`` reads."""

    inputs: Sequence[Sequence[np.ndarray]]


#: A cache of the last result, because a search uses the same model in many recipes.
_last: dict[tuple[str, str], BalancedModel] = {}


def balanced_model(flatbuffer: bytes, observations: Observations) -> BalancedModel:
    """Return the float model ``flatbuffer`` with balanced channels, rotated bottlenecks and shifted
    logits.

    The result has the arguments themselves if nothing changes, if the observations have no stored samples, or if
    training chose ranges, which would not fit the new values.
    """
    key = hashlib.sha256(flatbuffer).hexdigest(), observations.data_sha256
    if key not in _last:
        _last.clear()
        _last[key] = _balanced(flatbuffer, observations)
    return _last[key]


def _balanced(flatbuffer: bytes, observations: Observations) -> BalancedModel:
    model = parse(flatbuffer)
    if not observations.inputs or trained_ranges(model):
        return BalancedModel(flatbuffer, observations)
    shifted = shift_logits(model, flatbuffer, observations.inputs)
    rotated = rotate_bottlenecks(shifted, flatbuffer, observations.inputs)
    balanced = balance_channels(rotated.model, observations, rotated.rotated)
    if balanced is model:
        return BalancedModel(flatbuffer, observations)
    changed = to_flatbuffer(replace(balanced, repairs=()))
    new = observe(changed, _StoredSamples(observations.inputs))
    return BalancedModel(
        changed, replace(new, samples=observations.samples, data_sha256=observations.data_sha256)
    )
