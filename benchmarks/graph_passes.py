"""Measure the savings of the graph optimizations and print the tables of docs/passes.md.

python -m benchmarks.graph_passes model.tflite ...
"""

from __future__ import annotations

import sys
from pathlib import Path

from arenite.converters.graph.model import Model
from arenite.converters.importers.load import load_any
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.optimize import run_passes
from arenite.converters.passes.pass_report import PassReport, layer_macs


def macs(model: Model) -> int:
    return sum(layer_macs(model.main, op) for op in model.main.ops)


def constants(model: Model) -> int:
    return sum(t.data.nbytes for t in model.main.tensors if t.data is not None)


def channels(model: Model) -> int:
    """Return the number of output channels of all layers with weights."""
    graph = model.main
    return sum(graph.tensors[op.outputs[0]].shape[-1] for op in graph.ops if layer_macs(graph, op))


def row(path: Path) -> tuple[str, tuple[PassReport, ...]]:
    """Return the table line of one model, and the reports of the passes that changed it."""
    model, _ = fold_constants(load_any(path))
    optimized, reports = run_passes(model)
    removed = sum(c.removed for r in reports for c in r.layers)
    before, after = macs(model), macs(optimized)
    share = f"{1 - after / before:.1%}" if before else "-"
    cells = (
        path.stem,
        f"{removed:,} of {channels(model):,}",
        f"{before:,}",
        f"{after:,} (−{share})" if after != before else "the same",
        f"{constants(model):,}",
        f"{constants(optimized):,}" if constants(optimized) != constants(model) else "the same",
        f"{len(model.main.ops) - len(optimized.main.ops)}",
    )
    return f"| {' | '.join(cells)} |", reports


def main(paths: list[str]) -> int:
    print("| model | channels removed | MACs | after | constants B | after | operators removed |")
    print("|-|-:|-:|-:|-:|-:|-:|")
    reports_by_model = []
    for name in paths:
        line, reports = row(Path(name))
        reports_by_model.append((Path(name).stem, reports))
        print(line)
    for name, reports in reports_by_model:
        for change in (c for r in reports for c in r.layers):
            print(
                f"| {name} {change.index} {change.op} | {change.removed} of {change.channels} "
                f"| {change.macs_before:,} | {change.macs_after:,} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
