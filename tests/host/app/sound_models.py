"""Make a small model that listens: it records its features and its decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.decision.record import Decision
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

RATE, STEP, LENGTH, ROWS, BINS = 16000, 160, 256, 12, 8
LABELS = ["hiss", 'a "tone"', "quiet"]
SOUND: dict[str, Any] = {
    "source": {"kind": "audio", "rate": RATE, "samples": LENGTH + (ROWS - 1) * STEP},
    "steps": [
        {"do": "frame", "length": LENGTH, "step": STEP},
        {"do": "window"},
        {"do": "fft", "length": LENGTH},
        {"do": "mel", "bins": BINS, "low": 100, "high": 7000},
        {"do": "log", "offset": 1e-6},
    ],
}
#: The same windows with the micro front end.
MICRO = SOUND | {
    "steps": [
        {"do": "micro", "length": LENGTH, "step": STEP, "channels": BINS},
        {"do": "normalise", "divide": 25.6},
    ]
}
DECISION = Decision(threshold=0.6, release=0.4, smooth="mean", hops=2, hop=4 * STEP)


def sound_model(
    path: Path,
    decision: Decision | None = DECISION,
    sound: dict[str, Any] | None = SOUND,
    labels: Sequence[str] = LABELS,
    softmax: bool = True,
    anomaly: AnomalyHead | None = None,
) -> Prepared:
    """Write a model with random weights as an image, and return it read back. ``None`` leaves a record out. Without
    ``softmax``, the scores are logits."""
    rng = np.random.default_rng(16)
    b = GraphBuilder(rng)
    x = b.input((1, ROWS * BINS), "int8", quant(0.15, 60))
    weights = b.const(rng.integers(-40, 40, (len(LABELS), ROWS * BINS)), "int8", quant(0.01))
    biases = b.const([300, -200, 0], "int32", quant(0.15 * 0.01))
    logits = b.tensor((1, len(LABELS)), "int8", quant(0.1, 0))
    b.op("FULLY_CONNECTED", [x, weights, biases], [logits], "FullyConnectedOptions", 4)
    if softmax:
        scores = b.tensor((1, len(LABELS)), "int8", quant(1 / 256, -128))
        b.op("SOFTMAX", [logits], [scores], "SoftmaxOptions", 2, beta=1.0)
    extra: dict[str, Any] = {"labels": list(labels)}
    extra |= {} if sound is None else {"preprocessing": sound}
    extra |= {} if decision is None else {"decision": decision.to_json()}
    extra |= {} if anomaly is None else {"anomaly": anomaly.to_json()}
    write_atomic(path, image_bytes(b.build(), None, extra=extra))
    return prepare(path)


def sounds(seconds: float, seed: int = 3) -> np.ndarray:
    """Return int16 samples in which noise, tones and quiet alternate."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    noise = rng.normal(0, 1, len(t)) * np.where(np.sin(2 * np.pi * t / 0.7) > 0.2, 3000, 30)
    tone = 6000 * np.sin(2 * np.pi * (500 + 900 * np.sin(t)) * t) * (np.sin(2 * np.pi * t / 1.1) > 0)
    return np.clip(noise + tone, -32768, 32767).astype(np.int16)
