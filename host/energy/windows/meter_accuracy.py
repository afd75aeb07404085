"""Compute the manufacturer's limit of error for a recording, from the error of the reading and the offset of the
range."""

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
    """Return the profile of the instrument that made the recording. It is found by the driver's name, a logger's chip,
    or a multimeter's identity.

    Return None if the instrument is not known, or if the driver supports several instruments and the recording does not
    name one of them.
    """
    meta = {key: str(value).lower() for key, value in trace.meta.items()}
    for name in (meta.get("chip"), meta.get("meter")):
        for meter in _profiles():
            if meter.name == name:
                return meter
    candidates = [meter for meter in _profiles() if meter.driver == meta.get("meter")]
    description = " ".join(meta.values())
    named = [meter for meter in candidates if re.search(rf"\b{meter.name.rpartition('-')[2]}", description)]
    matches = candidates if len(candidates) == 1 else named
    return matches[0] if len(matches) == 1 else None


def calibration_limit_j(trace: Trace, joules: float, seconds: float) -> float | None:
    """Return the largest error of ``joules`` over ``seconds`` by the meter's calibration, in joules; None if it is not
    stated.

    A gain error that the driver knows (read from the instrument, or given by the user) is preferred to that of the
    profile. The offset is from the profile, for the range of the mean current.
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
