"""Run the micro front end in pymicro-features, which microWakeWord and ESPHome use."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.skew.audio_libraries import Expected
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.micro_step import Micro
from arenite.converters.processing.specification.preprocessing import Preprocessing

#: The only settings that pymicro-features has, and the real value of one unit of its integer features.
_STEP, _RATE = Micro(step=160), 16000
_UNIT = 0.0390625


def expected_micro(spec: Preprocessing, plan: MicroPlan, samples: np.ndarray) -> Expected:
    """Return the features [windows, channels] of a recording as pymicro-features computes them, or the reason why it
    cannot."""
    step = next(s for s in spec.steps if isinstance(s, Micro))
    assert isinstance(spec.source, AudioSource)
    if step != _STEP or spec.source.rate != _RATE:
        return "pymicro-features has only step = 160, the defaults, and 16000 samples per second"
    try:
        from pymicro_features import MicroFrontend
    except ImportError:
        return "needs pymicro-features: pip install 'arenite[skew]'"
    recorded = samples.astype(np.int16)[: plan.samples]
    clip = np.concatenate([recorded, np.zeros(plan.samples - len(recorded), np.int16)])
    front_end = MicroFrontend()
    rows = []
    for at in range(0, len(clip) - step.step + 1, step.step):  # it reads one step of samples per call
        features = front_end.process_samples(clip[at : at + step.step].tobytes()).features
        rows += [features] if features else []
    name = f"pymicro-features {version('pymicro-features')}"
    return np.array(rows[: plan.frames]) / _UNIT, name, 0.0
