"""Lower tree ensembles with integer features to tables that a kernel walks with few instructions, for builds that are
optimized for speed."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.trees import OPERATOR, TreeEnsemble, ensemble_of
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.trees.leaf_pairs import leaf_rows
from arenite.firmware.generator.lower.trees.tree_ensemble import table_bytes
from arenite.firmware.generator.target import DSP, MVE, Target

_MAX_WORD = (1 << 16) - 1
#: The halfwords of a node and of a leaf.
_NODE, _LEAF = 3, 2
#: The largest size of the tables, relative to those of ``tree_ensemble.h``, and the additional bytes of the kernel.
_MAX_GROWTH, _KERNEL_BYTES = 2.5, 400


@variant
class TreeEnsembleWalk(Variant):
    """Trees as tables in which each node has a complete word for the bytes to skip, and each leaf is a row of
    values."""

    op_name = OPERATOR
    tiers = (DSP, MVE)
    priority = 50
    kernels = ("tree_walk_s16_dsp.c", "tree_walk_s8_dsp.c")

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        x = graph.tensors[op.inputs[0]]
        if target.optimise != "speed" or x.dtype not in ("int16", "int8"):
            return False
        ensemble = ensemble_of(graph, op)
        tables = table_bytes(ensemble)
        words, rows = walk_words(ensemble, x.itemsize), walk_rows(ensemble)
        if tables is None or words is None or rows.size > _MAX_WORD:
            return False
        return words.nbytes + rows.nbytes <= _MAX_GROWTH * tables + _KERNEL_BYTES

    def lower(self, ctx: LowerContext) -> KernelCall:
        ensemble = ensemble_of(ctx.graph, ctx.op)
        x = ctx.input_tensor(0)
        rows = walk_rows(ensemble)
        name = f"tree_walk_{'s16' if x.dtype == 'int16' else 's8'}_dsp"
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "nodes": ctx.weights(require_accepted(walk_words(ensemble, x.itemsize)), "nodes"),
            "rows": ctx.weights(rows, "rows"),
            "bias": ctx.weights(ensemble.bias, "bias"),
            "trees": len(ensemble.roots),
            "outputs": ensemble.outputs,
            "width": leaf_rows(ensemble).shape[1],
        }
        return KernelCall(f"ar_{name}", "tree_walk_dsp.h", (f"{name}.c",), "ar_tree_walk_dsp_params", fields)


def walk_rows(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the rows of all leaves as int32 [leaves, words]: two values in a word, the first in the low half."""
    rows = leaf_rows(ensemble)
    padded = np.pad(rows, ((0, 0), (0, rows.shape[1] % 2))).astype("<i2")
    return np.ascontiguousarray(padded).view("<i4").astype(np.int32)


def walk_words(ensemble: TreeEnsemble, feature_bytes: int) -> np.ndarray | None:
    """Return the nodes of all trees as uint16 (``tree_walk_dsp.h``), or None if a tree is too large.

    The subtrees of a node are written one after the other. A node that two others refer to is written twice.
    ``feature_bytes`` are the bytes of a feature.
    """
    feature, left, right = ensemble.feature.tolist(), ensemble.left.tolist(), ensemble.right.tolist()
    thresholds = ensemble.threshold.astype(np.int16).view(np.uint16).tolist()
    row_words = walk_rows(ensemble).shape[1]
    sizes = [0] * len(left)

    def size(child: int) -> int:
        return sizes[child] if child >= 0 else _LEAF

    for k in range(len(left) - 1, -1, -1):  # children have larger numbers
        sizes[k] = _NODE + size(left[k]) + size(right[k])
        if 2 * sizes[k] > _MAX_WORD:
            return None
    words: list[int] = []
    for root in ensemble.roots.tolist():
        words.append(size(root))
        stack = [root]
        while stack:
            k = stack.pop()
            if k < 0:
                words += [0, ~k * row_words & _MAX_WORD]
            else:
                words += [(feature[k] + 1) * feature_bytes, 2 * size(left[k]), thresholds[k]]
                stack += [right[k], left[k]]
    return np.array(words, np.uint16)
