"""Estimated instructions per inference, before anything is built: a linear model per kernel and core.

instructions of a layer = per_mac * MACs + per_output * output elements + per_call. The coefficients in
``profiles/timing.json`` were fitted to instructions measured on the emulated boards (``python -m
benchmarks.fit_timing``). An estimate, never a measurement: it knows nothing of padding, caches or flash wait states.
"""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple

from arenite.firmware.generator.generate import Generated
from arenite.firmware.sizes.targets import SIZES

PATH = SIZES.parent / "timing.json"


class Cost(NamedTuple):
    """Instructions that a kernel needs, none negative."""

    per_mac: float
    per_output: float
    per_call: float = 0.0

    def of(self, macs: float, outputs: float) -> float:
        """Instructions of one layer."""
        return self.per_mac * macs + self.per_output * outputs + self.per_call


#: For a kernel that was never measured, by the end of its name: about what its kind needs. Assumed.
DEFAULTS = {"_mve": Cost(0.6, 5.0), "_dsp": Cost(1.5, 10.0), "_scalar": Cost(4.0, 20.0), "": Cost(10.0, 25.0)}

#: Cores without a row of their own, and the measured core nearest to them.
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


@cache
def coefficients() -> dict[str, dict[str, Cost]]:
    """Core to kernel to its cost."""
    data = json.loads(PATH.read_text())
    return {core: {k: Cost(*v) for k, v in rows.items()} for core, rows in data["cores"].items()}


def cost_of(kernel: str, core: str) -> Cost:
    """What ``kernel`` costs on ``core``: as measured there, or else, on the median of the cores where it was."""
    table = coefficients()
    known = table.get(NEAREST.get(core, core), {}).get(kernel)
    if known is not None:
        return known
    elsewhere = sorted(rows[kernel] for rows in table.values() if kernel in rows)
    if elsewhere:
        return elsewhere[len(elsewhere) // 2]
    return next(cost for ending, cost in DEFAULTS.items() if kernel.removesuffix("_row").endswith(ending))


def estimate_instructions(generated: Generated, core: str) -> float:
    """Instructions of one inference on ``core``."""
    total = 0.0
    for layer in generated.calls:
        assert layer.call is not None
        outputs = sum(t.elements for t in generated.model.main.out_tensors(layer.op))
        total += cost_of(layer.call.kernel, core).of(layer.macs, outputs)
    return total
