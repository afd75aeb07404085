"""Fit the estimates of a tensor's loads and stores to counts in the emulator:
``python -m benchmarks.estimates.fit_accesses``.

This program runs one inference of each reference model on emulated boards with each kernel tier (instruction set), and
counts the loads and stores of each tensor in each layer with a plugin in QEMU. It writes profiles/accesses.json, which
has for each kernel the non-negative least-squares solutions of

    loads of an input = per_input * bytes + per_window * bytes under its windows + per_mac * products
    stores of an output = per_output * bytes.

Bytes under the windows are the input bytes of all positions of a kernel's window together. The error of each layer is
divided by the square root of its count, so that large layers have the most influence. The program prints the error of
the estimate for complete inferences.
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
from arenite.firmware.sizes.accesses import (
    PATH,
    AccessRates,
    accesses_by_layer,
    first_work,
    key_of,
    rates,
    work_of,
)
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from benchmarks.estimates.access_counts import MODELS, ModelAccesses, count_tensor_accesses

#: The (model, board) pairs to measure. There is a board for each tier of kernels, and every model fits these boards.
JOBS = [
    (model, board)
    for board in ("qemu_mps2_an386", "qemu_mps2_an385", "qemu_mps3_an547", "qemu_riscv32")
    for model in ("vww01_int8", "ic01_int8", "kws01_int8", "ad01_int8", "person_detect_int8")
]

#: One layer: its regressors, and its count. The regressors of loads are (bytes of the input, bytes under its windows,
#: products), the regressors of stores are (bytes of the output,).
Row = tuple[tuple[float, ...], float]


def main() -> int:
    counts: list[ModelAccesses] = []
    for model, name in JOBS:
        board = load_board(name)
        prepared = prepare(MODELS / f"{model}.tflite").retarget(Target.for_core(board.core, "speed", False))
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
    """Return the access rates of each kernel."""
    loads: dict[str, list[Row]] = defaultdict(list)
    stores: dict[str, list[Row]] = defaultdict(list)
    for c in counts:
        graph = c.generated.model.main
        for layer, accesses in zip(c.generated.calls, c.layers, strict=True):
            assert layer.call is not None
            op = layer.op
            kernel = key_of(layer.call.kernel, first_work(graph, op, layer.macs))
            for position, t in enumerate(op.inputs):
                # Skip a tensor that the operator reads through two inputs or also writes, because its loads cannot be
                # assigned to one input.
                if t in accesses and op.inputs.count(t) == 1 and t not in op.outputs and accesses[t].loads:
                    work = work_of(graph, op, layer.macs, position)
                    loads[kernel].append(((work.nbytes, work.window, work.macs), accesses[t].loads))
            for t in op.outputs:
                if t in accesses and accesses[t].stores:
                    stores[kernel].append(((graph.tensors[t].nbytes,), accesses[t].stores))
    return {
        kernel: AccessRates(*solve(loads[kernel], 3), *solve(stores[kernel], 1))
        for kernel in sorted(set(loads) & set(stores))
    }


def solve(rows: Sequence[Row], regressors: int) -> list[float]:
    """Return the non-negative coefficients with the smallest error, one per regressor. A solution with more regressors
    is used only if its error is more than 2 % smaller."""
    counts = np.sqrt([count for _, count in rows])
    a = np.array([row for row, _ in rows]) / counts[:, None]
    best: tuple[float, list[float]] | None = None
    for size in range(1, regressors + 1):
        for columns in combinations(range(regressors), size):
            selected = a[:, columns]
            coefficients, *_ = np.linalg.lstsq(selected, counts, rcond=None)
            if np.any(coefficients < 0) or np.linalg.matrix_rank(selected) < size:
                continue
            error = float(np.sum((selected @ coefficients - counts) ** 2))
            if best is None or error < best[0] * 0.98 - 1e-9:
                answer = np.zeros(regressors)
                answer[list(columns)] = coefficients
                best = error, [float(x) for x in answer]
    assert best is not None
    return best[1]


def counted(c: ModelAccesses) -> int:
    """Return the number of counted loads and stores of all tensors."""
    return sum(counts.total for layer in c.layers for counts in layer.values())


def estimated(c: ModelAccesses) -> float:
    """Return the number of loads and stores of all tensors that the stored rates predict."""
    return sum(
        sum(loads.values()) + sum(stores.values()) for _, loads, stores in accesses_by_layer(c.generated)
    )


if __name__ == "__main__":
    sys.exit(main())
