"""Make the table of layers in a report: the operator of each layer, and its cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from arenite.host.bench.devices.measure import DeviceMeasurement
from arenite.host.build.project import Project


def tier_of(kernel: str) -> str:
    """Return the instruction set in a kernel's name: "dsp", "mve", "simd128", or "scalar" for plain C."""
    match = re.search(r"_(dsp|mve|simd128)(_|$)", kernel)
    return match[1] if match else "scalar"


def layer_rows(
    project: Project,
    measurement: DeviceMeasurement,
    count: Callable[[int], int] | None,
    layer_cycles: Sequence[float] | None,
) -> list[dict[str, Any]]:
    """Return one entry per operator of the plan.

    Instructions are 0 for an operator without a kernel call, and None if they were not counted. ``count`` converts
    ticks to instructions; it is None for a real board. ``layer_cycles`` has the cycles of each layer with a kernel
    call, or is None.
    """
    medians = [int(np.median(column)) for column in zip(*measurement.layer_ticks, strict=True)]
    measured_ticks = iter(medians)
    cycles_in_order = None if layer_cycles is None else iter([round(c) for c in layer_cycles])
    rows = []
    graph = project.generated.model.main
    for layer in project.generated.layers:
        ticks = None
        if medians:
            ticks = next(measured_ticks) if layer.call is not None else 0
        cycles = None
        if cycles_in_order is not None:
            cycles = next(cycles_in_order) if layer.call is not None else 0
        rows.append(
            {
                "index": layer.index,
                "op": layer.op.kind,
                "macs": layer.macs,
                "instructions": count(ticks) if count and ticks is not None else None,
                "cycles": cycles,
                "ticks": ticks,
                "kernel": layer.call.kernel if layer.call is not None else None,
                "tier": tier_of(layer.call.kernel) if layer.call is not None else None,
                "shape": ", ".join("x".join(map(str, t.shape)) for t in graph.out_tensors(layer.op)),
            }
        )
    return rows
