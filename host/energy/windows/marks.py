"""Find inferences from a mark: a digital input of the meter that the board drives."""

from __future__ import annotations

import numpy as np

from arenite.errors import UsageError
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.energy.windows.activity import InferenceWindow

#: An input is regarded as active low if the power while it is high is less than this share of the power while it is
#: low.
ACTIVE_LOW_RATIO = 0.8
#: Pulses shorter than this share of the median are glitches.
GLITCH_SHARE = 0.1
#: An input whose median pulse is shorter than this number of samples is not connected.
MIN_PULSE_SAMPLES = 4


def find_marks(trace: Trace, bit: int | None = None) -> tuple[list[InferenceWindow], int | None, list[str]]:
    """Return the windows, the input that they are from (None if no input changes), and notes.

    ``bit`` is the input to use, which is high during an inference. None means the input that changes; if several
    change, the input that matches the current best. An input that is high while the board draws less is regarded as
    active low, unless ``bit`` names it.

    Raises:
        UsageError: ``bit`` names an input that the recording does not have.
    """
    if bit is not None:
        if not (trace.marks is not None and 0 <= bit < 8):
            raise UsageError(
                f"The recording has no digital input {bit}."
                if trace.marks is not None
                else "This meter records no marks.",
                "Give an input from 0 to 7, or none to use timestamps or the current.",
            )
        return mark_windows(trace, bit), bit, []
    if trace.marks is None or len(trace) < 2:
        return [], None, []
    changed = int(np.bitwise_or.reduce(trace.marks ^ trace.marks[0]))
    bits = [k for k in range(8) if changed >> k & 1]
    if not bits:
        return [], None, []
    ratios = {k: _ratio(trace, k) for k in bits}
    chosen = max(bits, key=lambda k: abs(np.log(ratios[k])))
    notes = []
    if len(bits) > 1:
        others = ", ".join(str(k) for k in bits if k != chosen)
        notes.append(
            f"several digital inputs change; input {chosen} matches the current best and was used, not"
            f" {others}"
        )
    low = ratios[chosen] < ACTIVE_LOW_RATIO
    if low:
        notes.append(f"input {chosen} is low during an inference")
    spans = mark_windows(trace, chosen, low=low)
    if spans and float(np.median([w.seconds for w in spans])) * trace.rate_hz < MIN_PULSE_SAMPLES:
        notes.append(f"input {chosen} flickers, as an unconnected input does, and was not used")
        return [], None, notes
    return spans, chosen, notes


def mark_windows(trace: Trace, bit: int, *, low: bool = False) -> list[InferenceWindow]:
    """Return the windows in which the bit is high (low, if ``low`` is set). Glitches, and pulses that the recording
    cuts off, are left out."""
    if trace.marks is None:
        return []
    high = (trace.marks >> bit & 1).astype(np.int8)
    if low:
        high = 1 - high
    edges = np.flatnonzero(np.diff(high)) + 1
    if len(edges) and high[0]:
        edges = edges[1:]
    edges = edges[: len(edges) // 2 * 2]
    if len(edges) == 0:
        return []
    spans = _edge_times(trace, edges).reshape(-1, 2)
    lengths = spans[:, 1] - spans[:, 0]
    valid_spans = spans[lengths >= GLITCH_SHARE * np.median(lengths)]
    return [InferenceWindow(start, end) for start, end in valid_spans.tolist()]


def falling_edges(trace: Trace, bit: int) -> Floats:
    """Return the times of the bit's falling edges in seconds of the trace. They are the time marks of MLPerf Tiny's
    energy mode."""
    if trace.marks is None:
        return np.empty(0)
    high = (trace.marks >> bit & 1).astype(np.int8)
    return _edge_times(trace, np.flatnonzero(np.diff(high) < 0) + 1)


def _edge_times(trace: Trace, edges: np.ndarray) -> Floats:
    """Return the time of each edge, in the middle between the sample before it and the sample after it."""
    return np.asarray((trace.time_s[edges - 1] + trace.time_s[edges]) / 2, dtype=np.float64)


def _ratio(trace: Trace, bit: int) -> float:
    """Return the mean power while the bit is high, divided by the mean power while it is low."""
    assert trace.marks is not None
    high = (trace.marks >> bit & 1).astype(bool)
    power = trace.power_w
    # A power near zero is noise, so a minimum is used instead.
    min_power = max(float(np.max(np.abs(power))) * 1e-6, 1e-15)
    return max(float(np.mean(power[high])), min_power) / max(float(np.mean(power[~high])), min_power)
