"""Rewrite the graph with the types of a ``TypeAssignment``: insert integer operators and conversions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Op, Quantization, Signature, Subgraph, Tensor
from arenite.converters.graph.resource_variables import variable_assignments, variable_reads
from arenite.converters.quantize.calibration import trained_ranges
from arenite.converters.quantize.graph import lstm
from arenite.converters.quantize.graph.operator_rules import WEIGHTS, version
from arenite.converters.quantize.graph.type_assignment import FLOAT, TensorForm, TypeAssignment, is_parameter
from arenite.converters.quantize.pointwise.functions import PointwiseFunction
from arenite.converters.quantize.pointwise.table import lookup_table
from arenite.converters.quantize.weights.integer_weights import (
    QuantizedWeights,
    quantize_bias,
    quantize_weights,
)
from arenite.converters.tflite.schema_names import TYPE_CODES
from arenite.converters.tflite.verifier import defaults_of

#: The type of a bias for each type of activations.
_BIAS = {"int8": "int32", "int16": "int64"}

#: Metadata entries that are only valid for the float model.
_STALE_METADATA = frozenset({"min_runtime_version", "CONVERSION_METADATA", trained_ranges.NAME})


def emit_quantized_graph(
    model: Model, a: TypeAssignment, weights: Mapping[int, QuantizedWeights], biases: Mapping[int, np.ndarray]
) -> tuple[Model, tuple[int, ...], dict[int, int]]:
    """Return the quantized model, the source layer of each of its operators (-1 for an added operator that only
    converts values, such as QUANTIZE), and a map from each computed float tensor of the source to its tensor in the
    quantized model.

    ``weights`` has the integer weights by operator. ``biases`` has float biases by operator that replace the model's
    biases.
    """
    return _QuantizedGraphBuilder(model, a, weights, biases).run()


class _QuantizedGraphBuilder:
    """Builds the quantized model operator by operator. A form is a source tensor in one type and quantization; a tensor
    can have several forms."""

    def __init__(
        self,
        model: Model,
        a: TypeAssignment,
        weights: Mapping[int, QuantizedWeights],
        biases: Mapping[int, np.ndarray],
    ) -> None:
        self.model, self.graph, self.a = model, model.main, a
        self.weights, self.biases = weights, biases
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.origins: list[int] = []
        self.constants: dict[tuple[Any, ...], int] = {}
        #: From a form, or the index of a source tensor that does not change, to the index of the new tensor.
        self.new_index: dict[TensorForm | int, int] = {}

    def run(self) -> tuple[Model, tuple[int, ...], dict[int, int]]:
        """Return the results of ``emit_quantized_graph``."""
        inputs = tuple(
            self._add_form(self.a.produced[i]) if i in self.a.produced else self._unchanged(i)
            for i in self.graph.inputs
        )
        for op in self.graph.ops:
            self._add_op(op)
        outputs = tuple(
            self._unchanged(i) if form is None else self._tensor_of_form(form)
            for i, form in zip(self.graph.outputs, self.a.results, strict=True)
        )
        graph = Subgraph(self.graph.name, tuple(self.tensors), tuple(self.ops), inputs, outputs)
        tensors = {i: self.new_index[form] for i, form in self.a.produced.items() if form in self.new_index}
        metadata = {k: v for k, v in self.model.metadata.items() if k not in _STALE_METADATA}
        new = replace(
            self.model,
            subgraphs=(graph, *self._start_graphs()),
            signatures=tuple(self._signature(s, inputs, outputs) for s in self.model.signatures),
            metadata=metadata,
            repairs=(),
        )
        return new, tuple(self.origins), tensors

    def _start_graphs(self) -> tuple[Subgraph, ...]:
        """Return the subgraphs after the main one, which assign the first values of resource variables, with these
        values in the types of the variables."""
        forms = {
            name: self.a.produced.get(reads[0].outputs[0])
            for name, reads in variable_reads(self.graph).items()
        }
        graphs = []
        for start in self.model.subgraphs[1:]:
            tensors = list(start.tensors)
            for name, assignments in variable_assignments(start).items():
                form = forms.get(name)
                if form is None or form.dtype == FLOAT:
                    continue
                quant = self.a.quant[form]
                for t in (tensors[op.inputs[1]] for op in assignments):
                    if t.data is not None and t.dtype == FLOAT:
                        data = _integers(t.data, form.dtype, quant)
                        tensors[t.index] = replace(t, dtype=form.dtype, quant=quant, data=data)
            graphs.append(replace(start, tensors=tuple(tensors)))
        return tuple(graphs)

    def _signature(self, s: Signature, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Signature:
        """Return a signature with the new ``inputs`` and ``outputs`` in place of the tensors of the source."""
        if s.subgraph != 0:
            return s
        new_in = dict(zip(self.graph.inputs, inputs, strict=True))
        new_out = dict(zip(self.graph.outputs, outputs, strict=True))
        return replace(
            s,
            inputs=tuple((name, new_in[i]) for name, i in s.inputs if i in new_in),
            outputs=tuple((name, new_out[i]) for name, i in s.outputs if i in new_out),
        )

    def _add(self, t: Tensor) -> int:
        """Add a tensor like ``t`` and return its index."""
        self.tensors.append(replace(t, index=len(self.tensors)))
        return len(self.tensors) - 1

    def _constant(
        self, name: str, data: np.ndarray, dtype: str, shape: tuple[int, ...], quant: Quantization | None
    ) -> int:
        key = dtype, shape, quant, data.tobytes()
        if key not in self.constants:  # layers with equal weights share one tensor
            self.constants[key] = self._add(Tensor(0, name, shape, dtype, quant, data))
        return self.constants[key]

    def _unchanged(self, i: int) -> int:
        """Return the index of the copy of source tensor ``i``, or -1 for -1."""
        if i < 0:
            return -1
        if i not in self.new_index:
            self.new_index[i] = self._add(self.graph.tensors[i])
        return self.new_index[i]

    def _add_form(self, form: TensorForm) -> int:
        """Add a computed tensor for ``form`` and return its index."""
        t = self.graph.tensors[form.tensor]
        first = self.a.produced.get(form.tensor) == form
        name = t.name if first else f"{t.name}/{form.dtype}"
        if form.edge is not None:
            name += "/" + "_".join(map(str, form.edge))
        quant = self.a.quant.get(form)
        self.new_index[form] = self._add(replace(t, name=name, dtype=form.dtype, quant=quant, data=None))
        return self.new_index[form]

    def _tensor_of_form(self, form: TensorForm) -> int:
        """Return the tensor of ``form``. If its value is computed in another form, add a conversion."""
        if form in self.new_index:
            return self.new_index[form]
        t = self.graph.tensors[form.tensor]
        if form in self.a.converted:
            source = self._tensor_of_form(self.a.converted[form])
        elif t.data is not None:
            if form.dtype == FLOAT:
                return self._unchanged(form.tensor)
            quant = self.a.quant[form]
            data = _integers(t.data, form.dtype, quant)
            self.new_index[form] = self._constant(t.name, data, form.dtype, t.shape, quant)
            return self.new_index[form]
        else:
            source = self.new_index[self.a.produced[form.tensor]]
        target = self._add_form(form)
        name = "DEQUANTIZE" if form.dtype == FLOAT else "QUANTIZE"
        self._add_conversion(name, (source,), (target,), -1, dtype=self.tensors[source].dtype)
        return target

    def _add_conversion(
        self, name: str, inputs: tuple[int, ...], outputs: tuple[int, ...], origin: int, dtype: str = "int8"
    ) -> None:
        options = {"QUANTIZE": "QuantizeOptions", "DEQUANTIZE": "DequantizeOptions"}[name]
        number = version(name, dtype, dtype, 1)
        self.ops.append(Op(len(self.ops), name, inputs, outputs, {}, options, number))
        self.origins.append(origin)

    def _add_op(self, op: Op) -> None:
        """Add ``op`` in its new type, and the conversions of inputs that it needs."""
        mode = self.a.modes.get(op.index)
        if op.index in self.a.tables:
            self._add_table(op, self.a.tables[op.index])
            return
        if op.name == lstm.NAME and mode != FLOAT:
            self._add_lstm(op)
            return
        rule = WEIGHTS.get(op.name)
        inputs = []
        for position, i in enumerate(op.inputs):
            key = (op.index, position)
            if key in self.a.read:
                inputs.append(self._tensor_of_form(self.a.read[key]))
            elif i < 0 or mode is None or not self._is_changed_parameter(op, position, mode):
                inputs.append(self._unchanged(i))
            elif rule is not None and position == rule.weights:
                inputs.append(self._weights(op, mode))
            else:
                inputs.append(self._bias(op, mode))
        outputs = tuple(
            -1
            if i < 0
            else self._add_form(self.a.produced[i])
            if i in self.a.produced
            else self._unchanged(i)
            for i in op.outputs
        )
        new = replace(
            op,
            index=len(self.ops),
            inputs=tuple(inputs),
            outputs=outputs,
            intermediates=tuple(self._unchanged(i) for i in op.intermediates),
        )
        if mode in ("int8", "int16"):
            integers = self.weights.get(op.index)
            number = version(op.name, mode, integers.dtype if integers else "", op.version)
            new = replace(new, version=number, options=_integer_options(op))
        elif op.index in self.weights and "asymmetric_quantize_inputs" in op.options:
            # Version 9 of FULLY_CONNECTED is the first with this option.
            new = replace(
                new, options={**op.options, "asymmetric_quantize_inputs": True}, version=max(9, op.version)
            )
        self.ops.append(new)
        self.origins.append(op.index)

    def _add_table(self, op: Op, function: PointwiseFunction) -> None:
        """Add the operators that look up the result of ``function`` in a table, if ``op`` is its last operator. Its
        other operators are left out."""
        if op.index != function.last.index:
            return
        read, produced = self.a.read[op.index, 0], self.a.produced[function.result]
        source, result = self._tensor_of_form(read), self._add_form(produced)
        name, shape = self.tensors[result].name, self.tensors[result].shape
        wide = self._add(Tensor(0, f"{name}/wide", shape, "int32"))
        offset = self._constant("table_offset", np.full((1,), 128, np.int32), "int32", (1,), None)
        index = self._add(Tensor(0, f"{name}/index", shape, "int32"))
        quant = self.a.quant[produced]
        values = lookup_table(function, self.a.quant[read], quant)
        values.flags.writeable = False
        table = self._constant(f"{name}/table", values, "int8", values.shape, quant)
        number = len(self.ops)
        types = {"in_data_type": TYPE_CODES["int8"], "out_data_type": TYPE_CODES["int32"]}
        self.ops += [
            Op(number, "CAST", (source,), (wide,), types, "CastOptions"),
            Op(number + 1, "ADD", (wide, offset), (index,), defaults_of("AddOptions"), "AddOptions"),
            Op(
                number + 2, "GATHER", (table, index), (result,), defaults_of("GatherOptions"), "GatherOptions"
            ),
        ]
        self.origins += [-1, -1, op.index]

    def _add_lstm(self, op: Op) -> None:
        """Add an LSTM on int8. Its states are variable tensors. The output state is quantized like the output, and the
        scale of the cell state is a power of two."""
        source = self._tensor_of_form(self.a.read[op.index, lstm.INPUT])
        result = self._add_form(self.a.produced[op.outputs[0]])
        quant = self.tensors[result].quant
        inputs = [-1] * 24  # the operator has 24 inputs, most of them optional
        inputs[lstm.INPUT] = source
        bias_scales = []
        for positions in (lstm.INPUT_WEIGHTS, lstm.RECURRENT_WEIGHTS):
            for p in positions:
                t = self.graph.tensors[op.inputs[p]]
                assert t.data is not None
                integers = quantize_weights(t.data, 0, "int8", per_channel=False, scale_method="max")
                weight_quant = Quantization((float(integers.scale[0]),), (0,))
                inputs[p] = self._constant(t.name, integers.values, "int8", t.shape, weight_quant)
                bias_scales.append(float(integers.scale[0]) * self.tensors[source].scale)
        for p, bias_scale in zip(lstm.BIASES, bias_scales, strict=False):
            t = self.graph.tensors[op.inputs[p]]
            assert t.data is not None
            bias = quantize_bias(t.data, np.array([bias_scale]), "int32")
            bias_quant = Quantization((float(np.float32(bias_scale)),), (0,))
            inputs[p] = self._constant(t.name, bias, "int32", t.shape, bias_quant)
        states = (
            (lstm.OUTPUT_STATE, "int8", quant),
            (lstm.CELL_STATE, "int16", lstm.cell_quantization(self.a.largest_cell_states[op.index])),
        )
        for p, dtype, own in states:
            inputs[p] = self._add(replace(self.graph.tensors[op.inputs[p]], dtype=dtype, quant=own))
        # The kernel takes five intermediate tensors (four gates and the hidden state). It reads only their
        # quantization.
        gates = [self._add(Tensor(0, f"gate_{k}", (0,), FLOAT)) for k in range(4)]
        hidden = self._add(Tensor(0, "hidden", (0,), "int8", quant))
        options = _integer_options(op)
        new = replace(op, inputs=tuple(inputs), outputs=(result,), intermediates=(*gates, hidden))
        self.ops.append(replace(new, index=len(self.ops), options=options))
        self.origins.append(op.index)

    def _is_changed_parameter(self, op: Op, position: int, mode: str) -> bool:
        """Return whether an input is a weight or bias that is stored in another type or with other values."""
        rule = WEIGHTS.get(op.name)
        if rule is None or not is_parameter(self.graph, op, position):
            return False
        if position == rule.weights:
            return op.index in self.weights or self.a.settings[op.index].weights == "float16"
        return mode != FLOAT or op.index in self.biases or self._has_float16_weights(op)

    def _has_float16_weights(self, op: Op) -> bool:
        """Return whether the weights and bias of ``op`` are stored as float16."""
        return self.a.settings[op.index].weights == "float16" and op.index not in self.weights

    def _weights(self, op: Op, mode: str) -> int:
        """Add the weights of ``op`` in their new type, and return the tensor that ``op`` reads."""
        position = WEIGHTS[op.name].weights
        t = self.graph.tensors[op.inputs[position]]
        integers = self.weights.get(op.index)
        if integers is None:
            return self._add_float16(t)
        scale = tuple(float(s) for s in integers.scale)
        quant = Quantization(scale, (0,) * len(scale), integers.axis if len(scale) > 1 else 0)
        index = self._constant(t.name, integers.stored(), integers.dtype, t.shape, quant)
        if mode != FLOAT or (
            self.a.settings[op.index].float_kernels == "dynamic" and WEIGHTS[op.name].hybrid
        ):
            return index
        return self._add_dequantize(index, integers.dtype)

    def _bias(self, op: Op, mode: str) -> int:
        """Add the bias of ``op`` in its new type, and return the tensor that ``op`` reads."""
        rule = WEIGHTS[op.name]
        t = self.graph.tensors[op.inputs[rule.bias]]
        assert t.data is not None
        value = self.biases.get(op.index, t.data)
        if mode == FLOAT:
            t = replace(t, data=value.astype(np.float32))
            return self._add_float16(t) if self._has_float16_weights(op) else self._add(t)
        input_scale = self.a.quant[self.a.read[op.index, rule.value]].scale[0]
        if op.index in self.weights:
            scale = self.weights[op.index].scale.astype(np.float64) * input_scale
        else:  # weights that an operator computes have the scale of their tensor
            scale = np.array(self.a.quant[self.a.read[op.index, rule.weights]].scale) * input_scale
        dtype = _BIAS[mode]
        stored = tuple(float(np.float32(s)) for s in scale)
        quant = Quantization(stored, (0,) * len(stored), 0)
        return self._constant(t.name, quantize_bias(value, scale, dtype), dtype, t.shape, quant)

    def _add_float16(self, t: Tensor) -> int:
        """Add ``t`` as float16 and a DEQUANTIZE that reads it."""
        assert t.data is not None
        largest = float(np.finfo(np.float16).max)
        data = np.clip(t.data, -largest, largest).astype(np.float16)
        return self._add_dequantize(self._constant(t.name, data, "float16", t.shape, None), "float16")

    def _add_dequantize(self, index: int, dtype: str) -> int:
        """Add a DEQUANTIZE of tensor ``index`` and return its output."""
        t = self.tensors[index]
        out = self._add(Tensor(0, f"{t.name}/float32", t.shape, FLOAT))
        self._add_conversion("DEQUANTIZE", (index,), (out,), -1, dtype="int4" if dtype == "int4" else "int16")
        return out


def _integers(values: np.ndarray, dtype: str, quant: Quantization) -> np.ndarray:
    """Return real values in the type ``dtype`` with one scale and zero point."""
    steps = np.rint(values.astype(np.float64) / quant.scale[0]) + quant.zero_point[0]
    data = np.asarray(np.clip(steps, np.iinfo(dtype).min, np.iinfo(dtype).max), dtype)
    data.flags.writeable = False
    return data


def _integer_options(op: Op) -> dict[str, Any]:
    """Return the options of ``op`` for integer tensors."""
    options = dict(op.options)
    if "pot_scale_int16" in options:
        options["pot_scale_int16"] = False
    if "asymmetric_quantize_inputs" in options:
        options["asymmetric_quantize_inputs"] = False
    return options
