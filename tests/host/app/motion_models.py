"""Make small models of motion: they record their features or raw windows, their decision and perhaps a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.record import Decision, Gate
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

RATE, WINDOW, HOP = 100, 64, 16
LABELS = ["rest", "shake", "turn"]
STATISTICS = ["mean", "std", "peak_to_peak", "mean_crossings"]
EDGES = [1, 4, 12, 40]
DECISION = Decision(threshold=0.5, release=0.4, smooth="mean", hops=2, hop=HOP)
GATE = Gate(threshold=300.0, release=200.0, block=25, unit="counts", channels=3, hang_blocks=2)


def motion_record(axes: int, is_raw: bool, window: int = WINDOW) -> dict[str, Any]:
    """Return a preprocessing: statistics and bands, or the window itself. Its hop is not that of the decision."""
    return {
        "source": {"kind": "imu", "axes": axes, "rate": RATE, "window": window, "hop": 5, "unit": 8192},
        "steps": []
        if is_raw
        else [{"do": "statistics", "values": STATISTICS}, {"do": "bands", "edges": EDGES, "fft": 64}],
    }


def motion_model(
    path: Path,
    axes: int = 3,
    is_raw: bool = False,
    decision: Decision = DECISION,
    gate: Gate | None = None,
    rate: float = RATE,
    window: int = WINDOW,
    seed: int | None = None,
) -> Prepared:
    """Write a model with random weights as an image, and return it read back. It takes windows of ``window``
    samples."""
    rng = np.random.default_rng(5 + (axes == 1) if seed is None else seed)  # seeds with several events
    size = axes * (window if is_raw else len(STATISTICS) + len(EDGES) - 1)
    b = GraphBuilder(rng)
    x = b.input((1, size), "int8", quant(0.02, 0))
    weights = b.const(rng.integers(-60, 60, (len(LABELS), size)), "int8", quant(0.02))
    biases = b.const([0, 0, 0], "int32", quant(0.02 * 0.02))
    logits = b.tensor((1, len(LABELS)), "int8", quant(0.1, 0))
    b.op("FULLY_CONNECTED", [x, weights, biases], [logits], "FullyConnectedOptions", 4)
    scores = b.tensor((1, len(LABELS)), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [logits], [scores], "SoftmaxOptions", 2, beta=1.0)
    record = motion_record(axes, is_raw, window)
    record["source"]["rate"] = rate
    extra: dict[str, Any] = {"labels": LABELS, "preprocessing": record, "decision": decision.to_json()}
    extra |= {} if gate is None else {"gate": gate.to_json()}
    write_atomic(path, image_bytes(b.build(), None, extra=extra))
    return prepare(path)


def motions(seconds: float, axes: int = 3, seed: int = 5) -> np.ndarray:
    """Return int16 samples [samples, axes] in which rest, shakes and turns alternate."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    phase = (t / 4).astype(int) % 3
    samples = rng.normal(0, 60, (len(t), axes)) + 8000 / np.arange(1, axes + 1)
    for k in range(axes):
        samples[:, k] += np.where(phase == 1, 5000 * np.sin(2 * np.pi * (5 + k) * t), 0)
        samples[:, k] += np.where(phase == 2, 3000 * np.sin(2 * np.pi * 1.5 * t + k), 0)
    return np.clip(samples, -32768, 32767).astype(np.int16)
