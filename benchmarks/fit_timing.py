"""Fit the timing estimates of ``arenite fit`` to measured layers: ``python -m benchmarks.fit_timing``.

Reads the results that ``python -m benchmarks.table`` left in out/bench/ and writes profiles/timing.json: per core and
kernel the non-negative least-squares solution of instructions = per_mac * MACs + per_output * outputs, each layer
weighted by the inverse of its count so that small layers matter as much as large ones.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict

import numpy as np

from arenite.converters.atomic import write_atomic
from arenite.firmware.sizes.timing import PATH
from benchmarks.table import OUT


def main() -> int:
    layers: dict[str, dict[str, list[tuple[float, float, float]]]] = defaultdict(lambda: defaultdict(list))
    files = sorted(OUT.glob("*-balanced.json"))
    for file in files:
        result = json.loads(file.read_text())
        for layer in result["layers"]:
            if layer["instructions"]:
                outputs = sum(math.prod(map(int, s.split("x"))) for s in layer["shape"].split(", ") if s)
                row = (layer["macs"], outputs, layer["instructions"])
                layers[result["board"]["core"]][layer["kernel"]].append(row)
    if not layers:
        print(f"No results in {OUT}: run `python -m benchmarks.table` first.", file=sys.stderr)
        return 2
    cores = {
        core: {kernel: fit(rows) for kernel, rows in sorted(kernels.items())}
        for core, kernels in sorted(layers.items())
    }
    source = f"fitted to {len(files)} runs on emulated boards, instructions counted by QEMU"
    write_atomic(PATH, json.dumps({"source": source, "cores": cores}, indent=1) + "\n")
    return 0


def fit(rows: list[tuple[float, float, float]]) -> list[float]:
    """[per MAC, per output element], neither negative."""
    a = np.array([[m, o] for m, o, _ in rows], float)
    y = np.array([i for _, _, i in rows], float)
    a, y = a / y[:, None], np.ones(len(rows))
    if not a[:, 0].any():
        return [0.0, round(float(1 / a[:, 1].mean()), 3)]
    both, *_ = np.linalg.lstsq(a, y, rcond=None)
    if (both < 0).any() or len(rows) < 2:
        # One of the two explains nothing more: keep the larger cause alone.
        return [round(float(1 / a[:, 0].mean()), 3), 0.0]
    return [round(float(v), 3) for v in both]


if __name__ == "__main__":
    sys.exit(main())
