"""Measure the gain of a second core: bench every model on an emulated machine with two cores, and with one of them.

    python -m benchmarks.dual_core [--model NAME]... [--optimise MODE]... [--write-docs]

A plugin in the emulator counts the instructions of each core, without those spent waiting. The critical path is an
estimate: the busier core of each layer, plus the cost of fork and join. Models are read from $ARENITE_MODELS (default:
../shared/models).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.files import write_atomic
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.report.generated_tables import DOCS, markdown_table, replace_section
from arenite.profiles.boards import load_board

BOARD = "qemu_riscv32_smp2"
MODELS = Path(os.environ.get("ARENITE_MODELS", "../shared/models"))
PAGE = DOCS / "dual-core.md"


def measure(model: Path, optimise: str, samples: int) -> dict[str, Any]:
    """Run ``arenite bench`` for a model on one core and on two cores, and return the row of the table."""
    prepared = prepare(model)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    inputs = random_samples(tensors, samples)
    one, two = (
        bench(
            prepared,
            load_board(BOARD),
            inputs,
            BenchConfig(BuildOptions(optimise, cores=cores), cycles=True),
            lambda *_: None,
        ).to_json()
        for cores in (1, 2)
    )
    exact = all(r["samples"]["bit_exact"] == samples for r in (one, two))
    sizes = all(
        r["flash"]["total"] == r["flash"]["predicted_total"]
        and r["memory"]["static"] == r["memory"]["predicted_static"]
        and r["memory"]["arena"] == r["memory"]["predicted_arena"]
        for r in (one, two)
    )
    return {"model": model.stem, "optimise": optimise, "exact": exact, "sizes": sizes} | figures(one, two)


def figures(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a row from the results of ``arenite bench`` on one core and on two cores.

    Raises ``ToolError`` if the emulator did not count the instructions of each core.
    """
    split = two["two_cores"]
    alone = one["inference"]["instructions"]["p50"]
    row: dict[str, Any] = {"one": alone}
    for name, result in (("one", one), ("two", two)):
        memory = result["memory"]
        row[f"ram_{name}"] = memory["arena"] + memory["static"] + memory["stack"]
        row[f"flash_{name}"] = result["flash"]["total"]
        row[f"cycles_{name}"] = result["inference"]["cycles"]["p50"]
    if split is None:
        return row | {"cut": 0, "critical": alone, "serial": 1.0, "work": alone, "layers": [], "barrier": 0}
    if "critical_path" not in split:
        raise ToolError(
            f"The result on two cores of {BOARD} has only predicted figures of the split.",
            "The emulator's plugin counts the instructions of each core: run `arenite doctor` to see what it needs.",
        )
    return row | {
        "cut": sum(layer["cut"] for layer in split["layers"]),
        "critical": split["critical_path"]["instructions"],
        "serial": split["serial_share"],
        "work": split["work"]["instructions"],
        "barrier": split["barrier"]["instructions"],
        "layers": split["layers"],
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with one line per model and optimization goal."""
    head = ["model", "optimise", "layers split", "one core: instructions", "two cores: critical path (est.)"]
    head += ["speed-up (est.)", "in cycles (est.)", "serial", "RAM B: one, two", "flash B: one, two"]
    lines = [
        [
            r["model"].removesuffix("_int8"),
            r["optimise"],
            f"{r['cut']} of {len(r['layers'])}",
            f"{r['one']:,}",
            f"{r['critical']:,}",
            f"{r['one'] / r['critical']:.2f}",
            f"{r['cycles_one'] / r['cycles_two']:.2f}",
            f"{100 * r['serial']:.1f} %",
            f"{r['ram_one']:,}, {r['ram_two']:,}",
            f"{r['flash_one']:,}, {r['flash_two']:,}",
        ]
        for r in rows
    ]
    return markdown_table(head, lines, range(2, len(head)))


def layers(row: dict[str, Any]) -> str:
    """Return a Markdown table of the layers of one model. ``row`` is a result of ``measure``."""
    head = ["#", "operator", "first core", "second core", "critical path (est.)", "not split because"]
    lines = [
        [
            str(layer["index"]),
            layer["op"],
            f"{layer['first']:,}",
            "–" if layer["second"] is None else f"{layer['second']:,}",
            f"{layer['critical']:,}",
            layer["why"],
        ]
        for layer in row["layers"]
    ]
    return markdown_table(head, lines, (0, 2, 3, 4))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dual_core", description=__doc__)
    parser.add_argument("--model", action="append", help="Model to measure. Default: all int8 models.")
    parser.add_argument("--optimise", action="append", help="Optimization goal. Default: speed.")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--write-docs", action="store_true", help=f"Write the tables to docs/{PAGE.name}.")
    args = parser.parse_args(argv)
    models = [m for m in sorted(MODELS.glob("*_int8.tflite")) if not args.model or m.stem in args.model]
    rows = []
    for model in models:
        for optimise in args.optimise or ("speed",):
            rows.append(measure(model, optimise, args.samples))
            print(table(rows[-1:]), file=sys.stderr)
    text = table(rows)
    wrong = [r["model"] for r in rows if not (r["exact"] and r["sizes"])]
    if args.write_docs:
        keyword = next((r for r in rows if r["model"].startswith("kws01")), rows[0])
        page = replace_section(PAGE.read_text("utf-8"), "models", text)
        write_atomic(PAGE, replace_section(page, "layers", layers(keyword)))
    print(text)
    if wrong:
        print(f"not bit-exact, or not as large as predicted: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ToolError as error:
        sys.exit(str(error))
