"""The differential fuzzer compares generated C code for random graphs with LiteRT's reference kernels.

    python -m tests.fuzz --cases 20000 --seed 0 [--jobs 2] [--op CONV_2D ...] [--length 4]

It prints the seed and the number of graphs with each operator. A graph with a mismatch is reduced to the fewest
operators that still show it and saved as a .tflite file in the folder --save; the exit code is then 1. A graph that
crashes is saved as well.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.fuzz.campaign import Batch, Result, run_all
from tests.fuzz.cases import load_all


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--cases", type=int, default=2000, help="number of graphs")
    parser.add_argument("--seed", type=int, default=0, help="number that determines all graphs")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    parser.add_argument("--op", action="append", help="only this operator (repeatable)")
    parser.add_argument("--length", type=int, default=4, help="maximum number of random operators in a graph")
    parser.add_argument("--batch", type=int, default=100, help="graphs per compiler run")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    parser.add_argument(
        "--save", type=Path, default=Path("out/fuzz"), help="folder for graphs with a mismatch"
    )
    args = parser.parse_args(argv)
    names = sorted(load_all())
    if unknown := sorted(set(args.op or []) - set(names)):
        parser.error(
            f"the fuzzer cannot make random {', '.join(unknown)} operators; --op may be {', '.join(names)}"
        )
    ops = tuple(args.op or names)
    last = args.first + args.cases
    batches = [
        Batch(args.seed, start, min(args.batch, last - start), ops, args.length, args.save)
        for start in range(args.first, last, args.batch)
    ]
    total = Result()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("graphs", total=args.cases)
        for result in run_all(batches, max(args.jobs, 1)):
            total.add(result)
            for failure in result.failures:
                console.print(failure, markup=False, highlight=False, soft_wrap=True)
            progress.advance(task, result.graphs)
    for name, count in sorted(total.operators.items()):
        print(f"{name:28s} {count:7d} graphs")
    print(
        f"seed {args.seed}: {total.graphs} graphs, operator types: {len(total.operators)}, "
        f"mismatches: {len(total.failures)}"
    )
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
