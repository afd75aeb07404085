"""The differential fuzzer on emulated boards runs many random graphs in one firmware.

    python -m tests.fuzz.emulated --board qemu_mps2_an386 --cases 500 --seed 0

All graphs of a batch are linked into one firmware, which reads their inputs from a file and writes their outputs to
another (file_firmware.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.project import write_project
from arenite.firmware.generator.target import Target
from arenite.firmware.sources import ENGINE
from arenite.host.bench.reference import Reference
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import load_board
from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import Mismatch, lower, mismatch_of, random_input
from tests.fuzz.file_firmware import read_outputs, sources, write_inputs

#: The number of graphs that are created together. They are then divided into batches that fit the board.
_GRAPHS_PER_ROUND = 500
#: RAM for the stack and for tables. Tensors may fill a quarter of the other RAM, because kernels also need scratch.
_RESERVED_BYTES = 8192
#: The maximum number of inputs, and of outputs, of graphs that are joined: the protocol has one byte for each number.
MAX_TENSORS = 255

_HEADER = """\
#ifndef MODEL_H
#define MODEL_H
#include "arenite.h"
#define MODEL_LAYERS {layers}
extern const ar_model model;
#endif
"""


def compare_emulated(
    models: Sequence[Model],
    board_name: str,
    *,
    seed: int = 0,
    optimise: str = "speed",
    folder: Path | None = None,
) -> tuple[list[Mismatch], list[str]]:
    """Run every graph once on the emulated board, with the board's kernels, and in LiteRT.

    Return every difference, and the kernel of every layer. ``folder`` stores the compiled engine for the next call.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="arenite-fuzz-") as temporary:
            return compare_emulated(models, board_name, seed=seed, optimise=optimise, folder=Path(temporary))
    board = load_board(board_name)
    target = Target.for_core(board.core, optimise)
    batch = [lower(m, f"m{k}_", target) for k, m in enumerate(models)]
    engine = [path.name for path in ENGINE.paths(".c")]  # all files, because batches need different ones
    files = sources(batch)
    # The firmware has as many tick counters as the longest graph has layers: when a graph runs several layers together,
    # row by row (docs/streaming.md), the engine counts the ticks of each of them.
    files["model.h"] = _HEADER.format(layers=max(len(g.calls) for g in batch))
    project = write_project(folder / board.name, files, engine, board, optimise=optimise, stack_bytes=4096)
    inputs = []
    for k, g in enumerate(batch):
        rng = np.random.default_rng([seed, k])
        inputs.append([random_input(g.model.main.tensors[i], rng) for i in g.model.main.inputs])
    write_inputs(folder, inputs)
    with start(board, direct_build(project), folder=folder) as machine:
        # On a busy computer the emulator can be much slower than a board.
        client = DeviceClient(machine.transport, resend_s=10, attempts=30, infer_timeout_s=300)
        client.hello()
        client.infer(fresh=True)
        assert client.read_output(0, 4) == bytes(4), "the firmware could not read or write a file"
    outputs = list(read_outputs(folder, batch))
    mismatches = []
    for k, g in enumerate(batch):
        expected = Reference(to_flatbuffer(g.model)).run(inputs[k])
        found = (
            mismatch_of(k, position, 0, *pair)
            for position, pair in enumerate(zip(expected, outputs[k], strict=True))
        )
        mismatches += [mismatch for mismatch in found if mismatch]
    return mismatches, [layer.call.kernel for g in batch for layer in g.calls if layer.call is not None]


def batches(models: Sequence[Model], max_bytes: int) -> list[list[Model]]:
    """Return the graphs in batches. The activations of a batch have at most ``max_bytes``, and its inputs and
    outputs do not exceed the protocol's maximum number of tensors."""
    result: list[list[Model]] = [[]]
    inputs, outputs, size = 1, 0, 0
    for m in models:
        graph = m.main
        need = sum(t.nbytes for t in graph.tensors if t.data is None)
        counts = (len(graph.inputs), len(graph.outputs))
        if result[-1] and (
            inputs + counts[0] > MAX_TENSORS or outputs + counts[1] > MAX_TENSORS or size + need > max_bytes
        ):
            result.append([])
            inputs, outputs, size = 1, 0, 0
        result[-1].append(m)
        inputs, outputs, size = inputs + counts[0], outputs + counts[1], size + need
    return result


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.emulated", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--board", default="qemu_mps2_an386")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimise", choices=OPTIMISE_MODES, default="speed")
    parser.add_argument("--op", action="append", help="only these operators")
    args = parser.parse_args(argv)
    ops = args.op or sorted(load_all())
    counts: Counter[str] = Counter()
    kernels: Counter[str] = Counter()
    failures = finished = 0
    with tempfile.TemporaryDirectory(prefix="arenite-fuzz-") as folder:
        for first in range(0, args.cases, _GRAPHS_PER_ROUND):
            models = [
                random_model(args.seed, k, ops, 3)
                for k in range(first, min(first + _GRAPHS_PER_ROUND, args.cases))
            ]
            for batch in batches(models, (load_board(args.board).ram_bytes - _RESERVED_BYTES) // 4):
                counts.update(op.name for m in batch for op in m.main.ops)
                differences, used = compare_emulated(
                    batch, args.board, seed=args.seed, optimise=args.optimise, folder=Path(folder)
                )
                kernels.update(used)
                for mismatch in differences:
                    failures += 1
                    print(f"seed {args.seed} graph {finished + mismatch.case}: {mismatch}", file=sys.stderr)
                finished += len(batch)
            print(
                f"{finished:,} of {args.cases:,} graphs, {failures} mismatches", file=sys.stderr, flush=True
            )
    # The tier is the instruction set of the kernels (scalar, dsp or mve). The name of a kernel ends with it.
    tier = Target.for_core(load_board(args.board).core, args.optimise).tier
    tier_layers = sum(n for kernel, n in kernels.items() if kernel.endswith(f"_{tier}"))
    print(
        f"{args.board}, {args.optimise}, seed {args.seed}: {finished} graphs, operator types: {len(counts)}, "
        f"{tier_layers:,} of {kernels.total():,} layers by kernels of tier {tier}, mismatches: {failures}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
