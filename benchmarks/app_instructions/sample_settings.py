"""The settings of applications whose instructions are measured: front ends, gates, rates and hops of many kinds, none
of which is that of a shipped application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.decision.record import Decision, Gate
from arenite.converters.tflite.image import image_bytes
from arenite.host.build.prepare import Prepared, prepare
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant


def model(
    path: Path,
    pre: dict[str, Any],
    decision: Decision,
    size: int,
    classes: int = 3,
    labels: list[str] | None = None,
    gate: Gate | None = None,
) -> Prepared:
    """Write a small model with this preprocessing and ``size`` inputs as an image, and return it read back."""
    rng = np.random.default_rng(16)
    b = GraphBuilder(rng)
    x = b.input((1, size), "int8", quant(0.15, 0))
    w = b.const(rng.integers(-40, 40, (classes, size)), "int8", quant(0.01))
    bi = b.const([0] * classes, "int32", quant(0.15 * 0.01))
    logits = b.tensor((1, classes), "int8", quant(0.1, 0))
    b.op("FULLY_CONNECTED", [x, w, bi], [logits], "FullyConnectedOptions", 4)
    s = b.tensor((1, classes), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [logits], [s], "SoftmaxOptions", 2, beta=1.0)
    extra = {
        "labels": labels or [f"class{k}" for k in range(classes)],
        "preprocessing": pre,
        "decision": decision.to_json(),
    }
    if gate:
        extra["gate"] = gate.to_json()
    path.write_bytes(image_bytes(b.build(), None, extra=extra))
    return prepare(path)


def audio(
    rate=16000,
    rows=10,
    length=480,
    step=160,
    fft=512,
    power=1,
    window="hann",
    bins=20,
    floor=False,
    mfcc=0,
    preemphasis=None,
):
    steps = [] if preemphasis is None else [{"do": "preemphasis", "coefficient": preemphasis}]
    steps += [
        {"do": "frame", "length": length, "step": step},
        {"do": "window", "kind": window},
        {"do": "fft", "length": fft, "power": power},
    ]
    if bins:
        steps.append({"do": "mel", "bins": bins, "low": 50, "high": rate / 2 - 100})
    steps.append({"do": "log", "floor": 1e-6} if floor else {"do": "log", "offset": 1e-6})
    if mfcc:
        steps.append({"do": "mfcc", "coefficients": mfcc})
    return {
        "source": {"kind": "audio", "rate": rate, "samples": length + (rows - 1) * step},
        "steps": steps,
    }, rows * (mfcc or bins or fft // 2 + 1)


def micro(rate=16000, rows=10, length=480, step=160, channels=40, pcan=True, log=True, **kw):
    return {
        "source": {"kind": "audio", "rate": rate, "samples": length + (rows - 1) * step},
        "steps": [
            {
                "do": "micro",
                "length": length,
                "step": step,
                "channels": channels,
                "pcan": pcan,
                "log": log,
                "high": min(7500, rate / 2 - 100),
                **kw,
            },
            {"do": "normalise", "divide": 25.6},
        ],
    }, rows * channels


STATS = ["mean", "std", "rms", "min", "max", "peak_to_peak", "zero_crossings", "mean_crossings", "energy"]


def imu(axes=3, rate=100, window=64, stats=("mean",), edges=None, fft=None, remove_mean=None):
    steps = []
    if stats:
        steps.append({"do": "statistics", "values": list(stats)})
    if edges:
        steps.append({"do": "bands", "edges": list(edges), "fft": fft})
    n = axes * (len(stats) + (len(edges) - 1 if edges else 0)) if steps else axes * window
    return {
        "source": {"kind": "imu", "axes": axes, "rate": rate, "window": window, "hop": 5, "unit": 8192},
        "steps": steps,
    }, n


def chosen_settings() -> dict[str, Any]:
    """Return (preprocessing and its size, decision, sensor, classes, no gate) by name."""
    out: dict[str, Any] = {}

    def put(
        name: str,
        spec: tuple[dict[str, Any], int],
        hop: int,
        sensor: str = "microphone",
        classes: int = 3,
        hops: int = 3,
    ) -> None:
        decision = Decision(threshold=0.99, release=0.5, smooth="mean", hops=hops, hop=hop)
        out[name] = (spec, decision, sensor, classes, None)

    put("a0", audio(), 480)
    put("a1", audio(length=256, fft=256, step=128, bins=8, rows=12), 512)
    put("a2", audio(length=400, fft=512, bins=40, mfcc=13), 800, hops=1)
    put("a3", audio(length=640, fft=1024, step=320, bins=40, mfcc=10, floor=True), 1600)
    put("a4", audio(length=512, fft=512, window="none", bins=30, power=2), 1600)
    put("a5", audio(length=1024, fft=1024, step=512, power=2, bins=128, rows=5), 1536, classes=8)
    put("a6", audio(rate=8000, length=200, fft=256, step=80, bins=24, power=2, mfcc=12), 400)
    put(
        "a7",
        audio(length=400, fft=512, step=160, bins=64, power=1, floor=True, rows=30),
        3200,
        hops=8,
        classes=12,
    )
    put("a8", audio(length=128, fft=128, step=128, bins=0, rows=16), 1280)
    put("m0", micro(), 480)
    put("m1", micro(step=320, rows=20), 1600)
    put("m2", micro(channels=32, pcan=False), 800, classes=5)
    put("m3", micro(log=False, channels=20), 1600)
    put("m4", micro(length=256, step=128, channels=24), 512, classes=8, hops=5)
    put("m5", micro(rate=8000, length=240, step=80, channels=16), 400)
    put("m6", micro(length=1000, step=500, channels=64, rows=6), 2000, classes=2)
    put("m7", micro(length=400, step=160, channels=40, pcan=False, log=False), 1600)
    put("i0", imu(), 16, "imu")
    put(
        "i1",
        imu(axes=6, stats=("mean", "std", "mean_crossings"), window=40, rate=20, edges=(1, 4, 9), fft=64),
        10,
        "imu",
    )
    put("i2", imu(axes=1, stats=("rms", "min", "max", "peak_to_peak"), window=128, rate=200), 32, "imu")
    put("i3", imu(axes=3, stats=(), window=32), 8, "imu", classes=5)
    put(
        "i4",
        imu(axes=3, stats=("zero_crossings", "energy", "std"), window=100, edges=(1, 5, 20, 49), fft=128),
        25,
        "imu",
    )
    put("i5", imu(axes=6, stats=("energy",), window=64, rate=50), 32, "imu")
    put(
        "i6",
        imu(axes=2, stats=("mean",), window=250, rate=400, edges=(2, 10, 50, 150), fft=256),
        100,
        "imu",
        hops=1,
    )
    put("i7", imu(axes=3, stats=("rms", "zero_crossings", "min"), window=50, rate=50), 25, "imu")
    return out


def random_settings() -> dict[str, Any]:
    """Return (preprocessing and its size, hop, sensor, classes, hops of the mean) by name."""
    r = np.random.default_rng(21)
    out = {}

    def pick(*values: Any) -> Any:
        return values[r.integers(len(values))]

    for k in range(14):
        rate = pick(8000, 16000)
        length = int(pick(160, 200, 240, 256, 320, 400, 480, 512, 600, 640, 800, 1000, 1024))
        step = int(pick(80, 100, 128, 160, 200, 256, 320, 333))
        step = min(step, length)
        rows = int(r.integers(3, 16))
        adv = int(r.integers(1, rows + 1))
        kw = {
            "rate": rate,
            "rows": rows,
            "length": length,
            "step": step,
            "channels": int(pick(10, 16, 20, 24, 32, 40, 48)),
            "pcan": bool(r.random() < 0.6),
            "log": bool(r.random() < 0.7),
        }
        out[f"rm{k}"] = (micro(**kw), adv * step, "microphone", int(r.integers(2, 9)), int(r.integers(1, 7)))
    for k in range(18):
        rate = pick(8000, 16000)
        fft = int(pick(128, 256, 512, 512, 1024))
        length = int(pick(fft, fft - fft // 8, fft * 5 // 8, fft * 3 // 4))
        step = int(pick(length, length // 2, length // 4, length * 2 // 3))
        rows = int(r.integers(3, 16))
        adv = int(r.integers(1, rows + 1))
        bins = int(pick(0, 8, 16, 20, 32, 40)) if fft <= 256 else int(pick(8, 16, 20, 32, 40, 64))
        kw = {
            "rate": rate,
            "rows": rows,
            "length": length,
            "step": step,
            "fft": fft,
            "power": int(pick(1, 2)),
            "window": pick("hann", "hann", "none"),
            "bins": bins,
            "floor": bool(r.random() < 0.4),
            "mfcc": int(pick(0, 0, 4, 8)) if bins else 0,
        }
        out[f"ra{k}"] = (audio(**kw), adv * step, "microphone", int(r.integers(2, 9)), int(r.integers(1, 7)))
    for k in range(8):
        fft = int(pick(256, 512, 1024))
        length = int(pick(fft, fft * 5 // 8, fft * 3 // 4))
        step = int(pick(length // 2, length * 2 // 3 // 2 * 2))
        rows = int(r.integers(3, 12))
        adv = int(r.integers(1, rows + 1))
        kw = {
            "rate": pick(8000, 16000),
            "rows": rows,
            "length": length,
            "step": step,
            "fft": fft,
            "power": int(pick(1, 2)),
            "window": pick("hann", "hamming"),
            "bins": int(pick(16, 24, 40)),
            "floor": bool(r.random() < 0.5),
            "mfcc": int(pick(0, 0, 10)),
            "preemphasis": float(pick(0.9, 0.96875)),
        }
        out[f"rp{k}"] = (audio(**kw), adv * step, "microphone", int(r.integers(2, 9)), int(r.integers(1, 7)))
    for k in range(22):
        axes = int(pick(1, 2, 3, 6))
        window = int(pick(20, 32, 40, 50, 64, 100, 128, 200))
        rate = int(pick(10, 25, 50, 100, 200))
        stats = list(r.permutation(STATS)[: int(r.integers(0, 5))])
        stats = [str(s) for s in stats]
        edges = None
        points: int | None = None
        if r.random() < 0.45 or (not stats and r.random() < 0.5):
            points = min(f for f in (64, 128, 256) if f >= window)
            edges = (rate * 0.03, rate * 0.1, rate * 0.2, rate * 0.45)[: int(r.integers(2, 5))]
        hop = max(1, window // int(pick(1, 2, 4, 8)))
        out[f"ri{k}"] = (
            imu(axes=axes, rate=rate, window=window, stats=tuple(stats), edges=edges, fft=points),
            hop,
            "imu",
            int(r.integers(2, 9)),
            int(r.integers(1, 7)),
        )
    return out


def gate_settings() -> dict[str, Any]:
    """Return (preprocessing and its size, hop, sensor, samples of a block, channels of the gate) by name."""
    return {
        "gm0": (micro(), 480, "microphone", 160, 1),
        "gm1": (micro(step=320, rows=12, channels=20, log=False), 1600, "microphone", 400, 1),
        "gm2": (micro(rate=8000, length=240, step=80, channels=16, pcan=False), 800, "microphone", 37, 1),
        "gi0": (
            imu(
                axes=6,
                stats=("mean", "std", "mean_crossings"),
                window=40,
                rate=10,
                edges=(0.2, 1, 2, 3.5, 5),
                fft=64,
            ),
            5,
            "imu",
            5,
            6,
        ),
        "gi1": (imu(axes=3, stats=("rms",), window=64, rate=100), 16, "imu", 25, 3),
        "gi2": (imu(axes=1, stats=("mean", "min"), window=100, rate=200), 50, "imu", 8, 1),
        "gi3": (
            imu(axes=3, stats=("energy", "max"), window=50, rate=50, edges=(1, 5, 12), fft=64),
            25,
            "imu",
            10,
            3,
        ),
    }
