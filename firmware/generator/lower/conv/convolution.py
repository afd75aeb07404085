"""Code that all convolutions share: checks of weights and bias, multipliers, and the fields of
``ar_conv_2d_params``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range, conv_padding
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    LowerContext,
    refuse,
    require_constant,
    require_dtype,
    require_quantized,
    u16,
)
from arenite.firmware.generator.requant.compact_channels import (
    DROPPED_BITS,
    CompactChannels,
    LayerChannels,
    compact_channels,
    replace_extreme_scales,
)
from arenite.firmware.generator.requant.layer_scales import channel_multipliers
from arenite.firmware.generator.requant.packed_multiplier import SHIFT_BITS, accumulator_bounds, pack, shorten
from arenite.firmware.generator.target import Target

ACTIVATIONS = ("int8", "int16")
BIAS_OF = {"int8": "int32", "int16": "int64"}
#: TensorType.INT32 in the TFLite schema.
_INT32 = 2
REQUANTIZE = "Quantize the model again, with symmetric per-channel int8 weights."


@dataclass(frozen=True)
class ConvolutionView:
    """A convolution in the form that its kernels need. Properties with two numbers are (vertical, horizontal).

    ``input``: [batches, height, width, channels]. ``weights``: [out_c, k_h, k_w, k_c], for DEPTHWISE_CONV_2D
    [1, k_h, k_w, out_c]. ``position``: the index of the input among the operator's inputs.
    """

    op: Op
    input: Tensor
    weights: Tensor
    bias: Tensor | None
    output: Tensor
    position: int = 0

    @property
    def kernel(self) -> tuple[int, int]:
        """Height and width of the window."""
        return self.weights.shape[1], self.weights.shape[2]

    @property
    def stride(self) -> tuple[int, int]:
        return self.op.options["stride_h"], self.op.options["stride_w"]

    @property
    def dilation(self) -> tuple[int, int]:
        options = self.op.options
        return options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)

    @property
    def padding(self) -> tuple[int, int]:
        """Rows of padding above the image, and columns on its left."""
        size, mode = self.input.shape[1:3], self.op.options["padding"]
        top, left = (
            conv_padding(mode, size[k], self.kernel[k], self.stride[k], self.dilation[k])[1] for k in (0, 1)
        )
        return top, left

    @property
    def activation_range(self) -> tuple[int, int]:
        """The lowest and highest output value that the fused activation allows."""
        return activation_range(self.op.options.get("fused_activation_function", 0), self.output)

    @property
    def filters(self) -> np.ndarray:
        """The constant weights. Raises ``UnsupportedModelError`` for weights that are computed at run time."""
        return require_constant(self.op, self.weights, "weights")

    @property
    def bias_values(self) -> np.ndarray | None:
        """The constant bias, or None for a convolution without bias."""
        return None if self.bias is None else self.bias.data


def view_convolution(
    graph: Subgraph, op: Op, data: int = 0, weights: int = 1, bias: int = 2
) -> ConvolutionView:
    """Return the view of a convolution. ``data``, ``weights`` and ``bias`` are positions among the operator's
    inputs."""
    optional = op.input(bias)
    return ConvolutionView(
        op,
        graph.tensors[op.inputs[data]],
        graph.tensors[op.inputs[weights]],
        None if optional < 0 else graph.tensors[optional],
        graph.tensors[op.outputs[0]],
        data,
    )


def check_convolution(graph: Subgraph, op: Op, data: int, weights: int, bias: int, axis: int) -> None:
    """Raise ``UnsupportedModelError`` for a convolution that the kernels cannot run exactly. ``data``, ``weights`` and
    ``bias`` are input positions of the op; ``axis`` is the output channel axis of the weights."""
    inp, out = graph.tensors[op.inputs[data]], graph.tensors[op.outputs[0]]
    check_activations(op, inp, out)
    check_weights(op, graph.tensors[op.inputs[weights]], axis)
    if op.input(bias) >= 0:
        check_bias(op, graph.tensors[op.input(bias)], inp)
    if inp.dtype == "int16" and op.options.get("quantized_bias_type") == _INT32:
        raise refuse(op, None, "requires a 32-bit accumulator", "Quantize the biases to int64.")
    check_accumulator(op, graph, weights, bias, axis)
    u8(op, op.options["stride_h"], "vertical stride")
    u8(op, op.options["stride_w"], "horizontal stride")
    multipliers(op, inp, graph.tensors[op.inputs[weights]], out)


def check_activations(op: Op, inp: Tensor, out: Tensor) -> None:
    """Raise ``UnsupportedModelError`` unless input and output have the same quantized type, int8 or symmetric int16."""
    require_dtype(op, inp, ACTIVATIONS)
    require_dtype(op, out, (inp.dtype,))
    require_quantized(op, inp)
    require_quantized(op, out)


def check_weights(op: Op, weights: Tensor, axis: int) -> None:
    """Raise ``UnsupportedModelError`` unless the weights are constant symmetric int8, quantized per tensor or along
    ``axis``."""
    require_dtype(op, weights, ("int8",))
    require_constant(op, weights, "weights")
    if weights.quant is None or any(weights.quant.zero_point):
        raise refuse(op, weights, "weights must be quantized with zero point 0", REQUANTIZE)
    if weights.quant.per_axis and weights.quant.axis != axis:
        raise refuse(
            op, weights, f"weights are quantized along axis {weights.quant.axis}, expected {axis}", REQUANTIZE
        )


def check_bias(op: Op, bias: Tensor, inp: Tensor) -> None:
    """Raise ``UnsupportedModelError`` unless the bias is constant, and int32 for int8 activations or int64 for
    int16."""
    require_constant(op, bias, "bias")
    require_dtype(op, bias, (BIAS_OF[inp.dtype],))
    # LiteRT adds the bias to the sum of the products, and scales only sums of 48 bits correctly (-2^47 to 2^47 - 1). A
    # bias below 2^46 leaves room for the products.
    if bias.dtype == "int64" and bias.data is not None and np.any(np.abs(bias.data) >= 1 << 46):
        raise refuse(
            op,
            bias,
            "a bias of 2^46 or more leaves no room for the products in the 48-bit accumulator",
            REQUANTIZE,
        )


def check_accumulator(op: Op, graph: Subgraph, weights: int, bias: int, axis: int) -> None:
    """Raise ``UnsupportedModelError`` for an int8 convolution whose sums could exceed 32 bits, because the result is
    undefined in LiteRT."""
    w = graph.tensors[op.inputs[weights]]
    if graph.tensors[op.outputs[0]].dtype != "int8" or w.data is None:
        return
    others = tuple(a for a in range(4) if a != axis)
    largest = np.abs(w.data.astype(np.int64)).sum(axis=others) * 255
    if op.input(bias) >= 0:
        values = require_constant(op, graph.tensors[op.input(bias)], "bias")
        largest = largest + np.abs(values.astype(np.int64))
    if np.any(largest >= 1 << 31):
        raise refuse(op, w, "its sums can overflow 32 bits", "Split the layer into smaller ones.")


def multipliers(op: Op, inp: Tensor, weights: Tensor, out: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return (multipliers, int32; shifts, int8), one of each per scale of the weights.

    They represent input scale * weight scale / output scale, computed in double precision. For int16 a multiplier has
    16 bits, because LiteRT rounds it to 16 bits before a 64-bit product.
    """
    pairs = channel_multipliers(inp, weights, out)
    if inp.dtype == "int16":
        pairs = [narrow_multiplier(op, out, m, s) for m, s in pairs]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def narrow_multiplier(op: Op, out: Tensor, multiplier: int, shift: int) -> tuple[int, int]:
    """Return the 16 bits of a multiplier that LiteRT uses for a 64-bit sum, and its shift; see ``ar_requant_wide``."""
    if shift > 7:  # LiteRT is outside of its documented range here
        raise refuse(
            op,
            out,
            "its scale is more than 127 times smaller than the product of the inputs' scales",
            REQUANTIZE,
        )
    return min((multiplier + (1 << 15)) >> 16, 0x7FFF), shift


