"""Fit the timing estimates of ``arenite fit`` to measured layers:
``python -m benchmarks.estimates.fit_timing [FILE.json ...]``.

This program reads the results that ``python -m benchmarks.table`` wrote to out/bench/, for all boards and optimization
goals. It writes profiles/timing.json, which has for each core and kernel (separately for builds that are optimized for
size) the non-negative least-squares solution of

    instructions = per_mac * MACs + per_output * outputs + per_call.

The error of each layer is divided by its count, so that small layers have as much influence as large layers. The
program prints the error of the estimate for complete inferences.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.files import write_atomic
from arenite.firmware.sizes.timing import PATH, KernelCost, key_of
from benchmarks.table.__main__ import OUT

#: One measured layer: its MACs, output elements and instructions.
Row = tuple[float, float, float]


#: The sets of regressors to try, as column numbers: 0 is MACs, 1 is outputs, 2 is calls.
_REGRESSORS = ([0], [1], [0, 1], [0, 2], [1, 2], [0, 1, 2])


def main(argv: list[str] | None = None, path: Path = PATH) -> int:
    paths = [Path(name) for name in (sys.argv[1:] if argv is None else argv)]
    results = list(read(paths or sorted(OUT.glob("*.json"))))
    if not results:
        print(f"No results in {OUT}: run `python -m benchmarks.table` first.", file=sys.stderr)
        return 2
    cores = fit_all(results)
    errors = [abs(estimate(r, cores) / r["inference"]["instructions"]["p50"] - 1) for r in results]
    off = f"median {np.median(errors):.1%}, largest {max(errors):.1%}"
    source = f"fitted to {len(results)} runs on emulated boards, instructions counted by QEMU; whole inferences off by"
    stored = {core: {kernel: list(cost) for kernel, cost in rows.items()} for core, rows in cores.items()}
    write_atomic(path, json.dumps({"source": f"{source} {off}", "cores": stored}, indent=1) + "\n")
    print(f"{len(results)} runs, {sum(map(len, cores.values()))} kernels and cores; off by {off}")
    return 0


def read(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the ``arenite.bench/1`` objects in ``files`` that have instruction counts. A run that is in several files
    is returned once."""
    results = {}
    for file in files:
        result = json.loads(file.read_text())
        if result.get("schema") != "arenite.bench/1" or result["inference"]["instructions"] is None:
            continue
        key = json.dumps(
            [result["model"], result["board"], result["optimise"], result["layers"]], sort_keys=True
        )
        results[key] = result
    return list(results.values())


def rows_of(result: dict[str, Any]) -> list[tuple[str, float, float, float]]:
    """Return (key of the kernel, MACs, output elements, instructions) of each counted layer."""
    rows: list[tuple[str, float, float, float]] = []
    for layer in result["layers"]:
        if layer["kernel"] is not None and layer["instructions"]:
            shapes = [s for s in layer["shape"].split(", ") if s]
            outputs = sum(math.prod(map(int, s.split("x"))) for s in shapes)
            rows.append(
                (key_of(layer["kernel"], result["optimise"]), layer["macs"], outputs, layer["instructions"])
            )
    return rows


def fit_all(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, KernelCost]]:
    """Return the fitted costs of each kernel, by core and kernel, sorted by name."""
    layers: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for kernel, *row in rows_of(result):
            layers[result["board"]["core"]][kernel].append((row[0], row[1], row[2]))
    return {
        core: {kernel: fit(rows) for kernel, rows in sorted(kernels.items())}
        for core, kernels in sorted(layers.items())
    }


def estimate(result: dict[str, Any], cores: dict[str, dict[str, KernelCost]]) -> float:
    """Return the number of instructions that the fitted costs ``cores`` predict for a measured inference."""
    costs = cores[result["board"]["core"]]
    return sum(costs[kernel].instructions(macs, outputs) for kernel, macs, outputs, _ in rows_of(result))


def fit(rows: Sequence[Row]) -> KernelCost:
    """Return the non-negative costs with the smallest sum of squared relative errors.

    Each set in ``_REGRESSORS`` is tried. In a tie, the set that comes first is used: smaller sets first, and MACs
    before outputs. Calls are never the only regressor. A set of several regressors needs more layers than it has
    regressors; otherwise it would fit any measurement.
    """
    y = np.array([count for *_, count in rows], float)
    regressors = np.array([[macs, outputs, 1.0] for macs, outputs, _ in rows], float) / y[:, None]
    best, min_error = np.zeros(3), math.inf
    for chosen in _REGRESSORS:
        selected = regressors[:, chosen]
        enough = len(rows) > len(chosen) or len(chosen) == 1
        if not enough or np.linalg.matrix_rank(selected) < len(chosen):
            continue
        solution, *_ = np.linalg.lstsq(selected, np.ones(len(rows)), rcond=None)
        error = float(np.sum((selected @ solution - 1) ** 2))
        # The margin rejects a regressor that improves the error only by rounding.
        if (solution >= 0).all() and error < min_error - 1e-9:
            best, min_error = np.zeros(3), error
            best[chosen] = solution
    return KernelCost(*(float(f"{v:.6g}") for v in best))


if __name__ == "__main__":
    sys.exit(main())
