"""Lower PAD, PADV2 and MIRROR_PAD to kernel calls."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import refuse, register
from arenite.firmware.generator.lower.movement.movement import Movement, ViewPair, filled, same_quant
from arenite.firmware.generator.lower.movement.rearrange import integers


def paddings(graph: Subgraph, op: Op) -> list[tuple[int, int]]:
    """Return (before, after) per dimension. Raises ``UnsupportedModelError`` if the paddings are not constant, or
    negative."""
    flat = integers(graph, op, 1, "the paddings")
    pads = list(zip(flat[0::2], flat[1::2], strict=True))
    if len(pads) != len(graph.tensors[op.inputs[0]].shape) or min(flat, default=0) < 0:
        raise refuse(
            op,
            graph.tensors[op.inputs[1]],
            f"paddings {flat} do not fit the input",
            "Give two paddings of at least 0 for each dimension.",
        )
    return pads


def frame(
    shape: tuple[int, ...], pads: list[tuple[int, int]], out: np.ndarray
) -> tuple[np.ndarray, list[tuple[int, np.ndarray, np.ndarray]]]:
    """Return the interior of ``out``, where the input is copied to, and its borders.

    The borders are views (axis, border before, border after), from the last axis to the first. A border has the size of
    the interior in earlier axes and the size of ``out`` in later axes, which are complete before it is filled.
    """
    if out.shape != tuple(b + d + a for d, (b, a) in zip(shape, pads, strict=True)):
        raise ValueError(f"the output is {list(out.shape)}")
    inner = tuple(slice(b, b + d) for d, (b, _) in zip(shape, pads, strict=True))
    borders = []
    for axis in reversed(range(len(shape))):
        before, after = pads[axis]
        lead = inner[:axis]
        end = before + shape[axis]
        borders.append((axis, out[(*lead, slice(0, before))], out[(*lead, slice(end, end + after))]))
    return out[inner], borders


@register
class Pad(Movement):
    op_name = "PAD"
    supports = (
        "any type; constant paddings; pads with the output's zero point, 0 for int32, int64, bool and float32"
    )

    def check_values(self, graph: Subgraph, op: Op) -> None:
        paddings(graph, op)

    def value(self, graph: Subgraph, op: Op, ins: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """Return the padding value as an array of this shape."""
        out = graph.tensors[op.outputs[0]]
        # LiteRT uses a zero point only for these types, even if a file has one for another type.
        quantized = out.quant is not None and out.dtype in ("int8", "uint8", "int16")
        return filled(shape, out.zero_point if quantized else 0, out.dtype)

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        interior, borders = frame(ins[0].shape, paddings(graph, op), outs[0])
        pairs = [(ins[0], interior)]
        for _, *sides in borders:
            pairs += [(self.value(graph, op, ins, side.shape), side) for side in sides]
        return pairs


@register
class PadV2(Pad):
    op_name = "PADV2"
    supports = "any type; constant paddings; the value may be computed"
    moved = (0, 2)

    def check_values(self, graph: Subgraph, op: Op) -> None:
        super().check_values(graph, op)
        same_quant(op, graph.tensors[op.outputs[0]], graph.tensors[op.inputs[2]])

    def value(self, graph: Subgraph, op: Op, ins: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        if ins[2].size != 1:
            raise ValueError("the padding value is not a scalar")
        return np.broadcast_to(ins[2].reshape(()), shape)


@register
class MirrorPad(Movement):
    op_name = "MIRROR_PAD"
    supports = "any type; constant paddings; reflect and symmetric"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        same_quant(op, graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]])
        limit = 1 if int(op.options["mode"]) == 0 else 0
        for d, pads in zip(graph.tensors[op.inputs[0]].shape, paddings(graph, op), strict=True):
            if max(pads) > d - limit:
                raise refuse(
                    op,
                    None,
                    f"paddings {pads} mirror more than a dimension of {d}",
                    f"Use paddings up to {d - limit}.",
                )

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        skip = 1 if int(op.options["mode"]) == 0 else 0  # REFLECT does not repeat the edge
        pads = paddings(graph, op)
        interior, borders = frame(ins[0].shape, pads, outs[0])
        pairs = [(ins[0], interior)]
        for axis, before, after in borders:
            # ``complete`` is the part of the output along this axis that is as wide as the borders in all other axes.
            lead = tuple(slice(b, b + d) for d, (b, _) in zip(ins[0].shape[:axis], pads, strict=False))
            complete = np.moveaxis(outs[0][lead], axis, 0)
            start = pads[axis][0]
            mirror = complete[start : start + ins[0].shape[axis]]
            left = mirror[skip : skip + pads[axis][0]][::-1]
            right = mirror[len(mirror) - skip - pads[axis][1] : len(mirror) - skip][::-1]
            pairs.append((left, np.moveaxis(before, axis, 0)))
            pairs.append((right, np.moveaxis(after, axis, 0)))
        return pairs
