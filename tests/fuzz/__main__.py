"""The differential fuzzer: random graphs over all operators, generated C against LiteRT's reference kernels.

    python -m tests.fuzz --cases 20000 --seed 0 [--op CONV_2D ...] [--length 4]

Prints the seed and how many graphs held each operator. A mismatch is shrunk to the fewest operators that still
show it and saved as a .tflite file under --save; exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from arenite.converters.graph import Model
from arenite.converters.image import to_flatbuffer

from tests.fuzz.builder import GraphBuilder
from tests.fuzz.cases import load_all
from tests.fuzz.compare import CACHE, compare
from tests.fuzz.shrink import shrink


def random_model(seed: int, case: int, ops: list[str], length: int) -> Model:
    """The graph of one case: a function of its arguments alone."""
    cases = load_all()
    rng = np.random.default_rng([seed, case])
    b = GraphBuilder(rng)
    # Each operator comes first in its turn, so that all of them are covered evenly.
    cases[ops[case % len(ops)]](b)
    for _ in range(int(rng.integers(0, length))):
        cases[str(rng.choice(ops))](b)
    return b.build()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--op", action="append", help="only these operators")
    parser.add_argument("--length", type=int, default=4, help="most operators after the first")
    parser.add_argument("--batch", type=int, default=200, help="graphs per compiler run")
    parser.add_argument("--save", type=Path, default=Path("out/fuzz"))
    args = parser.parse_args(argv)
    ops = args.op or sorted(load_all())
    counts: Counter[str] = Counter()
    failures = 0
    last = args.first + args.cases
    for start in range(args.first, last, args.batch):
        numbers = range(start, min(start + args.batch, last))
        models = [random_model(args.seed, k, ops, args.length) for k in numbers]
        for m in models:
            counts.update({op.name for op in m.main.ops})
        for mismatch in compare(models, seed=args.seed + start, runs=2):
            failures += 1
            number = start + mismatch.case
            print(f"seed {args.seed} graph {number}: {mismatch}", file=sys.stderr)
            small = shrink(models[mismatch.case])
            args.save.mkdir(parents=True, exist_ok=True)
            path = args.save / f"seed{args.seed}-graph{number}.tflite"
            path.write_bytes(to_flatbuffer(small))
            print(f"  shrunk to {[op.name for op in small.main.ops]}, saved as {path}", file=sys.stderr)
        for library in CACHE.glob("models-*.so"):
            library.unlink()
    for name, count in sorted(counts.items()):
        print(f"{name:28s} {count:7d} graphs")
    print(f"seed {args.seed}: {args.cases} graphs over {len(counts)} operators, {failures} mismatches")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
