"""Estimate the loads and stores of every tensor per inference. They decide which tensors are placed in fast memory.

The loads of an input are proportional to one of three quantities, depending on the kernel: to its bytes (``per_input``;
the kernel reads the input once, word by word), to the bytes under its windows (``per_window``; a 3 x 3 convolution
reads each byte nine times), or to the products (``per_mac``; the kernel reads the input again for each output channel).
Stores are proportional to the bytes of the output (``per_output``). The coefficients in ``profiles/accesses.json`` were
fitted to accesses that the emulator counted (``python -m benchmarks.estimates.fit_accesses``). Weights and scratch are
not counted, because the plan does not choose their memory. The result is an estimate, not a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.planner.memory_split import AccessCounts
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.sizes.targets import SIZES

PATH = SIZES.parent / "accesses.json"


class AccessRates(NamedTuple):
    """Loads and stores of a kernel for each unit of its work. No rate is negative."""

    per_input: float
    per_window: float
    per_mac: float
    per_output: float

    def loads(self, work: InputWork) -> float:
        """Return the number of loads of one input."""
        return self.per_input * work.nbytes + self.per_window * work.window + self.per_mac * work.macs


#: Rates for a kernel that was never counted: it loads each byte under a window once and stores each output byte once.
#: Assumed.
ASSUMED_RATES = AccessRates(0.0, 1.0, 0.0, 1.0)


@cache
def rates() -> dict[str, AccessRates]:
    """Return the rates of each kernel by its name."""
    if not PATH.is_file():
        return {}
    return {k: AccessRates(*v) for k, v in json.loads(PATH.read_text())["kernels"].items()}


#: Suffix of a kernel's key for layers in which no two windows share a byte. Most kernels have a separate code path for
#: them.
POINTWISE = " pointwise"


def key_of(kernel: str, work: InputWork) -> str:
    """Return the key of a kernel's rates in the table. A function for single rows has the rates of its kernel. ``work``
    is the work of the first input."""
    return kernel.removesuffix("_row") + (POINTWISE if work.macs and work.window <= work.nbytes else "")


def rates_of(kernel: str, work: InputWork) -> AccessRates:
    """Return the measured rates of ``kernel``, or ``ASSUMED_RATES`` if it was never counted."""
    table = rates()
    key = key_of(kernel, work)
    return table.get(key) or table.get(key.removesuffix(POINTWISE), ASSUMED_RATES)


class InputWork(NamedTuple):
    """The quantities that an operator's loads of one input can be proportional to: the input's bytes (``nbytes``), the
    bytes under all positions of the kernel's window together (``window``), and the products (``macs``)."""

    nbytes: int
    window: int
    macs: int


def work_of(graph: Subgraph, op: Op, macs: int, position: int) -> InputWork:
    """Return the work of ``op`` on its input ``position``. ``macs`` is the number of products that ``op`` computes.
    Only the first input has windows and products."""
    tensor = graph.tensors[op.inputs[position]]
    outputs = graph.tensors[op.outputs[0]] if op.outputs else tensor
    if position != 0 or not macs:
        return InputWork(tensor.nbytes, _pooled_bytes(op, outputs.nbytes) or tensor.nbytes, 0)
    if op.name == "DEPTHWISE_CONV_2D":
        return InputWork(tensor.nbytes, macs * tensor.itemsize, macs)
    units = outputs.shape[-1] if outputs.shape else 1
    return InputWork(tensor.nbytes, macs // max(units, 1) * tensor.itemsize, macs)


def first_work(graph: Subgraph, op: Op, macs: int) -> InputWork:
    """Return the work of the first input, which decides the kind of the layer."""
    return work_of(graph, op, macs, 0) if op.inputs and op.inputs[0] >= 0 else InputWork(0, 0, 0)


def _pooled_bytes(op: Op, output_bytes: int) -> int:
    """Return the number of bytes under the windows of a pooling layer with ``output_bytes`` of output, or 0 for any
    other operator."""
    if op.name not in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        return 0
    return output_bytes * int(op.options.get("filter_height") or 1) * int(op.options.get("filter_width") or 1)


def accesses_by_layer(generated: Generated) -> Iterator[tuple[int, dict[int, float], dict[int, float]]]:
    """Yield (index of the layer, loads by tensor, stores by tensor) for each layer that has code. Tensors are named by
    their index in the graph."""
    graph = generated.model.main
    for layer in generated.calls:
        assert layer.call is not None
        op = layer.op
        run = layer.call.fields.get("run")  # the row function that ``ar_unpacked_row`` calls
        kernel = layer.call.kernel if run is None else run.text
        rate = rates_of(kernel, first_work(graph, op, layer.macs))
        loads: dict[int, float] = {}
        for position, t in enumerate(op.inputs):
            if t >= 0 and graph.tensors[t].data is None:
                loads[t] = loads.get(t, 0.0) + rate.loads(work_of(graph, op, layer.macs, position))
        stores = {t: rate.per_output * graph.tensors[t].nbytes for t in op.outputs if t >= 0}
        yield layer.index, loads, stores


def estimate_accesses(generated: Generated) -> AccessCounts:
    """Return the loads and stores of one inference, by tensor and by resource variable."""
    graph = generated.model.main
    variable_names = {
        op.outputs[0]: f"{op.options.get('container') or ''}/{op.options.get('shared_name') or ''}"
        for op in graph.ops
        if op.name == "VAR_HANDLE"
    }
    total: dict[int, float] = {}
    variables: dict[str, float] = {}
    for index, loads, stores in accesses_by_layer(generated):
        op = generated.layers[index].op
        for t, count in (*loads.items(), *stores.items()):
            total[t] = total.get(t, 0.0) + count
        for t in op.inputs:
            if t in variable_names:  # the operator copies from the variable or to it
                copied = [*op.outputs, *(i for i in op.inputs if i != t)]
                size = max((graph.tensors[i].nbytes for i in copied if i >= 0), default=0)
                name = variable_names[t]
                variables[name] = variables.get(name, 0.0) + size
    return AccessCounts({t: round(n) for t, n in total.items()}, {v: round(n) for v, n in variables.items()})
