"""Lower UNIDIRECTIONAL_SEQUENCE_LSTM with int8 activations and weights and an int16 cell state to a kernel call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_accepted,
    require_constant,
    require_dtype,
    require_quantized,
    u16,
)
from arenite.firmware.generator.lower.recurrent.svdf import require_state

#: Positions among the operator's inputs. Gates are in the order input, forget, cell, output.
INPUT, INPUT_WEIGHTS, RECURRENT_WEIGHTS, PEEPHOLE, BIAS = 0, 1, 5, (9, 10, None, 11), 12
PROJECTION, PROJECTION_BIAS, OUTPUT_STATE, CELL_STATE, NORM = 16, 17, 18, 19, 20
GATES = ("input", "forget", "cell", "output")
HIDDEN = 4  # position among the intermediates; 0 to 3 are the gates' sums, used only with layer normalization

f32 = np.float32


@dataclass(frozen=True)
class Lstm:
    """The operator's tensors by their role; None if absent. ``sums`` are the intermediate tensors with the gates'
    sums."""

    inp: Tensor
    out: Tensor
    hidden: Tensor
    output_state: Tensor
    cell_state: Tensor
    input_weights: tuple[Tensor | None, ...]
    recurrent_weights: tuple[Tensor | None, ...]
    peephole: tuple[Tensor | None, ...]
    bias: tuple[Tensor | None, ...]
    norm: tuple[Tensor | None, ...]
    sums: tuple[Tensor, ...]
    projection: Tensor | None
    projection_bias: Tensor | None
    time_major: bool

    @property
    def normalized(self) -> bool:
        """Whether the operator has layer normalization."""
        return self.norm[1] is not None

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.cell_state.elements // self.batches

    @property
    def outputs(self) -> int:
        """The number of outputs per time step: the cells, or the outputs of the projection."""
        return self.out.shape[-1]

    @property
    def batches(self) -> int:
        """The batch size."""
        return self.inp.shape[1 if self.time_major else 0]

    @property
    def steps(self) -> int:
        """The number of time steps."""
        return self.inp.shape[0 if self.time_major else 1]

    @property
    def gates(self) -> list[int]:
        """The gates that are computed. Without weights, the input gate is 1 - forget gate."""
        return [g for g in range(4) if self.input_weights[g] is not None]


def lstm_of(graph: Subgraph, op: Op) -> Lstm:
    """Return the operator's tensors by their role. Raises ``UnsupportedModelError`` if a required tensor is missing."""

    def tensor(position: int | None) -> Tensor | None:
        index = -1 if position is None else op.input(position)
        return None if index < 0 else graph.tensors[index]

    def four(first: int) -> tuple[Tensor | None, ...]:
        return tuple(tensor(first + g) for g in range(4))

    if len(op.inputs) not in (20, 24):
        raise refuse(
            op,
            None,
            f"has {len(op.inputs)} inputs instead of 24",
            "Convert the model again with TFLite's converter.",
        )
    if len(op.intermediates) != 5:
        raise refuse(
            op,
            None,
            f"has {len(op.intermediates)} intermediates instead of 5",
            "Quantize the model fully to int8: float and hybrid LSTMs are not supported.",
        )
    inp = graph.tensors[op.inputs[INPUT]]
    cell_state = require_state(op, tensor(CELL_STATE), "int16")
    for tensor_in_use in (inp, cell_state):  # layer normalization divides by the number of cells
        if not tensor_in_use.elements:
            raise refuse(op, tensor_in_use, "has no elements", "Remove the operator.")
    intermediates = [graph.tensors[i] for i in op.intermediates]
    return Lstm(
        inp=inp,
        out=graph.tensors[op.outputs[0]],
        hidden=intermediates[HIDDEN],
        output_state=require_state(op, tensor(OUTPUT_STATE), "int8"),
        cell_state=cell_state,
        input_weights=four(INPUT_WEIGHTS),
        recurrent_weights=four(RECURRENT_WEIGHTS),
        peephole=tuple(tensor(p) for p in PEEPHOLE),
        bias=four(BIAS),
        norm=four(NORM),
        sums=tuple(intermediates[:4]),
        projection=tensor(PROJECTION),
        projection_bias=tensor(PROJECTION_BIAS),
        time_major=bool(op.options["time_major"]),
    )


