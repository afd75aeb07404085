"""What a training of an application's model needs and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.processing.specification.preprocessing import Preprocessing


@dataclass(frozen=True)
class FloatModel:
    """A float model with its inputs for the calibration, float32 [samples, values]."""

    model: Model
    calibration: np.ndarray


@dataclass(frozen=True)
class ApplicationRecipe:
    """How to train the model of an application with NumPy alone.

    ``train`` takes the recorded preprocessing, and whether to show the progress. ``example`` returns a recording that
    the model was not trained with, int16 [samples] or [samples, channels]; its argument is whether to show a download.
    ``key`` changes with the code of the training and with its data. Both functions raise ``ToolError`` if the data
    cannot be downloaded.
    """

    train: Callable[[Preprocessing, bool], FloatModel]
    example: Callable[[bool], np.ndarray]
    labels: tuple[str, ...]
    key: bytes
