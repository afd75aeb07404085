"""Measure recurrent networks with and without loops on the emulated Cortex-M4F, and print the table of
docs/recurrent.md.

python -m benchmarks.recurrent_loops model.image.tflite ...
"""

from __future__ import annotations

import sys
from pathlib import Path

from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board

BOARD = "qemu_mps2_an386"


def figures(path: Path, passes: bool) -> tuple[int, int, int]:
    """Return the bytes of flash, the bytes of RAM and the instructions of one inference. Raises ``AssertionError`` if
    an output differs from LiteRT's."""
    model = prepare(path, passes=passes)
    tensors = [model.model.main.tensors[i] for i in model.model.main.inputs]
    samples = random_samples(tensors, 2, {})
    result = bench(model, load_board(BOARD), samples, BenchConfig(BuildOptions()), lambda *_: None).to_json()
    assert result["samples"]["bit_exact"] == result["samples"]["count"]
    instructions = result["inference"]["instructions"]["p50"]
    return result["flash"]["total"], result["memory"]["ram_total"], instructions


def main(paths: list[str]) -> int:
    print(
        "| network | flash in bytes, unrolled | loop | RAM in bytes, unrolled | loop | instructions, unrolled | loop |"
    )
    print("|-|-:|-:|-:|-:|-:|-:|")
    for name in paths:
        unrolled, loop = (figures(Path(name), passes) for passes in (False, True))
        cells = [f"{n:,}" for pair in zip(unrolled, loop, strict=True) for n in pair]
        print(f"| {Path(name).name.removesuffix('.image.tflite')} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
