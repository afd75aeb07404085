"""Hand-written bench results for tests of code that only reads results."""

from __future__ import annotations

import copy
from typing import Any

_BASE_RESULT: dict[str, Any] = {
    "schema": "arenite.bench/1",
    "model": {"path": "models/net.tflite", "sha256": "ab" * 32, "macs": 1000, "macs_after_passes": 1000},
    "build": {
        "image_sha256": "01" * 32,
        "firmware_sha256": "02" * 32,
        "compiler": "GCC: 12.2.1",
        "data_sha256": "03" * 32,
    },
    "board": {"name": "qemu_mps2_an386", "core": "cortex-m4f"},
    "samples": {
        "count": 10,
        "bit_exact": 10,
        "max_abs_diff": 0,
        "accuracy": 0.9,
        "missing": 0,
        "resumed": 0,
        "repeated": 0,
    },
    "inference": {
        "instructions": {"p50": 20000, "p95": 20100, "p99": 20100, "min": 19900, "max": 20100},
        "latency_us": None,
        "cycles": {"p50": 30000, "kind": "estimated", "source": "a table"},
    },
    "init": {"instructions": 80},
    "memory": {
        "arena": 4000,
        "stack": 500,
        "stack_kind": "measured",
        "static": 300,
        "ram_total": 4800,
    },
    "flash": {"weights": 9000, "code": 5000, "total": 14000},
    "layers": [
        {"op": "CONV_2D", "macs": 900, "instructions": 15000, "cycles": 1, "ticks": 15000, "kernel": "ar_a",
         "tier": "dsp", "index": 0, "shape": "1x4x4x8"},
        {"op": "FULLY_CONNECTED", "macs": 100, "instructions": 5000, "cycles": 1, "ticks": 5000, "kernel": "ar_b",
         "tier": "scalar", "index": 1, "shape": "1x5"},
    ],
    "boards": [],
    "energy": None,
}  # fmt: skip

#: A result of ``arenite energy``.
ENERGY_RESULT: dict[str, Any] = {
    "schema": "arenite.energy/1",
    "energy_uj_per_inference": {"median": 100.0, "kind": "measured"},
    "average_power_w": 0.02,
    "peak_power_w": 0.05,
    "sleep_current_a": 2e-6,
    "supply_v": 3.0,
    "duration_ms": {"median": 35.0, "kind": "measured"},
    "board": {"name": "nucleo_l4r5zi"},
}


def result(**changes: Any) -> dict[str, Any]:
    """Return a bench result with changes: the argument ``memory__arena=5000`` changes ``["memory"]["arena"]``."""
    bench_result = copy.deepcopy(_BASE_RESULT)
    for key_path, value in changes.items():
        *path, leaf_key = key_path.split("__")
        inner = bench_result
        for key in path:
            inner = inner[key]
        inner[leaf_key] = value
    return bench_result


def timed(p50: float, p95: float, **changes: Any) -> dict[str, Any]:
    """Return a result of a real board, with latencies in microseconds."""
    latency = {"p50": p50, "p95": p95, "p99": p95, "min": p50, "max": p95}
    return result(
        inference__instructions=None,
        inference__latency_us=latency,
        inference__cycles=None,
        init__instructions=None,
        board__name="nucleo_l4r5zi",
        **changes,
    )
