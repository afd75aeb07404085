"""Order the layers of a float model by the loss that int8 causes in them, and make recipes with int16 in some of
them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.passes.producers import producers, readers
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.graph.operator_rules import RULES
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import LayerRule, Recipe
from arenite.converters.quantize.sensitivity.layer_errors import layer_errors
from arenite.converters.quantize.sensitivity.sensitivity import sensitivity
from arenite.converters.tflite.reader import parse

#: The number of samples on which layers are compared. It is enough to order them.
_SAMPLES = 48

#: A model with more layers is ordered by the error of each layer's output in one run of the quantized model, because
#: quantizing each layer alone would take minutes.
_MAX_LAYERS = 80


def layers_by_int8_loss(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations,
    dataset: Dataset,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> list[int]:
    """Return the indices of the layers that int16 can help, in order of the loss that int8 causes, the largest first.

    Layers that only move values are left out: they get the type of their input. The copies of a layer in all steps of
    an unrolled loop get one type, so only the first of them is in the list.
    """
    graph = parse(flatbuffer).main
    plain = recipe.without_slow_steps(keeps_ranges=True)
    copies = copies_by_operator(graph)
    computing = {op.index for op in graph.ops if _computes(graph, op.index)}
    candidates = {copies[k][0] for k in computing}
    if len(computing) <= _MAX_LAYERS:
        result = sensitivity(
            flatbuffer, plain, observations, dataset, kinds=("int8",), samples=_SAMPLES, progress=progress
        )
        ordered_layers = [s.layer for s in result.worst("int8") if s.layer in candidates]
    else:
        quantized = quantize(flatbuffer, plain, observations)
        samples = dataset.limited(_SAMPLES).inputs
        errors = layer_errors(quantized.source, quantized.flatbuffer, quantized.tensors, samples)
        worst = [copies[e.layer][0] for e in sorted(errors, key=lambda e: e.sqnr_db) if e.layer in computing]
        ordered_layers = list(dict.fromkeys(worst))
    return ordered_layers + sorted(candidates - set(ordered_layers))


def _computes(graph: Subgraph, layer: int) -> bool:
    """Return whether ``layer`` computes real numbers and has kernels for int8 and int16."""
    rule = RULES.get(graph.ops[layer].name)
    return rule is not None and rule.kind in ("weights", "free", "fixed") and "int16" in rule.types


def with_int16(
    recipe: Recipe, graph: Subgraph, layers: Collection[int], *, inputs_and_outputs: bool
) -> Recipe:
    """Return ``recipe`` with int16 activations in ``layers``, and in the joins between them.

    An operator that joins tensors (such as CONCATENATION) gets int16 if it reads an int16 tensor and its result is
    read by an int16 layer: otherwise the values would lose their precision there. A comparison (such as GREATER) gets
    int16 if it reads an int16 tensor. ``inputs_and_outputs`` says whether the model's inputs and outputs are int16 too.
    If one of ``layers`` has copies in an unrolled loop, all of its copies get int16.
    """
    copies = copies_by_operator(graph)
    int16 = {copies[k][0] for k in _with_joins(graph, {copy for k in layers for copy in copies[k]})}
    # One rule for consecutive indices, such as "#3-7".
    rules = [LayerRule(match, {"activations": "int16"}) for match in _spans(sorted(int16))]
    if inputs_and_outputs:
        recipe = replace(recipe, inputs="int16", outputs="int16")
    return recipe.with_layers(*rules)


def _with_joins(graph: Subgraph, layers: Collection[int]) -> set[int]:
    """Return ``layers``, the operators that join values between them, and the comparisons of their values."""
    int16 = set(layers)
    producer, reader = producers(graph), readers(graph)

    def moves(index: int) -> bool:
        """Return whether operator ``index`` only moves, selects or compares values."""
        rule = RULES.get(graph.ops[index].name)
        return rule is not None and rule.kind in ("same", "join", "compare")

    def reaches(tensor: int, step: Callable[[int], Sequence[int]], seen: set[int]) -> bool:
        """Return whether ``step`` leads from ``tensor`` to one of ``layers`` through operators that move values."""
        for index in step(tensor):
            if index in layers:
                return True
            if moves(index) and index not in seen:
                seen.add(index)
                op = graph.ops[index]
                following = op.inputs if step is producer_of else op.outputs
                if any(reaches(i, step, seen) for i in following):
                    return True
        return False

    def producer_of(tensor: int) -> Sequence[int]:
        return [producer[tensor].index] if tensor in producer else []

    def readers_of(tensor: int) -> Sequence[int]:
        return reader.get(tensor, [])

    for op in graph.ops:
        rule = RULES.get(op.name)
        if rule is None or rule.kind not in ("join", "compare") or "int16" not in rule.types:
            continue
        if not any(reaches(i, producer_of, {op.index}) for i in op.inputs):
            continue
        # The result of a comparison is bool, so the type of the layers that read it does not matter.
        if rule.kind == "compare" or any(reaches(i, readers_of, {op.index}) for i in op.outputs):
            int16.add(op.index)
    return int16


def _spans(indices: Sequence[int]) -> list[str]:
    """Return the values of ``LayerRule.match`` that select the layers ``indices``, such as ``#3`` and ``#5-7``."""
    spans: list[list[int]] = []
    for index in indices:
        if spans and index == spans[-1][1] + 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    return [f"#{a}" if a == b else f"#{a}-{b}" for a, b in spans]
