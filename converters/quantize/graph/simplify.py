"""Rewrite a float graph so that it computes the same but quantizes better.

Affine layers after a convolution (the rest of a batch normalization) are merged into its weights, so that values are
quantized once instead of twice. Activations are fused into the layer before them as its clamp, so that values which
the clamp removes do not widen the range. Operators without a correct integer kernel are replaced by operators that
have one. Several operators that compute an activation value by value become the one operator that TFLite has for it. A
layer that the graph computes several times for one activation is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE
from arenite.converters.passes.loops.first_step import restore_first_steps
from arenite.converters.passes.producers import producers, reader_counts
from arenite.converters.quantize.calibration.trained_ranges import stated_range
from arenite.converters.quantize.graph.graph_draft import GraphDraft, describe
from arenite.converters.quantize.graph.log_softmax import expand_log_softmax
from arenite.converters.quantize.graph.operator_pairs import change_pair
from arenite.converters.quantize.graph.repeated_layers import merge_first_repeated_layer
from arenite.converters.quantize.pointwise.builtins import builtin_operator, prelu_slopes
from arenite.converters.quantize.pointwise.functions import pointwise_functions
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.verifier import defaults_of
from arenite.converters.tflite.writer import to_flatbuffer


def simplify(flatbuffer: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the rewritten float model, and a sentence for each change. If nothing changes, the bytes are returned
    unchanged."""
    model = parse(flatbuffer)
    notes: list[str] = []
    while True:
        changed = (
            _change_separate_operators(model, notes)
            or _replace_first_builtin(model, notes)
            or _replace_first_prelu(model, notes)
            or merge_first_repeated_layer(model, notes)
        )
        if changed is None:
            break
        model = changed
    model, restored = restore_first_steps(model)
    notes += restored
    return (to_flatbuffer(replace(model, repairs=())), tuple(notes)) if notes else (flatbuffer, ())