def u8(op: Op, value: int, name: str) -> int:
    """Return ``value`` if it fits an 8-bit parameter field that must not be zero. Raises
    ``UnsupportedModelError`` otherwise."""
    if not 1 <= value <= 255:
        raise refuse(
            op,
            None,
            f"{name} is {value}, but the kernels support 1 to 255",
            f"Change the {name} of the layer.",
        )
    return value


@dataclass(frozen=True)
class StoredLayer:
    """The multipliers of a layer as they are stored in flash: ``packed`` words or ``dense`` channels, if one of the two
    is proven to change no output. Otherwise both are None."""

    channels: LayerChannels
    packed: np.ndarray | None
    dense: CompactChannels | None


def biases_of(bias: Tensor | None, channels: int) -> np.ndarray:
    return np.zeros(channels, np.int32) if bias is None or bias.data is None else bias.data


def stored_layer(
    target: Target, layer: LayerChannels, axis: int, inp: Tensor, out: Tensor, act: tuple[int, int]
) -> StoredLayer:
    """Return the form in which flash stores the layer. In a build for small flash, it is the smallest form that is
    proven exact."""
    # The scaled sums at which the clamped output increases, and the range of an input minus its zero point.
    levels = np.arange(act[0] + 1, act[1] + 1) - out.zero_point
    reach = (-128 - inp.zero_point, 127 - inp.zero_point)

    def bounds(channels: LayerChannels) -> tuple[np.ndarray, np.ndarray]:
        return accumulator_bounds(channels.weights, axis, channels.bias, reach)

    if target.optimise == "flash":
        replaced = replace_extreme_scales(layer, axis, bounds(layer), out.zero_point, act)
        for dropped in DROPPED_BITS:
            if replaced is None:
                break
            short = shorten(replaced.multiplier, replaced.shift, *bounds(replaced), levels, dropped)
            dense = None if short is None else compact_channels(short, replaced.bias)
            if dense is not None:
                return StoredLayer(replaced, None, dense)
        if replaced is not None:
            packed = pack(replaced.multiplier, replaced.shift, *bounds(replaced), levels)
            if packed is not None:
                return StoredLayer(replaced, packed, None)
    return StoredLayer(layer, pack(layer.multiplier, layer.shift, *bounds(layer), levels), None)


