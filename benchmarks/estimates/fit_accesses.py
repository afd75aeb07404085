"""Fit the estimated loads and stores of tensors to counted ones: ``python -m benchmarks.estimates.fit_accesses``.

Runs one inference of each reference model on emulated boards of every tier, counts the loads and stores of each tensor
in each layer with a plugin in QEMU, and writes profiles/accesses.json: per kernel the non-negative least-squares
solutions of

    loads of an input = per_input * bytes + per_window * bytes under its windows + per_mac * products
    stores of an output = per_output * bytes,

each layer weighted by the inverse of its count's root, so that the largest matter most. Prints how far whole inferences
are off.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from arenite.files import write_atomic
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.accesses import PATH, AccessRates, first_work, key_of, per_layer, rates, work_of
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from benchmarks.estimates.access_counts import MODELS, ModelAccesses, count_tensor_accesses

#: Small enough for the largest of the boards, one of each tier.
JOBS = [
    (model, board)
    for board in ("qemu_mps2_an386", "qemu_mps2_an385", "qemu_mps3_an547", "qemu_riscv32")
    for model in ("vww01_int8", "ic01_int8", "kws01_int8", "ad01_int8", "person_detect_int8")
]

#: Causes (bytes, window, products) of the loads, or (bytes,) of the stores; and the count.
Row = tuple[tuple[float, ...], float]


def main() -> int:
    counts: list[ModelAccesses] = []
    for model, name in JOBS:
        board = load_board(name)
        prepared = prepare(MODELS / f"{model}.tflite").retarget(Target.of(board.core, "speed", False))
        counts.append(count_tensor_accesses(prepared, board, "speed", None))
        print(f"{model} on {name}: {'exact' if counts[-1].exact else 'WRONG'}", file=sys.stderr)
    if not all(c.exact for c in counts):
        return 1
    fitted = fit_all(counts)
    source = (
        f"fitted to {len(counts)} inferences on emulated boards, loads and stores counted by a plugin in QEMU"
    )
    stored = {kernel: [round(c, 6) for c in row] for kernel, row in sorted(fitted.items())}
    write_atomic(PATH, json.dumps({"source": source, "kernels": stored}, indent=1) + "\n")
    rates.cache_clear()
    errors = [abs(estimated(c) / counted(c) - 1) for c in counts]
    print(
        f"{len(fitted)} kernels; whole inferences off by median {np.median(errors):.1%}, largest {max(errors):.1%}"
    )
    return 0


def fit_all(counts: Iterable[ModelAccesses]) -> dict[str, AccessRates]:
    """Kernel to its rates."""
    loads: dict[str, list[Row]] = defaultdict(list)
    stores: dict[str, list[Row]] = defaultdict(list)
    for c in counts:
        graph = c.generated.model.main
        for layer, touched in zip(c.generated.calls, c.layers, strict=True):
            assert layer.call is not None
            op = layer.op
            kernel = key_of(layer.call.kernel, first_work(graph, op, layer.macs))
            for position, t in enumerate(op.inputs):
                # A tensor that is read twice, or written in place of itself, cannot be distinguished.
                if t in touched and op.inputs.count(t) == 1 and t not in op.outputs and touched[t].loads:
                    work = work_of(graph, op, layer.macs, position)
                    loads[kernel].append(((work.nbytes, work.window, work.macs), touched[t].loads))
            for t in op.outputs:
                if t in touched and touched[t].stores:
                    stores[kernel].append(((graph.tensors[t].nbytes,), touched[t].stores))
    return {
        kernel: AccessRates(*solve(loads[kernel], 3), *solve(stores[kernel], 1))
        for kernel in sorted(set(loads) & set(stores))
    }


def solve(rows: Sequence[Row], causes: int) -> list[float]:
    """The non-negative solution with the smallest error; of about equals that with the fewest causes."""
    counts = np.sqrt([count for _, count in rows])
    a = np.array([row for row, _ in rows]) / counts[:, None]
    best: tuple[float, list[float]] | None = None
    for size in range(1, causes + 1):
        for columns in combinations(range(causes), size):
            part = a[:, columns]
            coefficients, *_ = np.linalg.lstsq(part, counts, rcond=None)
            if np.any(coefficients < 0) or np.linalg.matrix_rank(part) < size:
                continue
            error = float(np.sum((part @ coefficients - counts) ** 2))
            if best is None or error < best[0] * 0.98 - 1e-9:
                answer = np.zeros(causes)
                answer[list(columns)] = coefficients
                best = error, [float(x) for x in answer]
    assert best is not None
    return best[1]


def counted(c: ModelAccesses) -> int:
    """Loads and stores of all tensors."""
    return sum(touched.total for layer in c.layers for touched in layer.values())


def estimated(c: ModelAccesses) -> float:
    """The same by the stored rates."""
    return sum(sum(loads.values()) + sum(stores.values()) for _, loads, stores in per_layer(c.generated))


if __name__ == "__main__":
    sys.exit(main())
