"""Lower SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, which move blocks of pixels into batches or back, to kernel calls.

In this file, the grid is the tensor whose pixels are spread over batches. A cell of the grid stands for a block of
the image, and the phase of a pixel is its position in its block.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.firmware.generator.lower.core.lowering import refuse, register
from arenite.firmware.generator.lower.movement.movement import Movement, ViewPair, filled, same_quant
from arenite.firmware.generator.lower.movement.rearrange import integers

#: Limit of a block's size, because the code visits every phase of a block. No network uses such large blocks.
_MAX_BLOCK = 4096


def _blocks_and_paddings(op: Op, graph: Subgraph) -> tuple[list[int], list[tuple[int, int]]]:
    """Return block sizes and (before, after) paddings or crops of the spatial dimensions."""
    blocks = integers(graph, op, 1, "the block shape")
    flat = integers(graph, op, 2, "the paddings or crops")
    image = graph.tensors[op.inputs[0]]
    rank = len(image.shape)
    if rank not in (3, 4) or len(blocks) != rank - 2 or len(flat) != 2 * len(blocks):
        raise refuse(
            op,
            image,
            f"needs rank 3 or 4, one or two block sizes, not {blocks}",
            "Export the model with a reshape before it.",
        )
    if not 1 <= min(blocks) <= max(blocks) <= _MAX_BLOCK or min(flat) < 0:
        raise refuse(
            op,
            image,
            f"blocks of {blocks} with paddings or crops {flat} are out of range",
            "Use smaller blocks.",
        )
    return blocks, list(zip(flat[0::2], flat[1::2], strict=True))


def _phase_runs(block: int, before: int, image: int, grid: int) -> list[tuple[int, int, int, int]]:
    """Return (first phase, number of phases, first cell, number of cells) for each run of phases of one dimension whose
    pixels are in the same grid cells.

    Phase p of grid cell g is pixel ``g * block + p - before`` of the image. Cells outside of the image are left out.
    """
    runs: list[tuple[int, int, int, int]] = []
    for p in range(block):
        first = max(0, -((p - before) // block))
        last = min(grid, -((p - before - image) // block))
        if last <= first:
            continue
        if runs and runs[-1][2:] == (first, last - first) and sum(runs[-1][:2]) == p:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, first, last - first)
        else:
            runs.append((p, 1, first, last - first))
    return runs


def _view_pairs(
    image: np.ndarray, grid: np.ndarray, blocks: list[int], before: list[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (part of the image, part of the grid) pairs with equal shapes. Together they cover all pixels that the
    image and the grid have in common.

    ``image`` is [batch, *spatial, depth], ``grid`` is [*blocks, batch, *spatial, depth].
    """
    space = len(blocks)
    spans = [
        _phase_runs(blocks[k], before[k], image.shape[1 + k], grid.shape[space + 1 + k]) for k in range(space)
    ]
    groups = []
    for spec in itertools.product(*spans):
        part, cells = image, grid
        for k, (phase, phases, first, count) in enumerate(spec):
            axis = 1 + 2 * k  # every dimension before it has been divided into two
            start = first * blocks[k] + phase - before[k]
            step = part.strides[axis]
            # Pixels of one dimension as (cell, phase). Both stay inside the image.
            pixels = np.moveaxis(part, axis, 0)[start:]
            split = np.lib.stride_tricks.as_strided(
                pixels, (count, phases, *pixels.shape[1:]), (step * blocks[k], step, *pixels.strides[1:])
            )
            part = np.moveaxis(split, (0, 1), (axis, axis + 1))
            cells = np.moveaxis(np.moveaxis(cells, k, 0)[phase : phase + phases], 0, k)
            cells = np.moveaxis(np.moveaxis(cells, space + 1 + k, 0)[first : first + count], 0, space + 1 + k)
        order = [0, *(2 + 2 * k for k in range(space)), *(1 + 2 * k for k in range(space)), 1 + 2 * space]
        part = part.transpose(*(order[1 : 1 + space]), 0, *order[1 + space :])
        groups.append((part, cells))
    return groups


class SpaceBatch(Movement):
    """The base class of both operators, with their checks."""

    supports = "any type; rank 3 or 4; constant block shape and paddings or crops"

    def check_values(self, graph: Subgraph, op: Op) -> None:
        same_quant(op, graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]])
        _blocks_and_paddings(op, graph)


@register
class SpaceToBatch(SpaceBatch):
    op_name = "SPACE_TO_BATCH_ND"

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        blocks, pads = _blocks_and_paddings(op, graph)
        n, *image, depth = ins[0].shape
        padded = [d + b + a for d, (b, a) in zip(image, pads, strict=True)]
        grid = [d // k for d, k in zip(padded, blocks, strict=True)]
        if any(d % k for d, k in zip(padded, blocks, strict=True)):
            raise ValueError(f"blocks of {blocks} do not divide {padded}")
        if outs[0].shape != (n * math.prod(blocks), *grid, depth):
            raise ValueError(f"the output is {list(outs[0].shape)}")
        cells = outs[0].reshape(*blocks, n, *grid, depth)
        pairs = _view_pairs(ins[0], cells, blocks, [b for b, _ in pads])
        if padded == image:
            return pairs
        out: Tensor = graph.tensors[op.outputs[0]]
        # LiteRT pads by element size, and uses a zero point only for one and two bytes.
        value = out.zero_point if out.quant is not None and out.itemsize <= 2 else 0
        return [(filled(outs[0].shape, value, out.dtype), outs[0]), *pairs]


@register
class BatchToSpace(SpaceBatch):
    op_name = "BATCH_TO_SPACE_ND"

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        blocks, crops = _blocks_and_paddings(op, graph)
        batches, *grid, depth = ins[0].shape
        n = batches // math.prod(blocks)
        image = [g * k - b - a for g, k, (b, a) in zip(grid, blocks, crops, strict=True)]
        if n * math.prod(blocks) != batches or outs[0].shape != (n, *image, depth):
            raise ValueError(f"the output is {list(outs[0].shape)}")
        cells = ins[0].reshape(*blocks, n, *grid, depth)
        return [(cell, part) for part, cell in _view_pairs(outs[0], cells, blocks, [b for b, _ in crops])]