def convolution_fields(
    ctx: LowerContext, view: ConvolutionView, k_c: int, padding: tuple[int, int], *, axis: int = 0
) -> dict[str, Any]:
    """Return all fields of ``ar_conv_2d_params``.

    ``k_c`` is the number of channels of a filter, or the depth multiplier of a DEPTHWISE_CONV_2D. ``padding`` is (top,
    left), and ``axis`` is the axis of the output channels in the weights.
    """
    op, inp, w, out = view.op, view.input, view.weights, view.output
    batches, in_h, in_w, in_c = inp.shape
    multiplier, shift = multipliers(op, inp, w, out)
    if len(multiplier) == 1:
        multiplier, shift = np.repeat(multiplier, out.shape[3]), np.repeat(shift, out.shape[3])
    act_min, act_max = view.activation_range
    biases = biases_of(view.bias, len(multiplier))
    layer = LayerChannels(multiplier, shift, biases, view.filters)
    stored = (
        stored_layer(ctx.target, layer, axis, inp, out, (act_min, act_max)) if out.dtype == "int8" else None
    )
    if stored is not None:
        layer = stored.channels
    dense = stored.dense if stored is not None else None
    packed = stored.packed if stored is not None else None
    bias_values = view.bias_values
    if dense is not None:
        bias_values = dense.bias
    elif stored is not None and stored.channels.bias is not biases:
        bias_values = stored.channels.bias
    table = layer.multiplier if packed is None else packed
    return {
        "input": ctx.input_ptr(view.position),
        "output": ctx.output_ptr(),
        "weights": ctx.weights(layer.weights, "weights"),
        "bias": NULL if bias_values is None else ctx.weights(bias_values, "bias"),
        "multiplier": ctx.table(table if dense is None else dense.table, "multiplier"),
        "shift": ctx.table(layer.shift, "shift") if packed is None and dense is None else NULL,
        "spare": 0 if dense is None else dense.spare,
        "packed_shift": SHIFT_BITS if dense is None else dense.shift_base << 3 | dense.shift_bits,
        "batches": u16(op, batches, "batch size"),
        "in_h": u16(op, in_h, "input height"),
        "in_w": u16(op, in_w, "input width"),
        "in_c": u16(op, in_c, "input channels"),
        "out_h": u16(op, out.shape[1], "output height"),
        "out_w": u16(op, out.shape[2], "output width"),
        "out_c": u16(op, out.shape[3], "output channels"),
        "k_h": u16(op, view.kernel[0], "kernel height"),
        "k_w": u16(op, view.kernel[1], "kernel width"),
        "k_c": u16(op, k_c, "kernel channels"),
        "pad_top": u16(op, padding[0], "padding"),
        "pad_left": u16(op, padding[1], "padding"),
        "stride_h": view.stride[0],
        "stride_w": view.stride[1],
        "dilation_h": u8(op, view.dilation[0], "vertical dilation"),
        "dilation_w": u8(op, view.dilation[1], "horizontal dilation"),
        "input_offset": -inp.zero_point,
        "output_offset": out.zero_point,
        "act_min": act_min,
        "act_max": act_max,
    }
