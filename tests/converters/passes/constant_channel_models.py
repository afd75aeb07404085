"""Random int8 networks with dead channels: channels that are constant, and channels that no operator reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Quantization, Subgraph
from arenite.converters.graph.quantized_arithmetic import SAME, VALID, conv_padding
from arenite.converters.passes.intervals import analyze_intervals
from arenite.converters.tflite.image import to_flatbuffer
from arenite.host.bench.reference import Reference
from tests.fuzz.comparison import random_input
from tests.fuzz.graph_builder import GraphBuilder, f32

#: A bias larger than any sum of products, so that the output is always at a limit of the activation.
_SATURATING_BIAS = 1 << 24


class DeadChannelBuilder:
    """Adds layers to a ``GraphBuilder``. A random share of their output channels is dead."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)
        self.b = GraphBuilder(self.rng)
        self.dead_share = float(self.rng.uniform(0.05, 0.4))

    def quant(self, scale: float | None = None) -> Quantization:
        """Return a quantization. Its zero point is mostly -128, as after a ReLU, so that dead channels are 0."""
        zero = int(self.rng.choice([-128, -128, -128, int(self.rng.integers(-100, 100))]))
        # LiteRT refuses smaller scales, because the limits of an activation overflow int32 there.
        return self.b.quant("int8", zero, None if scale is None else max(scale, 1e-6))

    def largest_range(self, x: int) -> float:
        """Return the largest range of a channel of ``x``, in quantization steps. Output scales are computed from it."""
        b = self.b
        intervals = analyze_intervals(Subgraph("", tuple(b.tensors), tuple(b.ops), tuple(b.inputs), ()))[x]
        return float(max((intervals.high - intervals.low).max(), 8))

    def weights(self, shape: tuple[int, ...], axis: int, channels: int) -> tuple[np.ndarray, Quantization]:
        """Return random weights and their quantization, mostly with a scale per channel along ``axis``."""
        values = self.rng.integers(-128 if self.rng.random() < 0.1 else -127, 128, shape)
        values[self.rng.random(shape) < 0.2] = 0
        scales = [f32(s) for s in self.rng.uniform(0.002, 0.02, channels)]
        if channels == 1 or self.rng.random() < 0.3:
            return values, Quantization((scales[0],), (0,))
        return values, Quantization(tuple(scales), (0,) * channels, axis)

    def layer(self, name: str, x: int, units: int, kernel: tuple[int, int] = (1, 1), **options: Any) -> int:
        """Add a layer with weights that reads ``x``. It has dead output channels and sometimes does not read an input
        channel. Return its output tensor."""
        b, rng = self.b, self.rng
        in_c = b[x].shape[-1]
        axis = 3 if name == "DEPTHWISE_CONV_2D" else 0
        if name == "FULLY_CONNECTED":
            depth = b[x].elements // b[x].shape[0]
            shape: tuple[int, ...] = (units, depth)
        else:
            depth = kernel[0] * kernel[1] * (in_c if axis == 0 else 1)
            shape = (units, *kernel, in_c) if axis == 0 else (1, *kernel, units)
        values, quant = self.weights(shape, axis, units)
        limit = int(self.largest_range(x) * 30)
        bias = rng.integers(-limit, limit + 1, units)
        for c in np.flatnonzero(rng.random(units) < self.dead_share):
            self.make_constant(values[(slice(None),) * axis + (c,)], bias, int(c))
        if axis == 0 and rng.random() < 0.3:
            values[..., rng.random(shape[-1]) < 0.3] = 0
        # About the largest real output: the range of an input times a typical weight (65) times the square root of the
        # number of products.
        spread = b[x].scale * float(np.mean(quant.scale)) * self.largest_range(x) * 65 * np.sqrt(depth)
        if name == "FULLY_CONNECTED":  # the last layer has a fine scale, so that small errors show
            out_quant = b.quant("int8", 0, f32(max(spread / 800, 1e-6)))
        else:
            out_quant = self.quant(f32(spread / 100))
        scales = tuple(f32(b[x].scale * s) for s in quant.scale)
        w = b.const(values, "int8", quant)
        biases = b.const(bias, "int32", Quantization(scales, (0,) * len(scales), 0))
        activation = 0 if name == "FULLY_CONNECTED" else int(rng.choice([0, 1, 1, 3]))
        if name == "FULLY_CONNECTED":
            y = b.tensor((b[x].shape[0], units), "int8", out_quant)
            no_bias = rng.random() < 0.2
            b.op(
                name,
                [x, w, -1 if no_bias else biases],
                [y],
                "FullyConnectedOptions",
                version=4,
                fused_activation_function=activation,
            )
            return y
        sizes = [
            conv_padding(options["padding"], n, k, options[f"stride_{d}"], options[f"dilation_{d}_factor"])[0]
            for n, k, d in zip(b[x].shape[1:3], kernel, "hw", strict=True)
        ]
        y = b.tensor((b[x].shape[0], *sizes, units), "int8", out_quant)
        if axis == 3:
            options["depth_multiplier"] = units // in_c
        options_type = "DepthwiseConv2DOptions" if axis == 3 else "Conv2DOptions"
        b.op(
            name,
            [x, w, biases],
            [y],
            options_type,
            version=3,
            fused_activation_function=activation,
            **options,
        )
        return y

    def make_constant(self, weights: np.ndarray, bias: np.ndarray, c: int) -> None:
        """Make output channel ``c`` constant: at the lower limit of the activation, at the upper limit, or at its bias.
        ``weights`` are those of the channel."""
        draw = self.rng.random()
        if draw < 0.6:
            bias[c] = -_SATURATING_BIAS  # with a ReLU, the output is always 0
        elif draw < 0.75:
            bias[c] = _SATURATING_BIAS
        else:
            weights[...] = 0

    def window(self, x: int) -> tuple[tuple[int, int], dict[str, int]]:
        """Return a random (height, width) of the kernel and options (stride, dilation, padding) that give at least one
        output for ``x``."""
        rng, (h, w) = self.rng, self.b[x].shape[1:3]
        kernel = tuple(int(rng.integers(1, min(3, n) + 1)) for n in (h, w))
        dilation = [
            2 if rng.random() < 0.2 and 2 * (k - 1) < n else 1 for k, n in zip(kernel, (h, w), strict=True)
        ]
        return (kernel[0], kernel[1]), {
            "padding": int(rng.choice([SAME, SAME, VALID])),
            "stride_h": int(rng.integers(1, 3)),
            "stride_w": int(rng.integers(1, 3)),
            "dilation_h_factor": dilation[0],
            "dilation_w_factor": dilation[1],
        }

    # -- steps of a network: each takes the index of a tensor of rank 4 and returns the index of its output -

    def convolution(self, x: int) -> int:
        """Add a CONV_2D with a random window."""
        kernel, options = self.window(x)
        return self.layer("CONV_2D", x, int(self.rng.integers(2, 9)), kernel, **options)

    def depthwise(self, x: int) -> int:
        """Add a DEPTHWISE_CONV_2D with a random window."""
        kernel, options = self.window(x)
        times = int(self.rng.choice([1, 1, 2]))
        return self.layer("DEPTHWISE_CONV_2D", x, self.b[x].shape[3] * times, kernel, **options)

    def pointwise(self, x: int, units: int | None = None) -> int:
        """Add a CONV_2D with a 1 x 1 kernel."""
        options: dict[str, Any] = {"padding": SAME, **dict.fromkeys(("stride_h", "stride_w"), 1)}
        options |= dict.fromkeys(("dilation_h_factor", "dilation_w_factor"), 1)
        return self.layer("CONV_2D", x, units or int(self.rng.integers(2, 9)), **options)

    def residual(self, x: int) -> int:
        """Add x + f(x), or the sum of two branches."""
        channels = self.b[x].shape[3]
        branch = self.pointwise(self.pointwise(x), channels)
        trunk = x if self.rng.random() < 0.6 else self.pointwise(x, channels)
        return self.binary("ADD", trunk, branch)

    def binary(self, name: str, x: int, y: int) -> int:
        """Add the operator ``name`` (ADD or MUL) of two tensors, with an output scale for the range of its results."""
        b = self.b
        shape = np.broadcast_shapes(b[x].shape, b[y].shape)
        widths = [self.largest_range(i) * b[i].scale for i in (x, y)]
        min_scale = max(b[x].scale, b[y].scale) / 2**15
        scale = f32(max(min_scale, sum(widths) / 250) if name == "ADD" else widths[0] * widths[1] / 250)
        out = b.tensor(shape, "int8", self.quant(scale))
        options = f"{name.title()}Options"
        b.op(name, [x, y], [out], options, version=2, fused_activation_function=int(self.rng.choice([0, 1])))
        return out

    def constant_operand(self, x: int) -> int:
        """Add a constant to each channel, or multiply each channel by a constant."""
        shape = (1, 1, 1, self.b[x].shape[3] if self.rng.random() < 0.7 else 1)
        y = self.b.const(
            self.rng.integers(-128, 128, shape), "int8", self.b.quant("int8", 0, self.b[x].scale)
        )
        return self.binary(str(self.rng.choice(["ADD", "MUL"])), x, y)

    def pool(self, x: int) -> int:
        """Add an average or maximum pool."""
        b, rng = self.b, self.rng
        kernel, options = self.window(x)
        sizes = [
            conv_padding(options["padding"], n, k, options[f"stride_{d}"], 1)[0]
            for n, k, d in zip(b[x].shape[1:3], kernel, "hw", strict=True)
        ]
        y = b.tensor((b[x].shape[0], *sizes, b[x].shape[3]), "int8", b[x].quant)
        b.op(
            str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])),
            [x],
            [y],
            "Pool2DOptions",
            version=2,
            filter_height=kernel[0],
            filter_width=kernel[1],
            padding=options["padding"],
            stride_h=options["stride_h"],
            stride_w=options["stride_w"],
        )
        return y

    def pad(self, x: int) -> int:
        """Add a PAD of height and width."""
        b = self.b
        amounts = np.zeros((4, 2), np.int32)
        amounts[1:3] = self.rng.integers(0, 3, (2, 2))
        shape = tuple(int(n) for n in np.array(b[x].shape) + amounts.sum(axis=1))
        y = b.tensor(shape, "int8", b[x].quant)
        b.op("PAD", [x, b.const(amounts, "int32")], [y], "PadOptions")
        return y

    def activation(self, x: int) -> int:
        """Add a RELU, RELU6 or QUANTIZE with another scale."""
        b = self.b
        name = str(self.rng.choice(["RELU", "RELU6", "QUANTIZE"]))
        y = b.tensor(b[x].shape, "int8", self.quant(f32(b[x].scale * self.rng.uniform(0.6, 1.6))))
        b.op(name, [x], [y], "QuantizeOptions" if name == "QUANTIZE" else "", version=2)
        return y

    def join(self, x: int) -> int:
        """Concatenate two branches that have the same quantization."""
        b = self.b
        branches = [self.pointwise(x), self.pointwise(x)]
        quant = b[branches[0]].quant
        branches[1] = self._requantized(branches[1], quant)
        shape = (*b[x].shape[:3], sum(b[i].shape[3] for i in branches))
        y = b.tensor(shape, "int8", quant)
        b.op("CONCATENATION", branches, [y], "ConcatenationOptions", version=2, axis=3)
        return y

    def _requantized(self, x: int, quant: Quantization | None) -> int:
        """Add a QUANTIZE of ``x`` to ``quant``."""
        y = self.b.tensor(self.b[x].shape, "int8", quant)
        self.b.op("QUANTIZE", [x], [y], "QuantizeOptions", version=2)
        return y

    def head(self, x: int) -> int:
        """Add layers that compute a vector of scores from an image."""
        b = self.b
        if self.rng.random() < 0.4:
            y = b.tensor((b[x].shape[0], b[x].shape[3]), "int8", self.quant(b[x].scale))
            b.op("MEAN", [x, b.const([1, 2], "int32")], [y], "ReducerOptions", version=2)
        elif self.rng.random() < 0.5:
            y = x  # FULLY_CONNECTED flattens its input
        else:
            flat = (b[x].shape[0], b[x].elements // b[x].shape[0])
            y = b.tensor(flat, "int8", b[x].quant)
            b.op("RESHAPE", [x, b.const(flat, "int32")], [y], "ReshapeOptions", new_shape=flat)
        return self.layer("FULLY_CONNECTED", y, int(self.rng.integers(2, 5)))


def dead_channel_model(seed: Sequence[int]) -> Model:
    """Return a network with dead channels: two to six random steps and a head."""
    builder = DeadChannelBuilder(seed)
    x = builder.b.input(
        (int(builder.rng.choice([1, 1, 2])), *map(int, builder.rng.integers(2, 9, 3))),
        "int8",
        builder.quant(),
    )
    steps = [
        builder.convolution,
        builder.depthwise,
        builder.pointwise,
        builder.residual,
        builder.constant_operand,
        builder.pool,
        builder.pad,
        builder.activation,
        builder.join,
    ]
    for step in builder.rng.choice(
        len(steps), int(builder.rng.integers(2, 7)), p=np.array([4, 5, 4, 4, 1, 1, 1, 1, 2]) / 23
    ):
        x = steps[step](x)
    builder.head(x)
    return builder.b.build()


def assert_same(old: Model, new: Model, seed: int = 0, runs: int = 6) -> None:
    """Check that LiteRT's reference kernels give equal bytes for both models, on random and extreme inputs."""
    rng = np.random.default_rng(seed)
    references = [Reference(to_flatbuffer(m)) for m in (old, new)]
    tensors = [old.main.tensors[i] for i in old.main.inputs]
    feeds = [[random_input(t, rng) for t in tensors] for _ in range(runs)]
    if all(t.dtype == "int8" for t in tensors):
        feeds += [[np.full(t.shape, end, np.int8) for t in tensors] for end in (-128, 127)]
    for feed in feeds:
        for expected, actual in zip(*(r.run(feed) for r in references), strict=True):
            assert expected.dtype == actual.dtype and expected.shape == actual.shape
            assert expected.tobytes() == actual.tobytes()