def cell_integer_bits(cell_state: Tensor) -> int | None:
    """Return the number of integer bits in the fixed-point format of the cell state; None unless its scale is a power
    of two from 2**-30 to 2."""
    mantissa, exponent = math.frexp(cell_state.scale)
    bits = 15 + exponent - 1
    return bits if mantissa == 0.5 and -15 <= bits <= 16 else None


def has_tanh(m: Lstm) -> bool:
    """Return whether LiteRT applies tanh to the cell state. Its tanh supports 0 to 6 integer bits.

    Converters also write scales below 2**-15 (for cell states that stay small). Then LiteRT's kernel skips the tanh and
    uses the previous contents of its buffer, which is the input gate.
    """
    bits = cell_integer_bits(m.cell_state)
    return bits is not None and 0 <= bits <= 6


@register
class UnidirectionalSequenceLstm(Lowering):
    op_name = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    supports = (
        "int8 activations and weights per tensor, int16 cell state; batch or time major, coupled gates, peephole,"
        " projection, layer normalization, clipping"
    )
    kernels = ("exp_fixed.c", "gate_s16.c", "inv_sqrt.c", "lstm_cell.c", "lstm_norm_s8.c", "lstm_s8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        m = lstm_of(graph, op)
        for tensor in (m.inp, m.out, m.hidden):
            require_dtype(op, tensor, ("int8",))
            require_quantized(op, tensor)
        if cell_integer_bits(m.cell_state) is None:
            raise refuse(
                op,
                m.cell_state,
                f"the cell state's scale {m.cell_state.scale} is not a power of two from 2**-30 to 2",
                "Convert the model with TFLite's converter.",
            )
        if not has_tanh(m) and m.input_weights[0] is None:
            raise refuse(
                op,
                m.cell_state,
                f"LiteRT cannot compute tanh for the cell state's scale {m.cell_state.scale}",
                "Calibrate the model with data for which the cell state has larger values.",
            )
        is_consistent = (
            (m.input_weights[0] is None) == (m.recurrent_weights[0] is None) == (m.bias[0] is None)
        )
        if not is_consistent or m.gates[-3:] != [1, 2, 3]:
            raise refuse(
                op,
                None,
                "a gate has no weights or no bias",
                "Convert the model again with TFLite's converter.",
            )
        for g in m.gates:
            self._constant(op, m.input_weights[g], "int8", f"{GATES[g]} gate's weights")
            self._constant(op, m.recurrent_weights[g], "int8", f"{GATES[g]} gate's weights")
            self._constant(op, m.bias[g], "int32", f"{GATES[g]} gate's bias")
            if m.normalized:
                self._constant(op, m.norm[g], "int16", "normalization coefficients")
                require_quantized(op, m.sums[g])
            elif m.norm[g] is not None:
                raise refuse(
                    op,
                    m.norm[g],
                    "only some gates are normalized",
                    "Convert the model again with TFLite's converter.",
                )
            if m.peephole[1] is not None and g != 2:
                self._constant(op, m.peephole[g], "int16", "peephole weights")
        mixed = m.outputs > m.cells or (m.outputs < m.cells and m.time_major and m.batches > 1)
        if m.peephole[1] is not None and mixed:
            raise refuse(
                op,
                m.peephole[1],
                "LiteRT reads wrong peephole weights beside this projection",
                "Remove the peephole.",
            )
        if m.projection is not None:
            self._constant(op, m.projection, "int8", "projection weights")
            if m.projection_bias is not None:
                self._constant(op, m.projection_bias, "int32", "projection bias")

    @staticmethod
    def _constant(op: Op, tensor: Tensor | None, dtype: str, name: str) -> None:
        """Raise ``UnsupportedModelError`` unless the tensor is constant, has this type and is quantized per tensor."""
        require_constant(op, tensor, f"the {name}")
        assert tensor is not None
        require_dtype(op, tensor, (dtype,))
        if dtype != "int32" and (tensor.quant is None or tensor.quant.per_axis):
            raise refuse(
                op,
                tensor,
                f"the {name} must have one scale",
                "Convert with per-tensor weights for this layer.",
            )

    def scratch(self, graph: Subgraph, op: Op) -> int:
        """Return the bytes of the hidden values, if there is a projection, and of the int16 values of all gates except
        one, if there is layer normalization."""
        m = lstm_of(graph, op)
        hidden = -(-m.cells // 16) * 16 if m.projection is not None else 0
        return hidden + (2 * m.cells * (len(m.gates) - 1) if m.normalized else 0)

    def macs(self, graph: Subgraph, op: Op) -> int:
        m = lstm_of(graph, op)
        step = len(m.gates) * m.cells * (m.inp.shape[2] + m.outputs)
        return m.batches * m.steps * (step + (m.projection.elements if m.projection is not None else 0))

    def lower(self, ctx: LowerContext) -> KernelCall:
        op = ctx.op
        m = lstm_of(ctx.graph, op)
        state_scale, hidden_scale = f32(m.output_state.scale), f32(m.hidden.scale)
        # The hidden values are products of an output gate and a tanh, both in Q0.15.
        hidden = quantize_multiplier(float(f32(2.0**-15 / float(hidden_scale) * 2.0**-15)))
        projection, projection_scale = NULL, 1.0
        if m.projection is not None:
            projection = ctx.weights(constant(m.projection), "projection")
            projection_scale = m.projection.scale
        projected = quantize_multiplier(float(f32(projection_scale) * hidden_scale / state_scale))
        scratch = ctx.scratch_ptr() if self.scratch(ctx.graph, op) else NULL
        gates_at = -(-m.cells // 16) * 16 if m.projection is not None else 0
        fields: dict[str, Any] = {
            "input": ctx.input_ptr(INPUT),
            "output": ctx.output_ptr(),
            "output_state": ctx.input_ptr(OUTPUT_STATE),
            "cell_state": ctx.input_ptr(CELL_STATE),
            "hidden": scratch if m.projection is not None else NULL,
            "gates_scratch": ctx.scratch_ptr(gates_at) if m.normalized else NULL,
            "projection": projection,
            "projection_bias": NULL
            if m.projection is None
            else ctx.weights(folded_bias(m.projection, m.projection_bias, m.hidden.zero_point), "bias"),
            "gate": [self._gate(ctx, m, g) for g in range(4)],
            "hidden_multiplier": hidden[0],
            "projection_multiplier": projected[0],
            "batch_step": 1 if m.time_major else m.steps,
            "time_step": m.batches if m.time_major else 1,
            "batches": u16(op, m.batches, "batch size"),
            "steps": u16(op, m.steps, "number of time steps"),
            "inputs": u16(op, m.inp.shape[2], "input size"),
            "cells": u16(op, m.cells, "number of cells"),
            "outputs": u16(op, m.outputs, "output size"),
            "peephole_cells": min(m.cells, m.outputs),
            # LiteRT's projection uses the hidden values with their zero point negated.
            "hidden_offset": m.hidden.zero_point if m.projection is None else -m.hidden.zero_point,
            "output_zero_point": m.output_state.zero_point,
            "cell_clip": quantized_clip(op.options["cell_clip"], m.cell_state, 32767),
            "output_clip": quantized_clip(op.options["proj_clip"], m.out, 127),
            "hidden_shift": hidden[1],
            "projection_shift": projected[1],
            "cell_integer_bits": cell_integer_bits(m.cell_state),
            "has_tanh": has_tanh(m),
        }
        name = "lstm_norm_s8" if m.normalized else "lstm_s8"
        sources = (f"{name}.c", "lstm_cell.c", "gate_s16.c", *(("inv_sqrt.c", "exp_fixed.c") * m.normalized))
        return KernelCall(f"ar_{name}", "lstm.h", sources, "ar_lstm_params", fields)

    @staticmethod
    def _gate(ctx: LowerContext, m: Lstm, g: int) -> dict[str, Any]:
        """Return the fields of gate ``g`` in the order of ``GATES``."""
        weights, recurrent, peephole, norm = (
            m.input_weights[g],
            m.recurrent_weights[g],
            m.peephole[g],
            m.norm[g],
        )
        if weights is None or recurrent is None:
            return {"input_weights": NULL}
        # Sums are in Q3.12. With layer normalization they have their calibrated scale, and are normalized to Q3.12.
        sum_scale = f32(m.sums[g].scale if m.normalized else 2.0**-12)
        from_input = quantize_multiplier(float(f32(weights.scale) * f32(m.inp.scale) / sum_scale))
        from_state = quantize_multiplier(float(f32(recurrent.scale) * f32(m.output_state.scale) / sum_scale))
        bias = None if m.normalized else m.bias[g]
        fields: dict[str, Any] = {
            "input_weights": ctx.weights(constant(weights), f"{GATES[g]}_weights"),
            "recurrent_weights": ctx.weights(constant(recurrent), f"{GATES[g]}_recurrent"),
            "input_bias": ctx.weights(folded_bias(weights, bias, -m.inp.zero_point), "bias"),
            "recurrent_bias": ctx.weights(folded_bias(recurrent, None, -m.output_state.zero_point), "bias"),
            "input_multiplier": from_input[0],
            "recurrent_multiplier": from_state[0],
            "input_shift": from_input[1],
            "recurrent_shift": from_state[1],
        }
        if peephole is not None:
            scale = m.cell_state.scale * peephole.scale / float(sum_scale)
            multiplier, shift = quantize_multiplier(float(f32(scale)))
            fields |= {
                "peephole": ctx.weights(constant(peephole), "peephole"),
                "peephole_multiplier": multiplier,
                "peephole_shift": shift,
            }
        if norm is not None:
            multiplier, shift = quantize_multiplier(norm.scale)
            gate_bias = require_accepted(m.bias[g])
            fields |= {
                "norm": ctx.weights(constant(norm), "norm"),
                "norm_bias": ctx.weights(constant(gate_bias), "bias"),
                "norm_multiplier": multiplier,
                "norm_shift": shift + 12,
                # Used in place of a variance of 0. TFLite computes it in this way.
                "variance_guard": max(1, int(f32(10000) * f32(norm.scale))),
            }
        return fields


def constant(tensor: Tensor) -> np.ndarray:
    """Return the value of a tensor that ``check`` has found to be constant."""
    assert tensor.data is not None
    return tensor.data


def folded_bias(weights: Tensor, bias: Tensor | None, zero_point: int) -> np.ndarray:
    """Return int32 [rows of ``weights``]: ``bias`` plus ``zero_point`` times the sum of each row, modulo 2**32."""
    total = constant(weights).astype(np.int64).sum(axis=1) * zero_point
    if bias is not None and bias.data is not None:
        total = total + bias.data
    return cast(np.ndarray, total.astype(np.uint32).astype(np.int32))


def quantized_clip(clip: float, like: Tensor, largest: int) -> int:
    """Return a clipping limit as a quantized value of the tensor ``like``, truncated and at most ``largest``; 0 for no
    limit."""
    return int(min(f32(clip) / f32(like.scale), f32(largest))) if clip > 0 else 0
