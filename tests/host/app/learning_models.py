"""Make a small model whose outputs an application learns."""

from __future__ import annotations

from pathlib import Path

from arenite.converters.anomaly.head import AnomalyHead
from arenite.host.build.prepare import Prepared
from tests.host.app.sound_models import STEP, sound_model


def learning_model(folder: Path) -> Prepared:
    """Return a model of sound with an anomaly head and no decision."""
    head = AnomalyHead(warmup=64, memory=256, hop=4 * STEP)
    return sound_model(folder / "fan.tflite", None, softmax=False, anomaly=head)
