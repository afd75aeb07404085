"""Measure one runtime on one model in a process of its own, so that a delegate that crashes ends only this process.

``python -m arenite.host.camera.runtimes.probe_worker`` reads one JSON object from standard input and writes one JSON
line when it is warm and one when it is done. Between the two it waits for a line, so that the parent can read a meter.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import AreniteError
from arenite.host.camera.runtimes.base import Runtime, TensorMemory
from arenite.host.camera.runtimes.factory import open_runtime

#: Frames whose outputs are compared between runtimes.
COMPARED_FRAMES = 3


def fill_with_picture(memory: TensorMemory, seed: int) -> None:
    """Fill an input with the same picture for every runtime: smooth colours and noise over the range of its type."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(memory.shape, dtype=np.int64))
    waves = 0.5 + 0.35 * np.sin(np.linspace(seed, seed + 40.0, count))
    values = np.clip(waves + rng.normal(0, 0.1, count), 0, 1).reshape(memory.shape)
    dtype = np.dtype(memory.dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # A wide integer is an index or a count, for which only small values are likely to be valid.
        low, high = (limits.min, limits.max) if dtype.itemsize == 1 else (0, 1)
        values = np.rint(low + values * (high - low))
    elif dtype.kind == "b":
        values = (values > 0.5).astype(np.float64)
    memory.array()[...] = values.astype(dtype)


def output_samples(runtime: Runtime) -> list[np.ndarray]:
    """Return copies of the outputs for ``COMPARED_FRAMES`` pictures."""
    arrays = []
    for seed in range(COMPARED_FRAMES):
        for place, memory in enumerate(runtime.slots[0].inputs):
            fill_with_picture(memory, seed + 10 * place)
        runtime.invoke(0)
        arrays += [memory.array().copy() for memory in runtime.slots[0].outputs]
    return arrays


def invocation_times(runtime: Runtime, seconds: float) -> list[int]:
    """Return the time of each invocation in ns, for at least ``seconds`` and 20 invocations."""
    taken: list[int] = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    while len(taken) < 20 or time.perf_counter_ns() < end:
        start = time.perf_counter_ns()
        runtime.invoke(0)
        taken.append(time.perf_counter_ns() - start)
    return taken


def main() -> None:
    # Output of libraries must not mix with the lines that the parent reads.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.readline())
    try:
        runtime = open_runtime(
            Path(asked["path"]), asked["name"], threads=asked["threads"], options=asked["options"]
        )
        outputs = output_samples(runtime)
        invocation_times(runtime, asked["seconds"] / 5)
    except AreniteError as error:
        _write_line(lines, {"problem": error.problem})
        return
    _write_line(lines, {"warm": True})
    sys.stdin.readline()
    taken = invocation_times(runtime, asked["seconds"])
    np.savez(asked["outputs"], *outputs)
    _write_line(
        lines,
        {
            "invocations": len(taken),
            "median_ms": float(np.median(taken)) / 1e6,
            "p90_ms": float(np.quantile(taken, 0.9)) / 1e6,
            "resident_bytes": runtime.resident_bytes,
            "notes": list(runtime.notes),
        },
    )


def _write_line(lines: Any, what: dict[str, Any]) -> None:
    lines.write(json.dumps(what) + "\n")
    lines.flush()


if __name__ == "__main__":
    main()
    # Ends without unloading: a vendor's library that fails then must not spoil the answer that was given.
    sys.stdout.flush()
    os._exit(0)
