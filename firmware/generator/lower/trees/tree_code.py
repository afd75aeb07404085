"""Lower tree ensembles with integer features to machine code, for builds that are optimized for speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.trees import OPERATOR, TreeEnsemble, ensemble_of
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.trees import thumb_assembler as thumb
from arenite.firmware.generator.lower.trees.leaf_pairs import leaf_contents
from arenite.firmware.generator.lower.trees.tree_ensemble import table_bytes
from arenite.firmware.generator.target import DSP, MVE, Target

#: Registers. A called function need not keep any of them.
_FEATURES, _OUTPUTS, _SUM, _FEATURE, _HIGH = 0, 1, 2, 3, 12

#: Code that is larger than this is not used: a branch reaches 1 MB.
_MAX_HALFWORDS = 1 << 18


#: The largest size of the code, relative to the tables, and the bytes of the kernel that walks the tables.
_MAX_GROWTH, _WALK_BYTES = 2.5, 200


@variant
class TreeEnsembleCode(Variant):
    """Trees as Thumb-2 instructions: a load, a comparison and a branch per node."""

    op_name = OPERATOR
    tiers = (DSP, MVE)
    priority = 100
    kernels = ("tree_code.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        x = graph.tensors[op.inputs[0]]
        if target.optimise != "speed" or x.dtype not in ("int16", "int8"):
            return False
        ensemble = ensemble_of(graph, op)
        code, tables = tree_code(ensemble, x.itemsize), table_bytes(ensemble)
        # Leaves with values for many outputs need much code.
        return code is not None and tables is not None and code.nbytes <= _MAX_GROWTH * tables + _WALK_BYTES

    def lower(self, ctx: LowerContext) -> KernelCall:
        ensemble = ensemble_of(ctx.graph, ctx.op)
        code = require_accepted(tree_code(ensemble, ctx.input_tensor(0).itemsize))
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "code": Expr(ctx.weights(code, "code").text, 1),
        }
        return KernelCall("ar_tree_code", "tree_ensemble.h", ("tree_code.c",), "ar_tree_code_params", fields)


def tree_code(ensemble: TreeEnsemble, feature_bytes: int) -> np.ndarray | None:
    """Return the machine code of all trees as uint16, or None if it would be too large.

    Args:
        ensemble: the trees, with int8 or int16 features.
        feature_bytes: the bytes of a feature.
    """
    form = _form_of(ensemble)
    assembler = thumb.Assembler()
    _set_outputs(assembler, ensemble.bias.tolist(), form)
    roots = ensemble.roots.tolist()
    size = 0
    for number, root in enumerate(roots, 1):
        returns = number == len(roots) and form.single_output is None
        size += _Tree(ensemble, feature_bytes, form, assembler, returns=returns).write(root)
        if size > _MAX_HALFWORDS:
            return None
    if form.single_output is not None:
        assembler.add(thumb.store_word(_SUM, _HIGH, form.single_output))
        assembler.add(thumb.RETURN)
    return np.array(assembler.halfwords(), np.uint16)


@dataclass(frozen=True)
class _Form:
    """How the leaves change the outputs.

    ``contents`` has the pairs (output, value) of each leaf. If all leaves change one output, it is
    ``single_output``, and its sum stays in a register. In the code of one tree (``is_one_tree``) a leaf stores its
    outputs, and ``contents`` has the complete values; if all are equal, ``common_value`` is their value, which stays in
    a register. Otherwise a leaf adds to the outputs in memory. ``spare`` is a register that is free for thresholds.
    """

    contents: list[list[tuple[int, int]]]
    single_output: int | None = None
    is_one_tree: bool = False
    common_value: int | None = None
    spare: int = _SUM


def _form_of(ensemble: TreeEnsemble) -> _Form:
    """Return the way in which the leaves of ``ensemble`` change the outputs."""
    contents = leaf_contents(ensemble)
    if len(ensemble.roots) == 1:
        bias = ensemble.bias.tolist()
        complete = [[(output, bias[output] + value) for output, value in row] for row in contents]
        values = {value for row in complete for _, value in row}
        if len(values) == 1:
            return _Form(complete, is_one_tree=True, common_value=values.pop(), spare=_HIGH)
        return _Form(complete, is_one_tree=True)
    targets = {output for row in contents for output, _ in row}
    # The code keeps the address of the outputs in a high register until the end.
    return (
        _Form(contents, single_output=targets.pop(), spare=_OUTPUTS) if len(targets) == 1 else _Form(contents)
    )


def _set_outputs(assembler: thumb.Assembler, bias: list[int], form: _Form) -> None:
    """Set the outputs to their start values, and the registers of the form."""
    loaded: int | None = None
    for output in sorted(range(len(bias)), key=lambda k: (k == form.single_output, bias[k])):
        if bias[output] != loaded:
            assembler.add(thumb.move_32_bits(_SUM, bias[output]))
            loaded = bias[output]
        if output != form.single_output:
            assembler.add(thumb.store_word(_SUM, _OUTPUTS, output))
    if form.single_output is not None:
        assembler.add(thumb.move_register(_HIGH, _OUTPUTS))
    if form.common_value is not None and form.common_value != loaded:
        assembler.add(thumb.move_32_bits(_SUM, form.common_value))


class _Tree:
    """Writes one tree. Each leaf is written once and branched to from all other places. After a leaf of the last tree
    the code can return (``returns``)."""

    def __init__(
        self,
        ensemble: TreeEnsemble,
        feature_bytes: int,
        form: _Form,
        assembler: thumb.Assembler,
        *,
        returns: bool,
    ) -> None:
        self._ensemble, self._feature_bytes, self._form = ensemble, feature_bytes, form
        self._assembler, self._returns = assembler, returns
        self._end = assembler.new_label()
        self._leaf_labels: dict[int, int] = {}
        self._placed: set[int] = set()
        self._items = 0

    def write(self, root: int) -> int:
        """Write the tree with the root ``root``. Return an upper bound of its halfwords."""
        assembler, ensemble = self._assembler, self._ensemble
        # Entries: (node, its label or None, the feature that is in the register or -1). The last entry is written next.
        stack: list[tuple[int, int | None, int]] = [(root, None, -1)]
        while stack:
            node, label, loaded = stack.pop()
            if label is not None and node >= 0:
                assembler.place(label)
            if node < 0:
                self._write_leaf(~node, is_last=not stack and self._all_placed(~node))
                continue
            if self._items > _MAX_HALFWORDS:  # nodes that several others refer to are written several times
                break
            feature, threshold = int(ensemble.feature[node]), int(ensemble.threshold[node])
            if feature != loaded:
                self._add(thumb.load_feature(_FEATURE, _FEATURES, feature, self._feature_bytes))
            exact = thumb.compare_constant(_FEATURE, threshold, self._form.spare)
            above = thumb.compare_constant(_FEATURE, threshold + 1, self._form.spare)
            is_exact = len(exact) <= len(above)
            self._add(exact if is_exact else above)
            right = thumb.GREATER if is_exact else thumb.GREATER_OR_EQUAL
            left = thumb.LESS_OR_EQUAL if is_exact else thumb.LESS
            left_child, right_child = int(ensemble.left[node]), int(ensemble.right[node])
            # The branch goes to a leaf if there is one, because leaves are shared.
            if left_child < 0 <= right_child:
                far_child, near_child, condition = left_child, right_child, left
            else:
                far_child, near_child, condition = right_child, left_child, right
            if far_child < 0:
                assembler.branch(self._leaf_label(~far_child), condition)
            else:
                far_label = assembler.new_label()
                assembler.branch(far_label, condition)
                stack.append((far_child, far_label, feature))
            self._items += 2
            stack.append((near_child, None, feature))
        for leaf in list(self._leaf_labels):
            if leaf not in self._placed:
                self._write_leaf(leaf, is_last=self._all_placed(leaf))
        assembler.place(self._end)
        return self._items

    def _all_placed(self, leaf: int) -> bool:
        """Return whether no leaf but ``leaf`` is still to be written."""
        return all(other in self._placed or other == leaf for other in self._leaf_labels)

    def _leaf_label(self, leaf: int) -> int:
        if leaf not in self._leaf_labels:
            self._leaf_labels[leaf] = self._assembler.new_label()
        return self._leaf_labels[leaf]

    def _add(self, halfwords: list[int]) -> None:
        self._assembler.add(halfwords)
        self._items += len(halfwords)

    def _write_leaf(self, leaf: int, *, is_last: bool) -> None:
        """Write the leaf, or a branch to it if it is written already. ``is_last`` is true if the tree ends here."""
        label = self._leaf_label(leaf)
        if leaf in self._placed:
            self._assembler.branch(label)
            self._items += 2
            return
        self._assembler.place(label)
        self._placed.add(leaf)
        for output, value in self._form.contents[leaf]:
            self._write_value(output, value)
        if self._returns:
            self._add(thumb.RETURN)
        elif not is_last:
            self._assembler.branch(self._end)
            self._items += 2

    def _write_value(self, output: int, value: int) -> None:
        """Change an output. The register of the feature is free in a leaf."""
        form = self._form
        if form.single_output is not None:
            self._add(thumb.add_constant(_SUM, value, _FEATURE))
        elif form.common_value is not None:
            self._add(thumb.store_word(_SUM, _OUTPUTS, output))
        elif form.is_one_tree:
            self._add(thumb.move_32_bits(_FEATURE, value))
            self._add(thumb.store_word(_FEATURE, _OUTPUTS, output))
        else:
            self._add(thumb.load_word(_FEATURE, _OUTPUTS, output))
            self._add(thumb.add_constant(_FEATURE, value, form.spare))
            self._add(thumb.store_word(_FEATURE, _OUTPUTS, output))
