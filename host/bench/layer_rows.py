"""A report's rows of layers: the operator of each, and its cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from arenite.host.bench.devices.measure import DeviceMeasurement
from arenite.host.build.project import Project
from arenite.host.emulator.profile import Profile


def tier_of(kernel: str) -> str:
    """The instruction set that a kernel was written for, by its name: "dsp", "mve", or "scalar" for plain C."""
    match = re.search(r"_(dsp|mve)(_|$)", kernel)
    return match[1] if match else "scalar"


def layer_rows(
    project: Project, m: DeviceMeasurement, count: Callable[[int], int] | None, profiled: Profile | None
) -> list[dict[str, Any]]:
    """One entry per operator of the plan; 0 instructions where none were needed, None where they were not
    counted."""
    medians = [int(np.median(column)) for column in zip(*m.layer_ticks, strict=True)]
    measured = iter(medians)
    spent = (
        iter([round(c) for c in profiled.critical(lambda count: count.cycles)])
        if profiled is not None
        else None
    )
    rows = []
    graph = project.generated.model.main
    for layer in project.generated.layers:
        ticks = None
        if medians:
            ticks = next(measured) if layer.call is not None else 0
        needed = None
        if spent is not None:
            needed = next(spent) if layer.call is not None else 0
        rows.append(
            {
                "index": layer.index,
                "op": layer.op.name,
                "macs": layer.macs,
                "instructions": count(ticks) if count and ticks is not None else None,
                "cycles": needed,
                "ticks": ticks,
                "kernel": layer.call.kernel if layer.call is not None else None,
                "tier": tier_of(layer.call.kernel) if layer.call is not None else None,
                "shape": ", ".join("x".join(map(str, t.shape)) for t in graph.out_tensors(layer.op)),
            }
        )
    return rows
