"""Choose the type and quantization of each value of the graph.

A float tensor may exist in several types at once: as int8 for one operator, as int16 for another operator, and as
float32 for a third. A ``TensorForm`` is a tensor in one of these types. Forms that must have the same quantization are
joined into groups. Each group gets the range of all its members.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from arenite.converters.graph.model import Op, Quantization, Subgraph, Tensor
from arenite.converters.graph.resource_variables import handle_names, variable_assignments, variable_reads
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.quantize.calibration.calibrators import choose_range
from arenite.converters.quantize.calibration.observations import TensorStats
from arenite.converters.quantize.graph import lstm
from arenite.converters.quantize.graph.feature_scaling import float_inputs, scales_features
from arenite.converters.quantize.graph.form_groups import FLOAT as FLOAT
from arenite.converters.quantize.graph.form_groups import FormGroups
from arenite.converters.quantize.graph.form_groups import TensorForm as TensorForm
from arenite.converters.quantize.graph.operator_rules import (
    ALWAYS_INT8,
    FIXED_QUANTIZATION,
    RULES,
    WEIGHTS,
    OperatorRule,
)
from arenite.converters.quantize.graph.step_scales import accumulating_ops, share_scales_of_steps
from arenite.converters.quantize.pointwise.functions import PointwiseFunction
from arenite.converters.quantize.pointwise.table import table_functions
from arenite.converters.quantize.recipes.recipe import LayerSettings, Recipe
from arenite.errors import UsageError

#: The number of integers that each type of activations uses.
LEVELS = {"int8": 256, "int16": 65535}

#: The upper limit of the range of a tensor whose values are all zero. Any other limit would be correct too.
_RANGE_OF_ZEROS = 1.0


@dataclass
class TypeAssignment:
    """The types and quantizations of a graph.

    ``modes`` is the type of activations ("float32", "int8", "int16") of each operator on real numbers.
    ``settings`` has the recipe's settings of each operator. ``produced`` is the form in which each float tensor is
    computed, ``read`` the form that an operator reads at (operator, input), and ``quant`` the quantization of each
    integer form.

    ``tables`` has an entry for each operator of a function that is computed by a table of int8 values. The last
    operator of such a function reads the function's source as input 0; its other operators read and produce no form.
    """

    modes: dict[int, str]
    settings: dict[int, LayerSettings]
    produced: dict[int, TensorForm] = field(default_factory=dict)
    read: dict[tuple[int, int], TensorForm] = field(default_factory=dict)
    #: The form of each graph output, or None if it has no real numbers.
    results: list[TensorForm | None] = field(default_factory=list)
    quant: dict[TensorForm, Quantization] = field(default_factory=dict)
    #: The forms of each group with one calibrated quantization.
    groups: list[list[TensorForm]] = field(default_factory=list)
    #: The largest magnitude of the cell state of each LSTM operator.
    largest_cell_states: Mapping[int, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: {form: the form from which it is converted}, for forms that are not converted from the produced form.
    converted: Mapping[TensorForm, TensorForm] = field(default_factory=dict)
    tables: dict[int, PointwiseFunction] = field(default_factory=dict)


def activation_quantization(low: float, high: float, dtype: str) -> Quantization:
    """Return the scale and zero point for values in [low, high], where low <= 0 <= high. Zero is represented exactly.
    int16 is symmetric."""
    if low == high:
        high = _RANGE_OF_ZEROS
    if dtype == "int16":
        scale = float(np.float32(max(-low, high) / 32767))
        return Quantization((scale,), (0,))
    scale = float(np.float32((high - low) / 255))
    zero = int(np.clip(np.rint(-128 - low / scale), -128, 127))
    return Quantization((scale,), (zero,))


def assign_types(
    graph: Subgraph,
    recipe: Recipe,
    stats: Mapping[int, TensorStats],
    only: Collection[int] | None = None,
    trained: Mapping[str, tuple[float, float]] | None = None,
) -> TypeAssignment:
    """Choose the type and quantization of each tensor of ``graph``.

    If ``only`` is set, all operators that are not in it, and the graph's inputs and outputs, stay float. ``trained``
    has ranges by tensor name that replace calibrated ranges.
    """
    a = _choose_types(graph, recipe, only)
    edges = (recipe.inputs, recipe.outputs) if only is None else ("float", "float")
    groups = FormGroups()
    for i, dtype in _input_types(graph, edges[0]).items():
        a.produced[i] = groups.add(TensorForm(i, dtype))
    for op in graph.ops:
        if op.index in a.tables:
            _assign_table(a.tables[op.index], op, a, groups)
        elif op.index in a.modes:
            _assign_op(graph, op, a, groups)
        else:
            a.produced |= {
                i: TensorForm(i, FLOAT) for i in op.outputs if i >= 0 and _is_real(graph.tensors[i])
            }
    for i in graph.outputs:
        t = graph.tensors[i]
        form = groups.add(TensorForm(i, _type(edges[1]))) if _is_real(t) and i in a.produced else None
        a.results.append(form)
    a.converted = share_scales_of_steps(graph, a.read, a.produced, a.results, groups)
    producers = {i: op.index for op in graph.ops for i in op.outputs}

    def settings_of(tensor: int) -> LayerSettings:
        return a.settings[producers[tensor]] if tensor in producers else recipe.settings

    _assign_quantization(graph, groups, a, stats, settings_of, recipe.ranges, trained or {})
    return a


def _type(name: str) -> str:
    """Return the type of a tensor for a type in a recipe."""
    return FLOAT if name == "float" else name


def _input_types(graph: Subgraph, name: str) -> dict[int, str]:
    """Return the type of each input of real numbers. ``name`` is the type of inputs in the recipe; inputs whose
    features are scaled before they are quantized are float32."""
    scaled = float_inputs(graph)
    return {i: FLOAT if i in scaled else _type(name) for i in graph.inputs if _is_real(graph.tensors[i])}


def _is_real(t: Tensor) -> bool:
    return t.dtype == FLOAT


def _choose_types(
    graph: Subgraph,
    recipe: Recipe,
    only: Collection[int] | None,
    state_types: Mapping[str, str] | None = None,
) -> TypeAssignment:
    """Choose the type of each operator. Operators that move values keep the type of their input. Other operators get
    the recipe's type, or a type for which they have a kernel.

    A resource variable has the type in ``state_types``, by default that of the value that is assigned to it.
    """
    a = TypeAssignment({}, {})
    types = _input_types(graph, recipe.inputs)
    accumulators = accumulating_ops(graph)
    states = state_types or {}
    names = handle_names(graph)
    chosen: dict[tuple[int, ...], tuple[LayerSettings, bool]] = {}
    settings_of_layer: dict[int, tuple[LayerSettings, bool]] = {}
    for layer, indices in copies_by_operator(graph).items():
        if indices not in chosen:
            copies = [graph.ops[k] for k in indices]
            chosen[indices] = recipe.for_copies(graph, copies), recipe.chooses_type(graph, copies)
        settings_of_layer[layer] = chosen[indices]
        a.settings[layer] = chosen[indices][0]
    for function in table_functions(graph):
        _choose_table(graph, function, only, a)
    for op in graph.ops:
        settings, has_own_type = settings_of_layer[op.index]
        real = [graph.tensors[i] for i in (*op.inputs, *op.outputs) if i >= 0 and _is_real(graph.tensors[i])]
        if not real:
            continue
        if op.index in a.modes:
            types |= {i: a.modes[op.index] for i in op.outputs if _is_real(graph.tensors[i])}
            continue
        rule = RULES.get(op.name)
        requested = _type(settings.activations)
        if op.index in accumulators and requested == "int8" and not has_own_type:
            requested = "int16"
        if rule is not None and rule.kind == "state":
            requested = states.get(names.get(op.inputs[0], ""), requested)
        elif (only is not None and op.index not in only) or scales_features(graph, op):
            requested = FLOAT
        elif rule is not None and rule.kind == "same":
            requested = next((types[i] for i in op.inputs if i in types), requested)
        mode = _supported_type(graph, op, rule, requested, a.notes)
        a.modes[op.index] = mode
        types |= {i: mode for i in op.outputs if i >= 0 and _is_real(graph.tensors[i])}
    assigned_types = {
        name: types[op.inputs[1]]
        for name, ops in variable_assignments(graph).items()
        for op in ops
        if op.inputs[1] in types
    }
    if state_types is None and assigned_types:
        return _choose_types(graph, recipe, only, assigned_types)
    return a


def _choose_table(
    graph: Subgraph,
    function: PointwiseFunction,
    only: Collection[int] | None,
    a: TypeAssignment,
) -> None:
    """Choose a table of int8 values for the operators of ``function``, or float32 if ``only`` does not include its last
    operator. If their settings keep an operator of the function in float32, change nothing."""
    requested = {_type(a.settings[op.index].activations) for op in function.ops}
    if FLOAT in requested or any(scales_features(graph, op) for op in function.ops):
        return
    indices = [op.index for op in function.ops]
    if only is not None and function.last.index not in only:
        a.modes |= dict.fromkeys(indices, FLOAT)
        return
    a.modes |= dict.fromkeys(indices, "int8")
    a.tables |= dict.fromkeys(indices, function)
    if "int16" in requested:
        layers = _layers_text(function)
        a.notes.append(f"{layers} a function of one tensor, which has no int16 kernel: it runs in int8.")


def _layers_text(function: PointwiseFunction) -> str:
    """Return the beginning of a sentence about the layers of ``function``: their names and a verb."""
    first, last = function.ops[0], function.last
    if first.index == last.index:
        return f"Layer {last.index} {last.name} is"
    return f"Layers {first.index} {first.name} to {last.index} {last.name} are"


def _supported_type(
    graph: Subgraph, op: Op, rule: OperatorRule | None, requested: str, notes: list[str]
) -> str:
    """Return ``requested`` if ``op`` has a kernel for this type of activations, otherwise another type. Add a note to
    ``notes`` in this case."""
    if requested == FLOAT:
        return FLOAT
    layer = f"Layer {op.index} {op.name}"
    if rule is None or not rule.types:
        notes.append(f"{layer} has no integer kernel: it stays float32.")
        return FLOAT
    weights = WEIGHTS[op.name].weights if op.name in WEIGHTS and op.name != "FULLY_CONNECTED" else None
    if weights is not None and not graph.tensors[op.inputs[weights]].is_constant:
        notes.append(f"{layer} has weights that are computed: it stays float32.")
        return FLOAT
    if rule.kind == "lstm":
        if not lstm.is_supported_lstm(graph, op):
            notes.append(
                f"{layer} has peepholes, a projection or another unsupported feature: it stays float32."
            )
            return FLOAT
    elif any(i >= 0 and graph.tensors[i].is_variable for i in op.inputs):
        notes.append(f"{layer} has a state: it stays float32.")
        return FLOAT
    if requested not in rule.types:
        notes.append(f"{layer} has no {requested} kernel: it runs in {rule.types[0]}.")
        return rule.types[0]
    return requested


def _assign_table(function: PointwiseFunction, op: Op, a: TypeAssignment, groups: FormGroups) -> None:
    """Set the int8 forms of the source and the result of ``function`` if ``op`` is its last operator."""
    if op.index == function.last.index:
        a.read[op.index, 0] = groups.add(TensorForm(function.source, "int8"))
        a.produced[function.result] = groups.add(TensorForm(function.result, "int8"))


def _assign_op(graph: Subgraph, op: Op, a: TypeAssignment, groups: FormGroups) -> None:
    """Set the forms that ``op`` reads and produces, and join the forms that its kernel requires to have
    one quantization."""
    mode = a.modes[op.index]
    reads = _reads(graph, op, mode, groups)
    outs = [groups.add(TensorForm(i, mode)) for i in op.outputs if i >= 0 and _is_real(graph.tensors[i])]
    for form in outs:
        a.produced[form.tensor] = form
    if mode != FLOAT:
        kind = RULES[op.name].kind
        if kind == "state" and op.name == "ASSIGN_VARIABLE":
            _join_state(graph, op, a, reads, groups)
        elif kind == "fixed":
            groups.fix(outs[0], FIXED_QUANTIZATION[op.name, mode])
        elif kind == "same":
            first = next(iter(reads.values()))
            for form in outs:
                groups.join(first, form)
        elif kind in ("join", "compare"):
            # A comparison has no real output, so its first input is the leader.
            leader = outs[0] if kind == "join" else next(iter(reads.values()))
            if len({groups.fixed.get(groups.root(form)) for form in reads.values()}) == 1:
                groups.join(leader, next(iter(reads.values())))
            for position, form in reads.items():
                # Another fixed quantization would clip the values of the group, so this input is read in a separate
                # form.
                fixed = groups.fixed.get(groups.root(form))
                is_fixed = fixed is not None and fixed != groups.fixed.get(groups.root(leader))
                if is_fixed or not groups.join(leader, form):
                    reads[position] = groups.add(TensorForm(form.tensor, mode, (op.index, position)))
                    groups.join(leader, reads[position])
    a.read |= {(op.index, position): form for position, form in reads.items()}


def _join_state(
    graph: Subgraph, op: Op, a: TypeAssignment, reads: dict[int, TensorForm], groups: FormGroups
) -> None:
    """Give the value that the ASSIGN_VARIABLE ``op`` assigns the quantization of the values that are read from the
    variable. If its own quantization is fixed to another one, it is converted."""
    read_ops = variable_reads(graph).get(handle_names(graph)[op.inputs[0]], [])
    forms = [a.produced[read.outputs[0]] for read in read_ops]
    for form in forms:
        if form.dtype == reads[1].dtype and not groups.join(form, reads[1]):
            reads[1] = groups.add(TensorForm(reads[1].tensor, form.dtype, (op.index, 1)))
            groups.join(form, reads[1])


def _reads(graph: Subgraph, op: Op, mode: str, groups: FormGroups) -> dict[int, TensorForm]:
    """Return the forms that ``op`` reads: every real input except constant weights and biases."""
    out: dict[int, TensorForm] = {}
    if mode != FLOAT and op.name == lstm.NAME:
        return {lstm.INPUT: groups.add(TensorForm(op.inputs[lstm.INPUT], mode))}
    for position, i in enumerate(op.inputs):
        if i < 0 or not _is_real(graph.tensors[i]) or graph.tensors[i].is_variable:
            continue
        if graph.tensors[i].is_constant:
            if mode == FLOAT or is_parameter(graph, op, position):
                continue
            dtype = "int8" if (op.name, position) in ALWAYS_INT8 else mode
            out[position] = groups.add(TensorForm(i, dtype, (op.index, position)))
        else:
            out[position] = groups.add(TensorForm(i, mode))
    return out


def is_parameter(graph: Subgraph, op: Op, position: int) -> bool:
    """Return whether an input is the constant weights or bias of ``op``."""
    rule = WEIGHTS.get(op.name)
    if rule is None or not graph.tensors[op.inputs[position]].is_constant:
        return False
    return position in (rule.weights, rule.bias)


def _assign_quantization(
    graph: Subgraph,
    groups: FormGroups,
    a: TypeAssignment,
    stats: Mapping[int, TensorStats],
    settings_of: Callable[[int], LayerSettings],
    chosen: Mapping[str, tuple[float, float]],
    trained: Mapping[str, tuple[float, float]],
) -> None:
    """Set the quantization of each form: the fixed quantization of its group, or one for the range of all members.

    ``chosen`` has the recipe's ranges of int8 tensors by name. ``trained`` ranges take precedence.
    """
    ranges: dict[tuple[int, str], tuple[float, float]] = {}
    for root, members in groups.members().items():
        if root in groups.fixed:
            a.quant |= dict.fromkeys(members, groups.fixed[root])
            continue
        a.groups.append(members)
        low = high = 0.0
        for form in members:
            if _is_clamp_limit(graph, form):
                continue
            key = form.tensor, form.dtype
            if key not in ranges:
                t = graph.tensors[form.tensor]
                known = trained.get(t.name) or (chosen.get(t.name) if form.dtype == "int8" else None)
                ranges[key] = known or _range(t, form.dtype, stats, settings_of(form.tensor))
            low, high = min(low, ranges[key][0]), max(high, ranges[key][1])
        a.quant |= {form: activation_quantization(low, high, form.dtype) for form in members}


def _is_clamp_limit(graph: Subgraph, form: TensorForm) -> bool:
    """Return whether ``form`` is a constant of MINIMUM or MAXIMUM. It may be clipped to the range of the output without
    changing the output, and it must not widen the range: some constants are as large as 1e12."""
    if form.edge is None or graph.tensors[form.tensor].data is None:
        return False
    return graph.ops[form.edge[0]].name in ("MINIMUM", "MAXIMUM")


def _range(
    t: Tensor, dtype: str, stats: Mapping[int, TensorStats], settings: LayerSettings
) -> tuple[float, float]:
    """Return the range (low, high) of a tensor: of its values if it is constant, otherwise the calibrated range."""
    if t.data is not None:
        return min(float(t.data.min(initial=0.0)), 0.0), max(float(t.data.max(initial=0.0)), 0.0)
    if t.index not in stats:
        raise UsageError(
            f"The observations do not contain tensor {t.index} '{t.name}'.", "Calibrate this model."
        )
    return choose_range(stats[t.index], LEVELS[dtype], settings.calibrator, settings.calibrator_parameters)
