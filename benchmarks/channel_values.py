"""Channels that take two values: the ones that an analysis better than that of intervals could still fold.

    python -m benchmarks.channel_values model.tflite ...

Runs LiteRT's reference kernels on random inputs: noise, noise in blocks, extremes. In a chain of FULLY_CONNECTED layers
it also climbs, for each unit that has not varied yet, along the gradient to the unit's largest and smallest sum. A
channel that was seen to vary is not constant; one that was not may be.
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

INPUTS, STARTS, STEPS = 40, 24, 80


class ChannelWatch:
    """Lowest and highest value seen of each channel of each layer with weights."""

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
            seen = self._interpreter.get_tensor(layer.out.index).reshape(-1, len(layer.bias)).astype(int)
            self.low[k] = np.minimum(self.low[k], seen.min(axis=0))
            self.high[k] = np.maximum(self.high[k], seen.max(axis=0))

    def still(self, k: int) -> np.ndarray:
        """The channels of layer ``k`` that have not varied."""
        return np.flatnonzero(self.low[k] >= self.high[k])


def random_input(shape: tuple[int, ...], kind: int, rng: np.random.Generator) -> np.ndarray:
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
    """Inputs [len(units), depth] with a large (``sign`` 1) or small sum in ``units`` of layer ``k``, one for each."""
    depth = chain[0].weights[0].size
    x = rng.integers(-128, 128, (len(units), depth)).astype(np.float64)
    for step in range(STEPS):
        value, open_ = x, []
        for layer in chain[: k + 1]:
            zero, low, high = layer.out.zero_point, *layer.limits
            sums = (value - layer.inp.zero_point) @ layer.weights.reshape(len(layer.bias), -1).T + layer.bias
            real = sums * layer.scale + zero
            open_.append((real > low) & (real < high))
            value = np.clip(real, low, high)
        slope = np.zeros_like(value)
        slope[np.arange(len(units)), units] = sign
        for j in range(k, -1, -1):
            layer = chain[j]
            if j < k:
                slope = slope * np.where(open_[j], 1.0, 0.02)  # a little, so that closed units can open
            slope = (slope * layer.scale) @ layer.weights.reshape(len(layer.bias), -1)
        share = max(0.02, 0.5 * (1 - step / STEPS))
        strong = np.abs(slope) >= np.quantile(np.abs(slope), 1 - share, axis=1, keepdims=True)
        x = np.where(strong, np.where(slope > 0, 127.0, -128.0), x)
    return x


def watch(path: Path) -> None:
    model, _ = fold_constants(load_any(path))
    rng = np.random.default_rng(0)
    seen = ChannelWatch(model)
    shapes = [model.main.tensors[i].shape for i in model.main.inputs]
    for n in range(INPUTS):
        seen.run([random_input(shape, n % 4, rng) for shape in shapes])
    if all(op.name == "FULLY_CONNECTED" for op in model.main.ops) and len(shapes) == 1:
        for k in range(len(seen.layers)):
            for sign in (1, -1):
                units = np.repeat(seen.still(k), STARTS)
                for x in climb(seen.layers, k, units, sign, rng) if len(units) else ():
                    seen.run([x.reshape(shapes[0]).astype(np.int8)])
    known = analyze_intervals(model.main)
    proven = [known[layer.out.index].constant for layer in seen.layers]
    still = sum(len(seen.still(k)) for k in range(len(seen.layers)))
    print(f"| {path.stem} | {sum(map(len, proven)):,} | {still:,} | {sum(int(p.sum()) for p in proven):,} |")


def main(paths: list[str]) -> int:
    print("| model | channels | never seen to vary | proven constant |")
    print("|-|-:|-:|-:|")
    for path in paths:
        watch(Path(path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
