"""Search for inputs that change the value of a channel. The result shows how many more channels a better analysis could
prove to be constant.

    python -m benchmarks.channel_values model.tflite ...

This program runs LiteRT's reference kernels on random inputs: noise, noise in blocks, and extreme values. If all layers
are FULLY_CONNECTED, it also follows the gradient to inputs with the largest and the smallest sum of each unit (output
channel) that has not varied yet. A channel that varied is not constant. A channel that did not vary may be constant.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.importers.load import load_any
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.intervals import analyze_intervals
from arenite.converters.passes.intervals.layer import Layer, layer_of
from arenite.converters.tflite.image import to_flatbuffer

#: The number of random inputs, of gradient searches per unit, and of steps per search.
INPUTS, STARTS, STEPS = 40, 24, 80


class ChannelRanges:
    """Runs a model, and records the lowest and highest observed value of each channel of each layer with weights."""

    def __init__(self, model: Model) -> None:
        self.graph: Subgraph = model.main
        self.layers = [layer for op in self.graph.ops if (layer := layer_of(self.graph, op)) is not None]
        self.low = [np.full(len(layer.bias), 127) for layer in self.layers]
        self.high = [np.full(len(layer.bias), -128) for layer in self.layers]
        self._interpreter = Interpreter(
            model_content=to_flatbuffer(model),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        self._interpreter.allocate_tensors()

    def run(self, values: list[np.ndarray]) -> None:
        for index, value in zip(self.graph.inputs, values, strict=True):
            self._interpreter.set_tensor(index, value)
        self._interpreter.invoke()
        for k, layer in enumerate(self.layers):
            observed = self._interpreter.get_tensor(layer.out.index).reshape(-1, len(layer.bias)).astype(int)
            self.low[k] = np.minimum(self.low[k], observed.min(axis=0))
            self.high[k] = np.maximum(self.high[k], observed.max(axis=0))

    def unvaried(self, k: int) -> np.ndarray:
        """Return the numbers of the channels of layer ``k`` whose value has not varied."""
        return np.flatnonzero(self.low[k] >= self.high[k])


def random_input(shape: tuple[int, ...], kind: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random int8 input. ``kind`` is 0 for noise, 1 for extreme values, 2 for one value everywhere, and 3 for
    noise in blocks of 8 x 8 positions."""
    if kind == 0:
        return rng.integers(-128, 128, shape).astype(np.int8)
    if kind == 1:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    if kind == 2:
        return np.full(shape, rng.integers(-128, 128), np.int8)
    small = tuple(-(-d // 8) if 0 < k < len(shape) - 1 else d for k, d in enumerate(shape))
    blocks = rng.integers(-128, 128, small).astype(np.int8)
    for axis in range(1, len(shape) - 1):
        blocks = blocks.repeat(8, axis)
    return blocks[tuple(slice(d) for d in shape)]


def climb(chain: list[Layer], k: int, units: np.ndarray, sign: int, rng: np.random.Generator) -> np.ndarray:
    """Return model inputs of shape [len(units), number of input values]. Row i is an input that a gradient search found
    to maximize (``sign`` 1) or minimize (``sign`` -1) the sum of unit ``units[i]`` of layer ``k`` in ``chain``."""
    depth = chain[0].weights[0].size
    x = rng.integers(-128, 128, (len(units), depth)).astype(np.float64)
    for step in range(STEPS):
        value, unsaturated = x, []
        for layer in chain[: k + 1]:
            zero, low, high = layer.out.zero_point, *layer.limits
            sums = (value - layer.inp.zero_point) @ layer.weights.reshape(len(layer.bias), -1).T + layer.bias
            real = sums * layer.scale + zero
            unsaturated.append((real > low) & (real < high))
            value = np.clip(real, low, high)
        slope = np.zeros_like(value)
        slope[np.arange(len(units)), units] = sign
        for j in range(k, -1, -1):
            layer = chain[j]
            if j < k:
                # A saturated unit gets a small slope, so that the search can move it away from its limit.
                slope = slope * np.where(unsaturated[j], 1.0, 0.02)
            slope = (slope * layer.scale) @ layer.weights.reshape(len(layer.bias), -1)
        # In each step, this share of the inputs, those with the steepest slopes, moves to its best limit. It falls
        # from one half to 2 %.
        share = max(0.02, 0.5 * (1 - step / STEPS))
        strong = np.abs(slope) >= np.quantile(np.abs(slope), 1 - share, axis=1, keepdims=True)
        x = np.where(strong, np.where(slope > 0, 127.0, -128.0), x)
    return x


def report(path: Path) -> None:
    """Print the row of one model: its channels, the channels that never varied, and the channels that are proven
    constant."""
    model, _ = fold_constants(load_any(path))
    rng = np.random.default_rng(0)
    ranges = ChannelRanges(model)
    shapes = [model.main.tensors[i].shape for i in model.main.inputs]
    for n in range(INPUTS):
        ranges.run([random_input(shape, n % 4, rng) for shape in shapes])
    if all(op.name == "FULLY_CONNECTED" for op in model.main.ops) and len(shapes) == 1:
        for k in range(len(ranges.layers)):
            for sign in (1, -1):
                units = np.repeat(ranges.unvaried(k), STARTS)
                for x in climb(ranges.layers, k, units, sign, rng) if len(units) else ():
                    ranges.run([x.reshape(shapes[0]).astype(np.int8)])
    intervals = analyze_intervals(model.main)
    proven = [intervals[layer.out.index].constant for layer in ranges.layers]
    unvaried = sum(len(ranges.unvaried(k)) for k in range(len(ranges.layers)))
    print(
        f"| {path.stem} | {sum(map(len, proven)):,} | {unvaried:,} | {sum(int(p.sum()) for p in proven):,} |"
    )


def main(paths: list[str]) -> int:
    print("| model | channels | never seen to vary | proven constant |")
    print("|-|-:|-:|-:|")
    for path in paths:
        report(Path(path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
