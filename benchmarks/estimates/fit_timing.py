"""Fit the timing estimates of ``arenite fit`` to measured layers: ``python -m benchmarks.estimates.fit_timing
[FILE.json ...]``.

Reads the results that ``python -m benchmarks.table`` left in out/bench/, of every variant, and writes
profiles/timing.json: per core and kernel (and again for builds for size) the non-negative least-squares solution of

    instructions = per_mac * MACs + per_output * outputs + per_call,

each layer weighted by the inverse of its count so that small layers matter as much as large ones. Prints how far whole
inferences are off.
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

#: One measured layer: MACs, output elements, instructions.
Row = tuple[float, float, float]


#: MACs, outputs and calls, as columns.
_CAUSES = ([0], [1], [0, 1], [0, 2], [1, 2], [0, 1, 2])


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
    """The ``arenite.bench/1`` objects among the files that have counts; each run once, whatever its file's name."""
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
    """(key of the kernel, MACs, outputs, instructions) of each layer that was counted."""
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
    """Core to kernel to cost, in the order of their names."""
    layers: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for kernel, *row in rows_of(result):
            layers[result["board"]["core"]][kernel].append((row[0], row[1], row[2]))
    return {
        core: {kernel: fit(rows) for kernel, rows in sorted(kernels.items())}
        for core, kernels in sorted(layers.items())
    }


def estimate(result: dict[str, Any], cores: dict[str, dict[str, KernelCost]]) -> float:
    """Return the estimate that the coefficients give for a measured inference."""
    costs = cores[result["board"]["core"]]
    return sum(costs[kernel].of(macs, outputs) for kernel, macs, outputs, _ in rows_of(result))


def fit(rows: Sequence[Row]) -> KernelCost:
    """The non-negative costs with the smallest sum of squared relative errors.

    Each set of causes is tried. Fewer causes win a tie, MACs before outputs; calls alone explain nothing, and a set
    needs more layers than it has causes, or it would explain whatever was measured.
    """
    y = np.array([count for *_, count in rows], float)
    causes = np.array([[macs, outputs, 1.0] for macs, outputs, _ in rows], float) / y[:, None]
    best, least = np.zeros(3), math.inf
    for chosen in _CAUSES:
        part = causes[:, chosen]
        enough = len(rows) > len(chosen) or len(chosen) == 1
        if not enough or np.linalg.matrix_rank(part) < len(chosen):
            continue
        solution, *_ = np.linalg.lstsq(part, np.ones(len(rows)), rcond=None)
        error = float(np.sum((part @ solution - 1) ** 2))
        # Rounding must not let a cause in that explains nothing.
        if (solution >= 0).all() and error < least - 1e-9:
            best, least = np.zeros(3), error
            best[chosen] = solution
    return KernelCost(*(float(f"{v:.6g}") for v in best))


if __name__ == "__main__":
    sys.exit(main())
