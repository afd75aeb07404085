"""Lower tree ensembles to a kernel that walks tables."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.trees import OPERATOR, TreeEnsemble, ensemble_of
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_accepted,
)
from arenite.firmware.generator.lower.trees.leaf_pairs import leaf_pairs, leaf_rows
from arenite.firmware.generator.lower.trees.node_words import MAX_WORDS, feature_shift, node_words

_SUFFIXES = {"float32": "f32", "int16": "s16", "int8": "s8"}


@register
class TreeEnsembleTables(Lowering):
    """Lowering of the custom operator for trees."""

    op_name = OPERATOR
    supports = "decision trees, forests and boosted trees; features float32, int16 or int8; results int32"
    kernels = (
        "tree_ensemble_f32.c",
        "tree_ensemble_f32_missing.c",
        "tree_ensemble_s16.c",
        "tree_ensemble_s8.c",
    )

    def check(self, graph: Subgraph, op: Op) -> None:
        ensemble = ensemble_of(graph, op)
        if node_words(ensemble) is None:
            raise refuse(
                op,
                None,
                f"a tree needs more than {MAX_WORDS:,} words of 16 bits",
                "Train trees with a smaller depth (max_depth), or with more samples per leaf (min_samples_leaf).",
            )

    def lower(self, ctx: LowerContext) -> KernelCall:
        ensemble = ensemble_of(ctx.graph, ctx.op)
        suffix = "f32_missing" if ensemble.routes_missing else _SUFFIXES[ctx.input_tensor(0).dtype]
        lists = leaf_pairs(ensemble)
        rows = leaf_rows(ensemble)
        words = require_accepted(node_words(ensemble, None if lists is None else lists.positions))
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "nodes": ctx.weights(words, "nodes"),
            "leaves": ctx.weights(rows if lists is None else lists.values, "leaves"),
            "pairs": NULL if lists is None else ctx.weights(lists.pairs, "pairs"),
            "bias": ctx.weights(ensemble.bias, "bias"),
            "trees": len(ensemble.roots),
            "outputs": ensemble.outputs,
            "width": rows.shape[1],
            "feature_shift": feature_shift(ensemble),
            "value_bits": 0 if lists is None else lists.value_bits,
        }
        name = f"tree_ensemble_{suffix}"
        return KernelCall(f"ar_{name}", "tree_ensemble.h", (f"{name}.c",), "ar_tree_ensemble_params", fields)


def table_bytes(ensemble: TreeEnsemble) -> int | None:
    """Return the bytes of the tables without the bias, or None if a tree is too large."""
    words, lists = node_words(ensemble), leaf_pairs(ensemble)
    if words is None:
        return None
    leaves = leaf_rows(ensemble).nbytes if lists is None else lists.pairs.nbytes + lists.values.nbytes
    return words.nbytes + leaves