def _computes_real_numbers(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` computes real numbers, as float32 or quantized by QUANTIZE."""
    return op.name == "QUANTIZE" or graph.tensors[op.outputs[0]].dtype == "float32"


def _change_separate_operators(model: Model, notes: list[str]) -> Model | None:
    """Make the possible changes that do not concern the same operators, add a sentence about each to ``notes`` and
    return the new model. Return None if no change is possible."""
    graph = model.main
    producer, count = producers(graph), reader_counts(graph)
    draft = GraphDraft(model)  # a step that returns None changes no operator of the draft
    changed: set[int] = set()  # the tensors that changed operators read or compute
    constants = {-1, *(t.index for t in graph.tensors if t.data is not None)}
    has_changed = False
    for op in graph.ops:
        if not op.outputs or not op.inputs or not _computes_real_numbers(graph, op):
            continue
        before = producer.get(op.inputs[0])
        # A change of ``op`` can concern these operators: ``op``, the producers of its inputs, and their producers.
        nearby = [op, *(producer[i] for i in op.inputs if i in producer)]
        nearby += [producer[i] for near in nearby[1:] for i in near.inputs if i in producer]
        if has_changed and not changed.isdisjoint(
            i for near in nearby for i in (*near.inputs, *near.outputs)
        ):
            continue
        known = len(draft.changed)
        alone = before is not None and count[op.inputs[0]] == 1 and op.inputs[0] not in graph.outputs
        note = (
            _REPLACEMENTS[op.name](draft, op)
            if op.name in _REPLACEMENTS
            else _take_stated_range(draft, op, producer, count)
        )
        if note is None and alone and before is not None:
            note = change_pair(draft, before, op)
        if note is not None:
            notes.append(note)
            has_changed = True
            for index in draft.changed[known:]:
                for old in (graph.ops[index], *draft.ops[index]):
                    changed.update({*old.inputs, *old.outputs} - constants)
            # Readers of a renamed tensor read the other tensor from now on.
            changed.update(draft.renamed)
            changed.update(draft.renamed.values())
    return draft.finish() if has_changed else None


def _replace_first_builtin(model: Model, notes: list[str]) -> Model | None:
    """Replace the first group of operators that compute a function for which TFLite has one operator, add a sentence
    about it to ``notes`` and return the new model. Return None if there is no such group."""
    for function in pointwise_functions(model.main):
        builtin = builtin_operator(function) if len(function.ops) > 1 else None
        if builtin is not None:
            draft = GraphDraft(model)
            draft.ops |= {op.index: [] for op in function.ops}
            draft.ops[function.last.index] = [builtin]
            first, last = next(iter(function.ops)), function.last
            notes.append(
                f"Operators {first.index} {first.name} to {last.index} {last.name} became {builtin.name}."
            )
            return draft.finish()
    return None


def _replace_first_prelu(model: Model, notes: list[str]) -> Model | None:
    """Replace the first group of operators that compute PReLU by one operator, add a sentence about it to ``notes`` and
    return the new model. Return None if there is no such group."""
    for function in pointwise_functions(model.main, per_channel=True):
        slopes = prelu_slopes(function) if len(function.ops) > 1 else None
        if slopes is not None:
            draft = GraphDraft(model)
            result = model.main.tensors[function.result]
            ones = [1] * max(0, len(result.shape) - 2)
            alpha = draft.constant(f"{result.name}/alpha", slopes.reshape([*ones, slopes.size]))
            draft.ops |= {op.index: [] for op in function.ops}
            draft.ops[function.last.index] = [Op(0, "PRELU", (function.source, alpha), (function.result,))]
            first, last = next(iter(function.ops)), function.last
            notes.append(f"Operators {first.index} {first.name} to {last.index} {last.name} became PRELU.")
            return draft.finish()
    return None


def _binary(name: str, inputs: tuple[int, int], outputs: tuple[int, ...], activation: int = NONE) -> Op:
    table = f"{name.title()}Options"
    return Op(
        0, name, inputs, outputs, {**defaults_of(table), "fused_activation_function": activation}, table
    )


def _negate(draft: GraphDraft, op: Op) -> str:
    factor = draft.constant("minus_one", np.full((1,), -1, np.float32))
    draft.ops[op.index] = [_binary("MUL", (op.inputs[0], factor), op.outputs)]
    return f"{describe(op)} became a multiplication by -1: its integer kernel ignores the zero point."


def _square(draft: GraphDraft, op: Op) -> str:
    draft.ops[op.index] = [_binary("MUL", (op.inputs[0], op.inputs[0]), op.outputs)]
    return f"{describe(op)} became a multiplication: it has no integer kernel."


def _divide(draft: GraphDraft, op: Op) -> str | None:
    divisor = draft.graph.tensors[op.inputs[1]]
    if divisor.data is None or divisor.dtype != "float32" or not np.all(divisor.data):
        return None
    with np.errstate(over="ignore"):
        inverse = (1.0 / divisor.data.astype(np.float64)).astype(np.float32)
    if not np.all(np.isfinite(inverse)):
        return None
    factor = draft.constant(f"{divisor.name}/inverse", inverse)
    activation = op.options.get("fused_activation_function", NONE)
    draft.ops[op.index] = [_binary("MUL", (op.inputs[0], factor), op.outputs, activation)]
    return f"{describe(op)} by a constant became a multiplication."


def _sum(draft: GraphDraft, op: Op) -> str | None:
    source, out = draft.graph.tensors[op.inputs[0]], draft.graph.tensors[op.outputs[0]]
    if draft.graph.tensors[op.inputs[1]].data is None or not out.elements:
        return None
    mean = draft.computed(out, f"{out.name}/mean")
    terms = source.elements / out.elements
    factor = draft.constant(f"{out.name}/terms", np.full((1,), terms, np.float32))
    draft.ops[op.index] = [
        replace(op, name="MEAN", outputs=(mean,), version=1),
        _binary("MUL", (mean, factor), op.outputs),
    ]
    return f"{describe(op)} became a mean times {terms:g}: its integer kernel takes no negative values."


def _cumulate(draft: GraphDraft, op: Op) -> str | None:
    """Replace a CUMSUM along the last axis by a multiplication with a triangular matrix of ones."""
    source, axis = (draft.graph.tensors[i] for i in op.inputs)
    if source.dtype != "float32" or axis.data is None or not source.shape or not source.elements:
        return None
    if axis.data.item() % len(source.shape) != len(source.shape) - 1:
        return None
    size = source.shape[-1]
    ones = np.tril(np.ones((size, size), np.float32), -1 if op.options["exclusive"] else 0)
    weights = draft.constant(f"{source.name}/triangle", ones.T if op.options["reverse"] else ones)
    options = {**defaults_of("FullyConnectedOptions"), "keep_num_dims": True}
    layer = Op(
        0, "FULLY_CONNECTED", (op.inputs[0], weights, -1), op.outputs, options, "FullyConnectedOptions"
    )
    draft.ops[op.index] = [layer]
    return f"{describe(op)} became FULLY_CONNECTED with a triangle of ones: it has no integer kernel for real numbers."


def _gather(draft: GraphDraft, op: Op) -> str:
    """Replace an EMBEDDING_LOOKUP (litert-torch's form of nn.Embedding) by a GATHER of the same rows of the table."""
    indices, table = op.inputs
    options = defaults_of("GatherOptions")
    draft.ops[op.index] = [Op(0, "GATHER", (table, indices), op.outputs, options, "GatherOptions")]
    return f"{describe(op)} became GATHER, which has an integer kernel."


#: Functions that replace an operator in the draft, by its name. They return a sentence about the change, or None if
#: they change nothing.
_REPLACEMENTS: dict[str, Callable[[GraphDraft, Op], str | None]] = {
    "NEG": _negate,
    "SQUARE": _square,
    "DIV": _divide,
    "SUM": _sum,
    "CUMSUM": _cumulate,
    "EMBEDDING_LOOKUP": _gather,
    "LOG_SOFTMAX": expand_log_softmax,
}


def _take_stated_range(
    draft: GraphDraft, op: Op, producer: Mapping[int, Op], count: Mapping[int, int]
) -> str | None:
    """Record the range that quantization-aware training chose for a tensor, and remove the operators that state it.
    Return a sentence about it, or None if ``op`` states no range."""
    trained_range = stated_range(draft.graph, op, count)
    if trained_range is None:
        return None
    low, high, last = trained_range
    source, result = op.inputs[0], last.outputs[0]
    remaining = source
    if result in draft.graph.outputs:
        before = producer.get(source)
        if before is None or count[source] != 1:
            return None
        outputs = tuple(result if i == source else i for i in before.outputs)
        draft.ops[before.index] = [replace(before, outputs=outputs)]
        remaining = result
    else:
        draft.renamed[result] = source
    draft.ops[op.index] = draft.ops[last.index] = []
    draft.ranges[draft.graph.tensors[remaining].name] = (low, high)
    return f"{describe(op)} states a range from training: {low:.4g} to {high:.4g}."
