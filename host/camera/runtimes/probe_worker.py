"""Measure one runtime on one model. This is a separate process, so that a crash of a delegate or a model ends only it.

``python -m arenite.host.camera.runtimes.probe_worker`` reads one JSON object (see ``probe_client``) from standard
input. It writes a JSON line after the warm-up and waits for a line from the parent, so that the parent can read a power
meter first. Then it measures, and writes another JSON line with the result. If the object has "trial", the process only
runs the model on a few pictures, writes one line and ends.
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

#: The number of frames whose outputs are compared between runtimes.
COMPARED_FRAMES = 3


def fill_with_picture(memory: TensorMemory, seed: int) -> None:
    """Fill an input with smooth colors and noise over the range of its type. The picture depends only on ``seed``, so
    it is the same for every runtime."""
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
    """Run the model on ``COMPARED_FRAMES`` pictures, and return copies of all outputs, one run after another."""
    arrays = []
    for seed in range(COMPARED_FRAMES):
        for place, memory in enumerate(runtime.slots[0].inputs):
            fill_with_picture(memory, seed + 10 * place)
        runtime.invoke(0)
        arrays += [memory.array().copy() for memory in runtime.slots[0].outputs]
    return arrays


def invocation_times(runtime: Runtime, seconds: float) -> list[int]:
    """Run the model for at least ``seconds`` and at least 20 times, and return the time of each invocation in ns."""
    times_ns: list[int] = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    while len(times_ns) < 20 or time.perf_counter_ns() < end:
        start = time.perf_counter_ns()
        runtime.invoke(0)
        times_ns.append(time.perf_counter_ns() - start)
    return times_ns


def main() -> None:
    # Text that libraries print must not mix with the lines that the parent reads, so send it to standard error.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    try:
        runtime = open_runtime(
            Path(request["path"]), request["name"], threads=request["threads"], options=request["options"]
        )
        outputs = output_samples(runtime)
        if request.get("trial"):
            _write_line(lines, {"ran": True})
            return
        invocation_times(runtime, request["seconds"] / 5)
    except AreniteError as error:
        _write_line(lines, {"problem": error.problem})
        return
    _write_line(lines, {"warm": True})
    sys.stdin.readline()
    times_ns = invocation_times(runtime, request["seconds"])
    np.savez(request["outputs"], *outputs)
    _write_line(
        lines,
        {
            "invocations": len(times_ns),
            "median_ms": float(np.median(times_ns)) / 1e6,
            "p90_ms": float(np.quantile(times_ns, 0.9)) / 1e6,
            "resident_bytes": runtime.resident_bytes,
            "notes": list(runtime.notes),
        },
    )


def _write_line(lines: Any, record: dict[str, Any]) -> None:
    lines.write(json.dumps(record) + "\n")
    lines.flush()


if __name__ == "__main__":
    main()
    # End without unloading libraries. The result was sent, and a vendor's library may fail while it is unloaded.
    sys.stdout.flush()
    os._exit(0)
