"""Count structure in the weights of models that a graph pass could use: the counts are exact, and nothing is estimated.

    python -m benchmarks.weight_structure model.tflite ...

For each model, after the pass that removes constant channels, the table has the share of weights that are 0, the blocks
of four weights of one output channel that are all 0 (one word of the kernels), the input channels that no output uses,
the channels whose weights are all 0, and the channels whose weights are a multiple of those of another channel of the
same layer.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.importers.load import load_any
from arenite.converters.passes.constant_channels import constant_channels
from arenite.converters.passes.intervals.layer import layer_of
from arenite.host.report.generated_tables import markdown_table

#: Number of weights in a block: the bytes of a word.
BLOCK = 4


@dataclass
class Structure:
    """Counts of a model. ``blocks`` are of ``BLOCK`` neighboring weights of one channel, without a last part."""

    channels: int = 0
    weights: int = 0
    zeros: int = 0
    blocks: int = 0
    zero_blocks: int = 0
    unused_inputs: int = 0
    zero_channels: int = 0
    proportional: int = 0

    def add(self, weights: np.ndarray, depthwise: bool) -> None:
        """Add a layer with ``weights`` [out_c, k_h, k_w, k_c]."""
        rows = weights.reshape(len(weights), -1)
        self.channels += len(rows)
        self.weights += rows.size
        self.zeros += int(np.count_nonzero(rows == 0))
        self.zero_channels += int(np.count_nonzero(~rows.any(axis=1)))
        if depthwise:
            return  # the channels read different inputs, and the kernels read single weights
        blocks = rows[:, : rows.shape[1] // BLOCK * BLOCK].reshape(-1, BLOCK)
        self.blocks += len(blocks)
        self.zero_blocks += int(np.count_nonzero(~blocks.any(axis=1)))
        self.unused_inputs += int(np.count_nonzero(~weights.any(axis=(0, 1, 2))))
        directions = {direction(row) for row in rows if row.any()}
        self.proportional += int(np.count_nonzero(rows.any(axis=1))) - len(directions)


def direction(row: np.ndarray) -> bytes:
    """Return a key that rows of integers share if and only if one is a multiple of the other."""
    first = row[np.flatnonzero(row)[0]]
    reduced = row // np.gcd.reduce(row) * np.sign(first)
    return reduced.astype(np.int64).tobytes()


def structure(graph: Subgraph) -> Structure:
    """Return the counts of all int8 layers of ``graph`` with constant weights."""
    result = Structure()
    for op in graph.ops:
        layer = layer_of(graph, op)
        if layer is not None:
            result.add(layer.weights, layer.input_channel is not None)
    return result


def main(paths: list[str]) -> int:
    rows = []
    for path in paths:
        model = load_any(Path(path))
        s = structure(constant_channels(model)[0].main)
        rows.append(
            (
                *(Path(path).stem, f"{s.channels:,}", f"{s.weights:,}", f"{100 * s.zeros / s.weights:.1f}%"),
                f"{s.zero_blocks:,} of {s.blocks:,}",
                *(f"{n}" for n in (s.unused_inputs, s.zero_channels, s.proportional)),
            )
        )
    header = (
        *("model", "channels", "weights", "zero", "zero blocks of four"),
        *("unused inputs", "zero channels", "proportional channels"),
    )
    print(markdown_table(header, rows, range(1, 8)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
