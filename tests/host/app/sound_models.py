"""Make a small model that listens: it records its features and its decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.decision.record import Decision, Gate
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.cases.variables import call_once
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
    gate: Gate | None = None,
    rows: int = ROWS,
    seed: int = 16,
    scale: float = 0.15,
    remembers: bool = False,
) -> Prepared:
    """Write a model with random weights as an image, and return it read back. ``None`` leaves a record out. Without
    ``softmax``, the scores are logits. The model takes ``rows`` rows of features, quantized with ``scale``. If
    it ``remembers``, the logits of the inference before are added to those of an inference."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder(rng)
    x = b.input((1, rows * BINS), "int8", quant(scale, 60))
    weights = b.const(rng.integers(-40, 40, (len(LABELS), rows * BINS)), "int8", quant(0.01 * ROWS / rows))
    biases = b.const([300, -200, 0], "int32", quant(scale * 0.01 * ROWS / rows))
    logits = b.tensor((1, len(LABELS)), "int8", quant(0.1, 0))
    b.op("FULLY_CONNECTED", [x, weights, biases], [logits], "FullyConnectedOptions", 4)
    logits = _with_memory(b, logits) if remembers else logits
    if softmax:
        scores = b.tensor((1, len(LABELS)), "int8", quant(1 / 256, -128))
        b.op("SOFTMAX", [logits], [scores], "SoftmaxOptions", 2, beta=1.0)
    extra: dict[str, Any] = {"labels": list(labels)}
    extra |= {} if sound is None else {"preprocessing": sound_of(sound, rows)}
    extra |= {} if decision is None else {"decision": decision.to_json()}
    extra |= {} if anomaly is None else {"anomaly": anomaly.to_json()}
    extra |= {} if gate is None else {"gate": gate.to_json()}
    write_atomic(path, image_bytes(b.build(), None, extra=extra))
    return prepare(path)


def _with_memory(b: GraphBuilder, logits: int) -> int:
    """Append the sum of ``logits`` and those of the inference before, and return its tensor."""
    call_once(b, "before", b[logits])
    handle = b.tensor((), "resource")
    b.op("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", shared_name="before")
    before, both = (b.tensor(b[logits].shape, "int8", b[logits].quant) for _ in range(2))
    b.op("READ_VARIABLE", [handle], [before], "ReadVariableOptions")
    b.op("ADD", [before, logits], [both], "AddOptions", 2)
    b.op("ASSIGN_VARIABLE", [handle, logits], [], "AssignVariableOptions")
    return both


def sound_of(sound: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return the preprocessing ``sound`` for windows of ``rows`` rows."""
    return sound | {"source": sound["source"] | {"samples": LENGTH + (rows - 1) * STEP}}


def sounds(seconds: float, seed: int = 3) -> np.ndarray:
    """Return int16 samples in which noise, tones and quiet alternate."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    noise = rng.normal(0, 1, len(t)) * np.where(np.sin(2 * np.pi * t / 0.7) > 0.2, 3000, 30)
    tone = 6000 * np.sin(2 * np.pi * (500 + 900 * np.sin(t)) * t) * (np.sin(2 * np.pi * t / 1.1) > 0)
    return np.clip(noise + tone, -32768, 32767).astype(np.int16)
