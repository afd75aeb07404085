"""Measure models on every emulated board: ``python -m benchmarks.table [MODEL.tflite ...] [--board NAME ...]``.

Writes one ``arenite.bench/1`` object per run to out/bench/, and out/bench/table.md. Without models it takes the zoo's
small int8 ones. With ``--compare BASELINE.json`` (records of another engine: core, model, instructions, arena_bytes,
flash_code_bytes) the table has ratios to it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from arenite.converters.atomic import write_atomic
from arenite.converters.errors import ArenaError, DoesNotFitError
from arenite.host.bench.run import Options, bench
from arenite.host.bench.samples import random_samples
from arenite.host.cli.progress import Steps
from arenite.host.prepare import prepare
from arenite.models import zoo
from arenite.profiles.boards import all_boards, load_board

ZOO = ("image_classification", "kws_on_off", "rock_paper_scissors")
OUT = Path("out/bench")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--board", action="append", help="default: every emulated board")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--optimise", default="balanced")
    parser.add_argument("--compare", type=Path, help="records of another engine")
    args = parser.parse_args(argv)
    paths = args.models or [zoo.fetch(name) for name in ZOO]
    boards = [load_board(n) for n in args.board] if args.board else [b for b in all_boards() if b.emulated]
    rows, failed = [], 0
    for path in paths:
        for board in boards:
            try:
                result = measure(path, board, args.samples, args.optimise)
            except DoesNotFitError as error:
                rows.append({"model": path.stem, "board": board.name, "note": error.problem})
                continue
            write_atomic(
                OUT / f"{path.stem}-{board.name}-{args.optimise}.json", json.dumps(result, indent=1) + "\n"
            )
            failed += result["samples"]["bit_exact"] != result["samples"]["count"]
            rows.append({"model": path.stem, "board": board.name, "result": result})
            print(
                f"{path.stem} on {board.name}: {result['inference']['instructions']['p50']:,}",
                file=sys.stderr,
            )
    records = json.loads(args.compare.read_text())["records"] if args.compare else []
    text = markdown(rows, records)
    write_atomic(OUT / "table.md", text)
    print(text)
    return 1 if failed else 0


def measure(path: Path, board: Any, count: int, optimise: str) -> dict[str, Any]:
    prepared = prepare(path)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    with Steps(board.name) as steps:
        return bench(prepared, board, random_samples(tensors, count), Options(optimise), steps)


def markdown(rows: list[dict[str, Any]], records: list[dict[str, Any]]) -> str:
    """The table; ratios are to the best record of the same core and model, figure by figure."""
    head = [
        "model",
        "board",
        "bit-exact",
        "instructions",
        "per MAC",
        "init",
        "arena B",
        "stack B",
        "RAM B",
        "code B",
    ]
    if records:
        head += ["instructions ÷ baseline", "arena ÷", "code ÷"]
    lines = ["| " + " | ".join(head) + " |", "|" + "-|" * len(head)]
    for row in rows:
        if "note" in row:
            lines.append(f"| {row['model']} | {row['board']} | {row['note']} |" + " |" * (len(head) - 3))
            continue
        r = row["result"]
        count = r["inference"]["instructions"]["p50"]
        memory = r["memory"]
        cells = [
            row["model"],
            row["board"],
            f"{r['samples']['bit_exact']}/{r['samples']['count']}",
            f"{count:,}",
            f"{count / max(r['model']['macs'], 1):.2f}",
            str(r["init"]["instructions"]),
            f"{memory['arena']:,} ({memory['arena_status']})",
            str(memory["stack"]),
            f"{memory['ram_total']:,}",
            f"{r['flash']['code']:,}",
        ]
        if records:
            same = [b for b in records if b["core"] == r["board"]["core"] and b["model"] == row["model"]]
            for ours, key in (
                (count, "instructions"),
                (memory["arena"], "arena_bytes"),
                (r["flash"]["code"], "flash_code_bytes"),
            ):
                cells.append(f"{ours / min(b[key] for b in same):.2f}" if same else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ArenaError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
