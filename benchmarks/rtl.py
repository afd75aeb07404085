"""Measure the cycles of models on simulated cores, and compare them with the estimate from each core's timing table.

    python -m benchmarks.rtl [--model NAME]... [--board NAME]... [--write-docs]

Models are read from $ARENITE_MODELS (default: ../shared/models). A simulation takes one to three minutes per model, so
its result stays in out/rtl.json, and is used again as long as the firmware and the simulated core are the same. The
exit code is 1 if an output is not bit-exact, or QEMU counts other instructions than the simulation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.files import write_atomic
from arenite.host.bench.result import BenchResult
from arenite.host.bench.rtl_cycles import DEFAULT_SAMPLES
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.emulator.rtl.cores import rtl_core
from arenite.host.report.generated_tables import DOCS, markdown_table, replace_section
from arenite.profiles.boards import Board, load_board

EMULATED = "qemu_riscv32"
BOARDS = ("rtl_cv32e40p", "rtl_ibex", "rtl_ibex_small")
MODELS = Path(os.environ.get("ARENITE_MODELS", "../shared/models"))
RESULTS = Path("out/rtl.json")
PAGE = DOCS / "rtl.md"
#: The error of the estimate is given for layers with at least this number of cycles.
LARGE_LAYER = 10_000


def run(model: Path, board: Board, cycles: bool | None = None) -> dict[str, Any]:
    """Return the result of ``arenite bench`` with one random sample, optimized for speed."""
    prepared = prepare(model)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    samples = random_samples(tensors, DEFAULT_SAMPLES)
    result: BenchResult = bench(
        prepared,
        board,
        samples,
        BenchConfig(BuildOptions("speed"), cycles=cycles),
        lambda *_: None,
    )
    return result.to_json()


def simulated(model: Path, board: str, firmware: str, store: dict[str, Any]) -> dict[str, Any]:
    """Return the result on ``board`` from ``store``; simulate and store it if there is none for ``firmware``."""
    rtl = load_board(board).rtl
    assert rtl is not None
    key = f"{model.stem} {board} {firmware[:16]} {rtl_core(rtl.core).package.sha256[:16]}"
    if key not in store:
        print(f"simulating {model.stem} on {board}", file=sys.stderr)
        store[key] = run(model, load_board(board))
        write_atomic(RESULTS, json.dumps(store, indent=1))
    return dict(store[key])


def estimate_of(model: Path, board: str) -> dict[str, Any]:
    """Return the result of QEMU, with cycles estimated from the timing table of ``board``."""
    timing = load_board(board).timing
    return run(model, replace(load_board(EMULATED), timing=timing), cycles=True)


def layer_errors(measured: Mapping[str, Any], estimated: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return each layer with at least ``LARGE_LAYER`` measured cycles: its number and operator, and the estimate
    divided by the measured cycles, minus 1."""
    pairs = zip(measured["layers"], estimated["layers"], strict=True)
    return [
        (f"{m['index']} {m['op']}", e["cycles"] / m["cycles"] - 1)
        for m, e in pairs
        if m["cycles"] >= LARGE_LAYER
    ]


def percent(share: float) -> str:
    return f"{100 * share:+.2f} %"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rtl", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--model", action="append", help="Model to measure. Default: all int8 models.")
    parser.add_argument("--board", action="append", choices=BOARDS, help="Board to simulate. Default: all.")
    parser.add_argument("--write-docs", action="store_true", help=f"Write the tables to docs/{PAGE.name}.")
    args = parser.parse_args(argv)
    boards = args.board or BOARDS
    models = [m for m in sorted(MODELS.glob("*_int8.tflite")) if not args.model or m.stem in args.model]
    store = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    wrong, cycle_rows, error_rows = [], [], []
    for model in models:
        count, cells, name = 0, [], model.stem.removesuffix("_int8")
        for board in boards:
            estimate = estimate_of(model, board)
            measured = simulated(model, board, estimate["build"]["firmware_sha256"], store)
            count = estimate["inference"]["instructions"]["p50"]
            same = measured["inference"]["instructions"]["p50"] == count
            if not same or not measured["samples"]["bit_exact"]:
                wrong.append(f"{model.stem} on {board}")
            cycles, estimated_cycles = (r["inference"]["cycles"]["p50"] for r in (measured, estimate))
            cells.append(f"{cycles:,} ({cycles / count:.2f} each)")
            layers = layer_errors(measured, estimate)
            worst, error = max(layers, key=lambda layer: abs(layer[1]), default=("–", 0.0))
            error_rows.append(
                (
                    name,
                    f"`{board}`",
                    f"{estimated_cycles:,}",
                    percent(estimated_cycles / cycles - 1),
                    f"{len(layers)}",
                    worst,
                    percent(error),
                )
            )
        cycle_rows.append((name, f"{count:,}", *cells))
    tables = {
        "cycles": markdown_table(
            ("model", "instructions", *(f"`{board}`" for board in boards)),
            cycle_rows,
            range(1, 2 + len(boards)),
        ),
        "errors": markdown_table(
            ("model", "board", "estimated cycles", "error", "large layers", "worst of them", "its error"),
            error_rows,
            (2, 3, 4, 6),
        ),
    }
    print("\n\n".join(tables.values()))
    if args.write_docs:
        page = PAGE.read_text("utf-8")
        for section, table in tables.items():
            page = replace_section(page, section, table)
        write_atomic(PAGE, page)
    if wrong:
        print(f"not bit-exact, or other instructions than QEMU: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
