"""Compare estimated with measured cycles on a simulated core for one random graph per operator.

    python -m benchmarks.rtl_operators --board rtl_ibex [--op NAME]... [--seed N] [--json FILE]

The graphs are those of the differential fuzzer. One firmware runs many of them. The exit code is 1 if an output is not
bit-exact, or the estimate for a layer of at least 10,000 cycles has an error above 3 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.converters.graph.model import Model
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.files import write_atomic
from arenite.host.report.generated_tables import markdown_table
from arenite.profiles.boards import load_board
from benchmarks.rtl import BOARDS, LARGE_LAYER, estimate_of, percent, run
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.emulated import batches
from tests.fuzz.joined_graphs import can_join, join

#: The bytes of the tensors of a firmware, which are less than the RAM of the boards.
MAX_BYTES = 100_000
#: The largest accepted error of the estimate for a large layer.
MAX_ERROR = 0.03


def joined(ops: Sequence[str], seed: int) -> list[Model]:
    """Return models that contain a random graph of each operator in ``ops``. Graphs that cannot be joined to others are
    models of their own."""
    graphs = [random_model(seed, number, [op], 1) for number, op in enumerate(ops)]
    alone = [g for g in graphs if not can_join(g)]
    together = batches([g for g in graphs if can_join(g)], MAX_BYTES)
    return [join(batch) for batch in together if batch] + alone


def compare(model: Model, board: str, folder: Path) -> list[dict[str, Any]]:
    """Return the layers of ``model``: operator, measured and estimated cycles, and whether all outputs of the model are
    right."""
    path = folder / "graphs.tflite"
    path.write_bytes(to_flatbuffer(model))
    estimate, measured = estimate_of(path, board), run(path, load_board(board))
    exact = measured["samples"]["bit_exact"] == measured["samples"]["count"]
    return [
        {"op": m["op"], "cycles": m["cycles"], "estimated": e["cycles"], "exact": exact}
        for m, e in zip(measured["layers"], estimate["layers"], strict=True)
    ]


def summary(rows: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return a Markdown table of the compared layers, and what is wrong, one sentence each."""
    wrong = [f"{op}: an output is not bit-exact" for op in sorted({r["op"] for r in rows if not r["exact"]})]
    cells = []
    timed = [row for row in rows if row["cycles"]]
    for title, layers in (
        (f"at least {LARGE_LAYER:,} cycles", [r for r in timed if r["cycles"] >= LARGE_LAYER]),
        ("fewer cycles", [r for r in timed if r["cycles"] < LARGE_LAYER]),
    ):
        if layers:
            worst = max(layers, key=lambda r: abs(r["estimated"] - r["cycles"]) / r["cycles"])
            most = max(abs(r["estimated"] - r["cycles"]) for r in layers)
            error = worst["estimated"] / worst["cycles"] - 1
            names = f"{worst['op']}, {worst['cycles']:,}"
            cells.append((title, f"{len(layers)}", names, percent(error), f"{most:,}"))
    wrong += [
        f"{r['op']} takes {r['cycles']:,} cycles, and the estimate is {r['estimated']:,}"
        for r in timed
        if r["cycles"] >= LARGE_LAYER and abs(r["estimated"] / r["cycles"] - 1) > MAX_ERROR
    ]
    header = (
        "layers with",
        "number",
        "worst: operator and cycles",
        "its error",
        "largest difference in cycles",
    )
    return markdown_table(header, cells, (1, 3, 4)), wrong


def main(argv: Sequence[str] | None = None) -> int:
    ops = sorted(load_all())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rtl_operators", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--board", required=True, choices=BOARDS, help="Board to simulate.")
    parser.add_argument("--op", action="append", choices=ops, metavar="NAME", help="Operator. Default: all.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the random graphs. Default: 0.")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="Write the figures of each layer to this file."
    )
    args = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    models = joined(args.op or ops, args.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(models):
            print(f"\rfirmware {number + 1} of {len(models)}", end="", file=sys.stderr, flush=True)
            rows += compare(model, args.board, Path(folder))
    print(file=sys.stderr)
    table, wrong = summary(rows)
    print(table)
    if args.json:
        write_atomic(args.json, json.dumps(rows, indent=1))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
