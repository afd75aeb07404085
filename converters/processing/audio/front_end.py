"""Plan and run the sound front end that preprocessing records: log-mel features, or the micro front end."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.audio.micro_plan import MicroPlan, plan_micro
from arenite.converters.processing.audio.micro_reference import preprocess_micro
from arenite.converters.processing.audio.plan import AudioPlan, plan_audio
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.preprocessing import Preprocessing


def is_micro(spec: Preprocessing) -> bool:
    """Return whether ``spec`` records the micro front end."""
    return any(isinstance(step, Micro) for step in spec.steps)


def plan_sound(spec: Preprocessing) -> AudioPlan | MicroPlan:
    """Return the plan for the sound preprocessing ``spec``. Raises ``UsageError`` if its steps do not fit each
    other."""
    return plan_micro(spec) if is_micro(spec) else plan_audio(spec)


def preprocess_sound(spec: Preprocessing, samples: np.ndarray) -> np.ndarray:
    """Convert int16 samples to the model's input [frames, features] with NumPy."""
    return preprocess_micro(spec, samples) if is_micro(spec) else preprocess_audio(spec, samples)
