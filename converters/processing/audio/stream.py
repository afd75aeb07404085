"""Features of an endless recording with NumPy: the definition of what the C code in ``audio_stream.c`` computes.

Frame k has the samples from ``k * step`` on, counted from the first sample after a restart. A window has the rows of
``frames`` successive frames. It equals what ``preprocess_audio`` returns for a recording that begins at the window's
first frame, byte for byte.

With pre-emphasis, the sample before that frame counts too, and the micro front end estimates the noise from all frames
since the restart. Their windows are the newest rows of the features of a recording that begins at the restart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.micro_reference import micro_rows
from arenite.converters.processing.audio.plan import PAD_NONE, PEAK_NONE, AudioPlan
from arenite.converters.processing.audio.reference import plan_features
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError


class Window(NamedTuple):
    """``position``: the number of samples up to the end of the window's last frame, so its newest sample has the index
    ``position - 1``. ``features``: the model's input [frames, features]."""

    position: int
    features: np.ndarray


def stream_problem(plan: AudioPlan | MicroPlan) -> tuple[str, str] | None:
    """Return why the features of ``plan`` cannot be computed frame by frame, and what to change; None if they can."""
    if isinstance(plan, MicroPlan):
        return None
    if plan.peak != PEAK_NONE:
        return (
            "The step 'peak' divides by the largest sample of a whole recording, which a stream does not have.",
            "Train without 'peak', with samples in [-1, 1), and remove the step.",
        )
    if plan.centre != PAD_NONE:
        return (
            "The step 'frame' pads both ends of a recording (centre), and a stream has no ends.",
            'Train with frames that are not centred, and set centre = "none".',
        )
    if plan.preemphasis and plan.step > plan.length:
        return (
            f"Frames of {plan.length} samples every {plan.step} samples leave out the sample before a frame, which the "
            "step 'preemphasis' needs.",
            f"Train with a step of at most {plan.length} samples.",
        )
    return None


def check_stream(plan: AudioPlan | MicroPlan, advance: int = 1) -> None:
    """Raise ``UsageError`` if the features of ``plan`` cannot be computed frame by frame, or if windows cannot be
    ``advance`` rows apart."""
    problem = stream_problem(plan)
    if problem is not None:
        raise UsageError(*problem)
    if not 1 <= advance <= plan.frames:
        raise UsageError(
            f"The windows advance by {advance} rows, but a window has {plan.frames}.",
            f"Use 1 to {plan.frames} rows.",
        )


class AudioStream:
    """Computes the windows of an endless recording. ``advance`` is the number of new rows from window to window."""

    def __init__(self, spec: Preprocessing, advance: int = 1) -> None:
        """Begin with sample 0. Raises ``UsageError`` for steps that need a whole recording."""
        self.spec, self.plan, self.advance = spec, plan_sound(spec), advance
        check_stream(self.plan, advance)
        self.restart()

    def restart(self, position: int = 0) -> None:
        """Forget all samples and rows. ``position`` is the index of the next sample."""
        self.position = position  # of the next sample
        self._begin = position  # of the next frame
        self._held = np.zeros(0, np.int16)  # the newest samples, from the next frame on
        self._rows = np.zeros((0, self.plan.features), self.plan.dtype)
        self._missing = self.plan.frames
        self._noise = np.zeros(self.plan.features, np.int64)
        self._before = 0  # the sample before the next frame

    def feed(self, samples: np.ndarray) -> list[Window]:
        """Take int16 samples, any number of them, and return the windows that they complete."""
        plan = self.plan
        self._hold(samples.astype(np.int16).reshape(-1))
        count = max((len(self._held) - plan.length) // plan.step + 1, 0)
        if count == 0:
            return []
        rows = np.concatenate([self._rows, self._new_rows(count)])
        windows = []
        for end in range(len(rows) - count + 1, len(rows) + 1):
            self._missing -= 1
            if self._missing == 0:
                self._missing = self.advance
                windows.append(Window(self._begin + plan.length, rows[end - plan.frames : end]))
            self._begin += plan.step
        self._rows = rows[max(len(rows) - plan.frames, 0) :]
        return windows

    def _new_rows(self, count: int) -> np.ndarray:
        """Return the rows of the first ``count`` frames of the held samples."""
        if isinstance(self.plan, MicroPlan):
            micro = replace(self.plan, samples=len(self._held), frames=count)
            rows, self._noise = micro_rows(self.spec, micro, self._held, self._noise)
            return rows
        frames = replace(self.plan, samples=len(self._held), frames=count)
        rows = plan_features(self.spec, frames, self._held, self._before)
        if self.plan.preemphasis:
            self._before = int(self._held[count * self.plan.step - 1])
        return rows

    def _hold(self, samples: np.ndarray) -> None:
        """Add samples, and drop those before the next frame."""
        held = np.concatenate([self._held, samples])
        first = self.position - len(self._held)
        self._held = held[min(max(self._begin - first, 0), len(held)) :]
        self.position += len(samples)
