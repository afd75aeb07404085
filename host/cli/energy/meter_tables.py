"""Make the output of ``arenite meter`` for a meter and for a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from arenite.host.energy.meters.trace import Trace
from arenite.profiles.meters import MeterProfile


def amperes(value: float) -> str:
    """Return a current in amperes as text in nA, µA, mA or A."""
    for factor, unit in ((1.0, "A"), (1e-3, "mA"), (1e-6, "µA")):
        # A value that rounding made slightly smaller than one unit is still shown in this unit.
        if value >= factor * 0.9999:
            return f"{value / factor:g} {unit}"
    return f"{value * 1e9:g} nA"


def meter_json(m: MeterProfile) -> dict[str, Any]:
    """Return a meter profile as a JSON object."""
    return {
        "name": m.name,
        "title": m.title,
        "driver": m.driver,
        "connection": m.connection,
        "address": m.address,
        "samples_per_s": m.samples_per_s,
        "measures_voltage": m.measures_voltage,
        "supply_v": None if m.supply_v is None else list(m.supply_v),
        "marks": m.marks,
        "usb": list(m.usb),
        "baud": m.baud,
        "ranges": [{"max_a": r.max_a, "gain": r.gain, "offset_a": r.offset_a} for r in m.ranges],
        "sources": dict(m.sources),
    }


def recording_json(trace: Trace, profile: MeterProfile | None, port: str, output: Path) -> dict[str, Any]:
    """Return the ``arenite.recording/1`` object of a recording. ``output`` is the file that contains it."""
    mean = float(np.mean(trace.current_a))
    return {
        "schema": "arenite.recording/1",
        "kind": "measured",
        "meter": profile.name if profile is not None else trace.meta.get("meter"),
        "port": port,
        "file": str(output),
        "samples": len(trace),
        "seconds": trace.seconds,
        "rate_hz": trace.rate_hz,
        "lost_samples": trace.lost_samples,
        "current_a": {
            "mean": mean,
            "min": float(np.min(trace.current_a)),
            "max": float(np.max(trace.current_a)),
        },
        "supply_v": trace.supply_v,
        "energy_j": trace.energy_j(),
        "limit_a": None if profile is None else profile.limit_a(mean),
        "marks": None if trace.marks is None else int(np.bitwise_or.reduce(trace.marks)),
        "notes": list(trace.notes),
    }
