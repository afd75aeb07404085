"""Find a recipe for a network whose int8 weights exceed a board's flash: ``python -m benchmarks.flash_budget``.

This program trains a dense network on MNIST and checks that plain int8 does not fit the board. It searches for a recipe
within the board's limits and a loss of one point of accuracy, confirms the accuracy on all 10,000 test pictures, and
benches the result. It writes the float model, the image, the Pareto front and the figures of docs/search.md to
``out/budget``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.metrics import metric_drop
from arenite.converters.quantize.scoring.score import score
from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions, search
from arenite.host.bench.run import BenchConfig as BenchOptions
from arenite.host.bench.run import bench
from arenite.host.bench.samples import Samples
from arenite.host.build.board_costs import BoardCosts
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.report.front_svg import front_svg
from arenite.models.datasets import dataset
from arenite.profiles.boards import load_board
from tests.converters.quantize.trained_models import dense_net, train

#: The number of units of each hidden layer. The network has 1.33 million weights in total.
HIDDEN = (1024, 512)

#: The number of pictures of the training set that are not used for training, but only for the search.
HELD_OUT = 2000


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flash_budget", description=__doc__)
    parser.add_argument("--board", default="qemu_netduinoplus2")
    parser.add_argument("--budget", default="drop=1%")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=800, help="Training steps with 64 pictures each.")
    parser.add_argument("--out", type=Path, default=Path("out/budget"))
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    board = load_board(args.board)
    data = dataset("mnist")
    x_train, x_test = data.x_train.reshape(-1, 784), data.x_test.reshape(-1, 784)
    model = args.out / "dense.tflite"
    if not model.exists():
        start = time.monotonic()
        model.write_bytes(
            dense_net(train(x_train[:-HELD_OUT], data.y_train[:-HELD_OUT], HIDDEN, steps=args.steps))
        )
        print(f"trained in {time.monotonic() - start:.0f} s", file=sys.stderr)
    flatbuffer = model.read_bytes()
    calibration = _samples(x_train[:300], data.y_train[:300])
    observations = observe(flatbuffer, calibration)
    held_out = _samples(x_train[-HELD_OUT:], data.y_train[-HELD_OUT:])
    start = time.monotonic()
    outcome = search(
        flatbuffer,
        load_recipe("int8"),
        observations,
        held_out,
        BoardCosts(board),
        parse_budget(args.budget).within(board.ram_bytes, board.flash_bytes),
        RecipeSearchOptions(
            trials=args.trials, workers=args.workers, samples=1000, study_file=args.out / "search.db"
        ),
        identity=[board.name],
        progress=lambda step, done, total: print(f"{done}/{total} {step}", file=sys.stderr),
    )
    print(f"searched in {time.monotonic() - start:.0f} s", file=sys.stderr)
    table = outcome.to_json()
    (args.out / "search.json").write_text(json.dumps(table, indent=1) + "\n")
    (args.out / "front.svg").write_text(front_svg(table) + "\n")
    test = _samples(x_test, data.y_test)
    base = score(flatbuffer, test)
    print(f"float: {base}")
    print(f"plain int8: {'; '.join(outcome.trials[0].misses(outcome.budget)) or 'fits'}")
    if outcome.chosen is None:
        print(f"nothing meets the budget; nearest: {outcome.trials[outcome.nearest].misses(outcome.budget)}")
        return 1
    image = args.out / "chosen.tflite"
    image.write_bytes(outcome.chosen.quantized.flatbuffer)
    after = score(image.read_bytes(), test)
    b = outcome.chosen.build
    print(f"chosen: {table['trials'][outcome.chosen.place]['label']}, {b.options}")
    print(
        f"  flash {b.flash:,} of {board.flash_bytes:,} B, RAM {b.ram:,} B, {b.instructions:,} instructions (estimated)"
    )
    print(f"  {after}, {100 * metric_drop(base, after):.2f} points less; worst classes below")
    for name, part in sorted(
        after.per_class.items(), key=lambda kv: kv[1].value - base.per_class[kv[0]].value
    )[:3]:
        print(f"    class {name}: {base.per_class[name].value:.2%} -> {part.value:.2%}")
    prepared = prepare(image)
    q = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    inputs = [
        [np.clip(np.rint(x / q.scale) + q.zero_point, -128, 127).astype(np.int8)[None]] for x in x_test[:20]
    ]
    measured = bench(
        prepared,
        board,
        Samples(inputs, data.y_test[:20]),
        BenchOptions(BuildOptions(b.options.split()[1]), cycles=False),
        lambda *_: None,
    )
    assert measured.instructions is not None  # the board is emulated
    print(
        f"  measured on {board.name}: flash {measured.flash.total:,} B, "
        f"RAM {measured.memory.ram_total:,} B, {measured.instructions.p50:,} instructions, "
        f"{measured.samples.bit_exact}/{measured.samples.count} bit-exact"
    )
    return 0


def _samples(x: np.ndarray, labels: np.ndarray) -> Dataset:
    return Dataset([[row[None]] for row in x], labels, {}, "00" * 32, Path("mnist"))


if __name__ == "__main__":
    sys.exit(main())
