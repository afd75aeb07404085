"""Lower TRANSPOSE, REVERSE_V2, DEPTH_TO_SPACE, SPACE_TO_DEPTH, TILE, BROADCAST_TO and FILL to kernel calls."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import refuse, register, require_constant
from arenite.firmware.generator.lower.movement.movement import Movement, ViewPair, same_quant


def integers(graph: Subgraph, op: Op, position: int, name: str) -> list[int]:
    """Return the constant integers of an input as a flat list."""
    index = op.input(position)
    values = require_constant(op, graph.tensors[index] if index >= 0 else None, name)
    return [int(v) for v in values.reshape(-1)]


def axis_of(op: Op, axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front. Raises ``UnsupportedModelError`` if it is outside the rank."""
    if not -rank <= axis < rank:
        raise refuse(
            op,
            None,
            f"axis {axis} does not fit rank {rank}",
            f"Export the model with an axis from {-rank} to {rank - 1}.",
        )
    return axis % rank if rank else 0


@register
class Transpose(Movement):
    op_name = "TRANSPOSE"
    supports = "any type; constant permutation"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the permutation")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        return [(ins[0].transpose(integers(graph, op, 1, "the permutation")), outs[0])]


@register
class Reverse(Movement):
    op_name = "REVERSE_V2"
    supports = "any type; constant axes"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the axes")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        axes = [axis_of(op, a, ins[0].ndim) for a in integers(graph, op, 1, "the axes")]
        return [(np.flip(ins[0], tuple(sorted(set(axes)))), outs[0])]


class BlockMove(Movement):
    """An operator that moves blocks of pixels into channels, or channels into blocks of pixels, in NHWC."""

    supports = "int8, int32, int64, float32; NHWC"
    dtypes = ("int8", "uint8", "int32", "int64", "float32")

    def block(self, graph: Subgraph, op: Op) -> int:
        """Return the width of a block in pixels."""
        size = int(op.options["block_size"])
        if size < 1 or len(graph.tensors[op.inputs[0]].shape) != 4:
            raise refuse(
                op,
                graph.tensors[op.inputs[0]],
                "needs rank 4 and a block of 1 or more",
                "Export the model with 4 dimensions.",
            )
        return size


@register
class DepthToSpace(BlockMove):
    op_name = "DEPTH_TO_SPACE"

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        b = self.block(graph, op)
        n, h, w, c = ins[0].shape
        source = ins[0].reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
        return [(source, _fit(outs[0], (n, h * b, w * b, c // (b * b))).reshape(source.shape))]


@register
class SpaceToDepth(BlockMove):
    op_name = "SPACE_TO_DEPTH"

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        b = self.block(graph, op)
        n, h, w, c = ins[0].shape
        source = ins[0].reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
        return [(source, _fit(outs[0], (n, h // b, w // b, b * b * c)).reshape(source.shape))]


def _fit(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``array``. Raises ``ValueError`` if it does not have this shape."""
    if array.shape != shape:
        raise ValueError(f"the output is {list(array.shape)}, expected {list(shape)}")
    return array


@register
class Tile(Movement):
    op_name = "TILE"
    supports = "any type; constant multiples"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the multiples")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        shape, times = ins[0].shape, integers(graph, op, 1, "the multiples")
        _fit(outs[0], tuple(d * t for d, t in zip(shape, times, strict=True)))
        source = ins[0].reshape([v for d in shape for v in (1, d)])
        both = [v for d, t in zip(shape, times, strict=True) for v in (t, d)]
        return [(np.broadcast_to(source, both), outs[0].reshape(both))]


@register
class BroadcastTo(Movement):
    op_name = "BROADCAST_TO"
    supports = "any type; constant shape"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 1, "the shape")

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        shape = integers(graph, op, 1, "the shape")
        return [(np.broadcast_to(ins[0], shape), outs[0])]


@register
class Fill(Movement):
    op_name = "FILL"
    supports = "any type; constant shape, computed value"
    moved = (1,)

    def check_values(self, graph: Subgraph, op: Op) -> None:
        integers(graph, op, 0, "the shape")
        same_quant(op, graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]])

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        if ins[1].shape != ():
            raise ValueError("the value is not a scalar")
        return [(np.broadcast_to(ins[1], integers(graph, op, 0, "the shape")), outs[0])]
