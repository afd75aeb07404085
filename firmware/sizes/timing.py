"""Estimate the instructions of an inference without building the firmware, with a linear model per kernel and core.

instructions of a layer = per_mac * MACs + per_output * output elements + per_call. The coefficients in
``profiles/timing.json`` were fitted to instructions measured on the emulated boards (``python -m
benchmarks.estimates.fit_timing``). The result is an estimate, not a measurement: it ignores padding, caches and flash
wait states.
"""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple

from arenite.converters.graph.loop import loop_of
from arenite.firmware.boards.cores import optimise_flags
from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.lower.core.lowering import KernelCall
from arenite.firmware.generator.operator_needs import op_macs
from arenite.firmware.sizes.targets import SIZES

PATH = SIZES.parent / "timing.json"


class KernelCost(NamedTuple):
    """Instructions of a kernel for each unit of its work. No cost is negative."""

    per_mac: float
    per_output: float
    per_call: float = 0.0

    def instructions(self, macs: float, outputs: float) -> float:
        """Return the instructions of one layer with this number of multiply-accumulates and output elements."""
        return self.per_mac * macs + self.per_output * outputs + self.per_call


#: Costs for a kernel that was never measured, by the suffix of its name: typical values of such kernels. Assumed.
DEFAULTS = {
    "_mve": KernelCost(0.6, 5.0),
    "_dsp": KernelCost(1.5, 10.0),
    "_scalar": KernelCost(4.0, 20.0),
    "": KernelCost(10.0, 25.0),
}

#: For kernels for packed weights that were never measured: a similar kernel, and the factor by which its cost is
#: multiplied. Assumed.
PACKED = {
    "ar_conv_2d_w4_dsp": ("ar_conv_2d_s8_dsp", 1.16),
    "ar_conv_2d_w4_dsp_row": ("ar_conv_2d_s8_dsp_row", 1.16),
    "ar_fully_connected_w4_dsp": ("ar_fully_connected_s8_dsp", 1.22),
    "ar_conv_2d_s8_packed": ("ar_conv_2d_s8", 2.5),
    "ar_conv_2d_s8_packed_row": ("ar_conv_2d_s8_row", 2.5),
    "ar_fully_connected_s8_packed": ("ar_fully_connected_s8", 5.0),
    "ar_fully_connected_s8_real_packed": ("ar_fully_connected_s8_real", 5.0),
}
#: Instructions of one call of ``ar_unpack4``, and of each word that it writes. Assumed.
UNPACK_CALL, UNPACK_WORD = 40.0, 5.0

#: Instructions of one step of a loop, of the call of one layer in it, and of a byte that is copied. Assumed.
LOOP_STEP, LOOP_CALL, LOOP_BYTE = 60.0, 12.0, 4.0

#: For each core without measured coefficients: the nearest measured core.
NEAREST = {
    "cortex-m0plus": "cortex-m0",
    "cortex-m23": "cortex-m0",
    "cortex-m4": "cortex-m4f",
    "cortex-m85": "cortex-m55",
    "rv32imac": "rv32imc",
    "rv32imafc": "rv32imc",
    "xtensa-lx6": "xtensa-lx106",
    "xtensa-lx7": "xtensa-lx106",
}


#: Suffix of a kernel's key in builds for size. The compiler generates other code in them.
SIZE_OPTIMIZED = " -Os"


def key_of(kernel: str, optimise: str) -> str:
    """Return the key of a kernel's cost in the table."""
    return kernel + SIZE_OPTIMIZED if optimise_flags(optimise) == ("-Os",) else kernel


@cache
def coefficients() -> dict[str, dict[str, KernelCost]]:
    """Return the cost of each kernel, by core and kernel key."""
    data = json.loads(PATH.read_text())
    return {core: {k: KernelCost(*v) for k, v in rows.items()} for core, rows in data["cores"].items()}


def cost_of(kernel: str, core: str, optimise: str) -> KernelCost:
    """Return the cost of ``kernel`` on ``core``.

    There are two kinds of builds, for speed and for size. If the kernel was measured on this core, the result is its
    cost in a build of the same kind, or else of the other kind. If it was only measured on other cores, the result is
    the median of these costs. The cost of a kernel that was never measured is assumed.
    """
    table = coefficients()
    keys = (key_of(kernel, optimise), kernel, kernel + SIZE_OPTIMIZED)
    rows = table.get(NEAREST.get(core, core), {})
    for key in keys:
        if key in rows:
            return rows[key]
    for key in keys:
        measured = sorted(costs[key] for costs in table.values() if key in costs)
        if measured:
            return measured[len(measured) // 2]
    if kernel in PACKED:
        similar_kernel, factor = PACKED[kernel]
        return KernelCost(*(factor * c for c in cost_of(similar_kernel, core, optimise)))
    return next(cost for ending, cost in DEFAULTS.items() if kernel.removesuffix("_row").endswith(ending))


def estimate_instructions(generated: Generated, core: str, optimise: str) -> float:
    """Return the instructions of one inference on ``core``, built for the goal ``optimise``. For a layer on two cores,
    only the instructions of the core with the larger half are counted."""
    estimates = layer_instructions(generated, core, optimise)
    return sum(e * layer.share for e, layer in zip(estimates, generated.calls, strict=True))


def layer_instructions(generated: Generated, core: str, optimise: str) -> list[float]:
    """Return the instructions of each layer that has code. For a layer on two cores, this is the sum of both cores."""
    instructions = []
    for layer in generated.calls:
        assert layer.call is not None
        outputs = sum(t.elements for t in generated.model.main.out_tensors(layer.op))
        rows = generated.model.main.tensors[layer.op.outputs[0]].shape[1] if layer.streamed else 1
        if layer.body:
            instructions.append(_loop_instructions(layer, core, optimise))
            continue
        run = layer.call.fields.get("run")  # the row function that ``ar_unpacked_row`` calls
        kernel = layer.call.kernel if run is None else run.text
        cost = cost_of(kernel, core, optimise).instructions(layer.macs, outputs)
        instructions.append(cost + unpack_instructions(layer.call, rows))
    return instructions


def _loop_instructions(layer: Layer, core: str, optimise: str) -> float:
    """Return the instructions of all steps of a LOOP."""
    loop = loop_of(layer.op)
    assert loop is not None and layer.call is not None
    step = LOOP_STEP
    for op, call in zip(layer.body, layer.call.body, strict=True):
        outputs = sum(t.elements for t in loop.body.out_tensors(op))
        step += cost_of(call.kernel, core, optimise).instructions(op_macs(loop.body, op), outputs)
        step += unpack_instructions(call, 1) + LOOP_CALL
    copied = sum(loop.body.tensors[part.inner].nbytes for part in (*loop.slices, *loop.sequences))
    return (step + LOOP_BYTE * copied) * loop.steps


def unpack_instructions(call: KernelCall, rows: int) -> float:
    """Return the instructions that unpack the weights of one layer: once before the layer, or before each of its
    ``rows`` rows."""
    fields = call.before.fields if call.before is not None else call.fields.get("unpack")
    if fields is None:
        return 0.0
    words = fields["rows"] * (fields["head"] + fields["count"])
    return float((UNPACK_CALL + UNPACK_WORD * words) * (1 if call.before is not None else rows))
