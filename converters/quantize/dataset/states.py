"""Add to samples the states that a model has before them.

Ranges must cover the states that occur while a model runs. So calibration runs the samples in order, and the model
keeps its state from one to the next. Later steps use only some of the samples, so each sample carries its states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.tflite.litert.interpreter import LiteRtModel


def with_states(flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return ``samples`` with the states that the float model ``flatbuffer`` has before each of them: real values, one
    array for each of ``state_tensors`` after the inputs. The first sample begins with a fresh state.

    Samples that have states already, and those of a model without states, are returned unchanged. Raises ``ModelError``
    if LiteRT refuses the model.
    """
    model = LiteRtModel(flatbuffer)
    if not model.state_count or not len(samples) or len(samples[0]) > len(model.inputs):
        return [list(sample) for sample in samples]
    extended = []
    for k, sample in enumerate(samples):
        before = model.real_states()
        model.run(sample, fresh=k == 0)
        extended.append([*sample, *before])
    return extended
