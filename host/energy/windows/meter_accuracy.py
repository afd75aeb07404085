"""The manufacturer's limit of error for a recording: of the reading, and the offset of the range in use."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from arenite.host.energy.meters.trace import Trace
from arenite.profiles.meters import MeterProfile, load_meter, meter_names


@cache
def _profiles() -> tuple[MeterProfile, ...]:
    return tuple(load_meter(name) for name in meter_names())


def profile_of(trace: Trace) -> MeterProfile | None:
    """Return the profile of the instrument that made the recording, by its driver: a logger's chip, a multimeter's
    identity.

    None: not known, or one of several instruments that the driver supports and that cannot be told apart.
    """
    meta = {key: str(value).lower() for key, value in trace.meta.items()}
    for name in (meta.get("chip"), meta.get("meter")):
        for meter in _profiles():
            if meter.name == name:
                return meter
    alike = [meter for meter in _profiles() if meter.driver == meta.get("meter")]
    description = " ".join(meta.values())
    named = [meter for meter in alike if re.search(rf"\b{meter.name.rpartition('-')[2]}", description)]
    matches = alike if len(alike) == 1 else named
    return matches[0] if len(matches) == 1 else None


def calibration_limit_j(trace: Trace, joules: float, seconds: float) -> float | None:
    """Return the largest error of ``joules`` over ``seconds`` by the meter's calibration; None: not stated.

    The driver's knowledge of the gain (read from the instrument, or given by the user) comes before the
    profile; the offset is the profile's, for the range of the mean current.
    """
    meter = profile_of(trace)
    volts = float(np.mean(trace.voltage_v))
    offset = gain = None
    if meter is not None and volts > 0 and seconds > 0:
        best = meter.range_of(joules / seconds / volts)
        gain, offset = best.gain, best.offset_a * volts * seconds
    if trace.gain_error is not None:
        gain = trace.gain_error
    if gain is None:
        return None
    return gain * abs(joules) + (offset or 0.0)
