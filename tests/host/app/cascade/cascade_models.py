"""Make pairs of a small and a large model that listen, or feel motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.converters.decision.record import Gate
from arenite.host.build.prepare import Prepared
from tests.host.app.motion_models import DECISION as MOTION_DECISION
from tests.host.app.motion_models import GATE as MOTION_GATE
from tests.host.app.motion_models import WINDOW, motion_model
from tests.host.app.sound_models import DECISION, ROWS, SOUND, sound_model

LARGE_ROWS = 30
GATE = Gate(threshold=-40.0, release=-42.0, block=1600, hang_blocks=1)
#: The small model wakes the large one at noise alone.
SMALL_DECISION = replace(DECISION, threshold=0.8, ignore=("quiet", 'a "tone"'))


def sound_pair(
    folder: Path,
    is_shared: bool = False,
    gate: Gate | None = None,
    sound: dict[str, Any] = SOUND,
    every: int = 1,
    rows: tuple[int, int] = (ROWS, LARGE_ROWS),
    small_name: str = "ear",
    large_name: str = "word",
    remembers: bool = False,
) -> tuple[Prepared, Prepared]:
    """Return a small and a large model of sound. With ``is_shared``, their features are equal; otherwise they take
    ``rows`` rows. The large model runs in every ``every``-th window of the small one; it keeps a state
    if it ``remembers``."""
    first, second = (rows[0], rows[0]) if is_shared else rows
    small = sound_model(
        folder / f"{small_name}.tflite", SMALL_DECISION, sound, gate=gate, rows=first, scale=0.15
    )
    decision = replace(DECISION, hop=every * DECISION.hop)
    large = sound_model(
        folder / f"{large_name}.tflite", decision, sound, rows=second, seed=4, remembers=remembers
    )
    return small, large


def motion_pair(
    folder: Path,
    is_shared: bool = False,
    has_gate: bool = False,
    every: int = 1,
    small_name: str = "still",
    large_name: str = "gesture",
) -> tuple[Prepared, Prepared]:
    """Return a small and a large model of motion. With ``is_shared``, their features are equal; otherwise the windows
    of the large one are longer."""
    small = motion_model(
        folder / f"{small_name}.tflite",
        decision=replace(MOTION_DECISION, ignore=("rest", "turn")),
        gate=MOTION_GATE if has_gate else None,
        window=WINDOW if is_shared else WINDOW - 20,
    )
    decision = replace(MOTION_DECISION, hop=every * MOTION_DECISION.hop)
    large = motion_model(folder / f"{large_name}.tflite", decision=decision, seed=7)
    return small, large
