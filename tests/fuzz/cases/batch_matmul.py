"""Random BATCH_MATMUL operators."""

from __future__ import annotations

import numpy as np

from tests.fuzz.cases import case
from tests.fuzz.graph_builder import INT8_DEVIATION, INT16_DEVIATION, GraphBuilder


@case("BATCH_MATMUL")
def batch_matmul(b: GraphBuilder) -> None:
    rng = b.rng
    lhs = b.pick(("int8", "int8", "int16"), (2, 3, 4, 5))
    shape, dtype = b[lhs].shape, b[lhs].dtype
    adj_x, adj_y = bool(rng.integers(2)), bool(rng.integers(2))
    rows, depth = (shape[-1], shape[-2]) if adj_x else shape[-2:]
    cols = int(rng.integers(1, 9))
    # The right operand has the batch dimensions of the left one, fewer dimensions, ones in their place, or larger
    # dimensions where the left operand has ones.
    batch = list(shape[:-2])
    kept_dimensions = int(rng.integers(0, len(batch) + 1))
    rhs_batch = [
        1 if rng.random() < 0.3 else int(rng.integers(2, 4)) if d == 1 and rng.random() < 0.3 else d
        for d in batch
    ]
    rhs_batch = rhs_batch[len(batch) - kept_dimensions :] if rng.random() < 0.5 else rhs_batch
    out_batch = np.broadcast_shapes(tuple(batch), tuple(rhs_batch))
    if int(np.prod(out_batch)) * rows * cols > b.max_elements:
        rhs_batch, out_batch = [], tuple(batch)
    matrix = (cols, depth) if adj_y else (depth, cols)
    rhs_dtype = "int8" if dtype == "int8" or rng.random() < 0.3 else "int16"
    quant = b.quant(rhs_dtype, 0 if dtype == "int16" else None)
    if rng.random() < 0.5:
        info = np.iinfo(rhs_dtype)
        rhs = b.const(rng.integers(info.min, info.max + 1, (*rhs_batch, *matrix)), rhs_dtype, quant)
    else:
        rhs = b.input((*rhs_batch, *matrix), rhs_dtype, quant)
    # With this scale, the stored outputs have half of the deviation of uniform values.
    deviation = {"int8": INT8_DEVIATION, "int16": INT16_DEVIATION}
    scale = (
        b[lhs].scale
        * quant.scale[0]
        * deviation[dtype]
        * deviation[rhs_dtype]
        * np.sqrt(depth)
        / (deviation[dtype] / 2)
    )
    y = b.tensor(
        (*out_batch, rows, cols), dtype, b.quant(dtype, scale=scale * float(np.exp(rng.uniform(-1.5, 1.5))))
    )
    version = 4 if dtype == "int16" else 2
    b.op("BATCH_MATMUL", [lhs, rhs], [y], "BatchMatMulOptions", version=version, adj_x=adj_x, adj_y=adj_y)
