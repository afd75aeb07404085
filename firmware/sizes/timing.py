"""Estimated instructions per inference, before anything is built: a linear model per kernel and core.

instructions = per_mac * MACs + per_output * output elements. The coefficients in ``profiles/timing.json`` were fitted
to instructions measured on the emulated boards (``python -m benchmarks.fit_timing``). An estimate, never a
measurement: it knows nothing of padding, caches or flash wait states.
"""

from __future__ import annotations

import json
from functools import cache

from arenite.firmware.generator.generate import Generated
from arenite.firmware.sizes.targets import SIZES

PATH = SIZES.parent / "timing.json"

#: For a kernel that was never measured: what an element-wise loop with one requantisation costs.
DEFAULT = (10.0, 25.0)

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
def coefficients() -> dict[str, dict[str, tuple[float, float]]]:
    """Core to kernel to (per MAC, per output element)."""
    data = json.loads(PATH.read_text())
    return {core: {k: (v[0], v[1]) for k, v in rows.items()} for core, rows in data["cores"].items()}


def estimate_instructions(generated: Generated, core: str) -> float:
    """Instructions of one inference on ``core``."""
    rows = coefficients().get(NEAREST.get(core, core), {})
    total = 0.0
    for layer in generated.calls:
        assert layer.call is not None
        per_mac, per_output = rows.get(layer.call.kernel, DEFAULT)
        outputs = sum(t.elements for t in generated.model.main.out_tensors(layer.op))
        total += per_mac * layer.macs + per_output * outputs
    return total
