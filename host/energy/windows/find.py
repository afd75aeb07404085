"""When the inferences ran: from a GPIO mark, else from serial timestamps, else from the current itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.errors import DeviceError
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.activity import InferenceWindow, find_active
from arenite.host.energy.windows.alignment import MAX_DRIFT, Alignment, align
from arenite.host.energy.windows.marks import find_marks

GPIO, SERIAL, WAVEFORM = "gpio mark", "serial timestamps", "current waveform"
#: A window of the waveform takes the place of a timestamp's when they cover each other by so much.
OVERLAP = 0.6
#: Of the windows that timestamps give, so many show a rise and a fall of the current where they belong.
STEPPING = 0.7
#: Nor does the energy of the middle half of them differ by more than this part.
SPREAD = 0.3
#: What the start of a recording may be late by USB, a server's answer, or the instrument itself.
SLACK_S = 1.0


@dataclass(frozen=True, slots=True)
class InferenceWindows:
    """Inferences in the time of a trace, and how they were found."""

    spans: tuple[InferenceWindow, ...]
    method: str
    alignment: Alignment | None = None
    notes: tuple[str, ...] = ()


def find_windows(
    trace: Trace,
    *,
    bit: int | None = None,
    events: Sequence[tuple[float, float]] = (),
    expected: int | None = None,
    duration_s: float | None = None,
    max_drift: float = MAX_DRIFT,
    offset_s: float | None = None,
) -> InferenceWindows:
    """The best that the recording allows.

    Args:
        bit: digital input of the meter with the mark, high during an inference; None: the one that changes.
        events: (start, end) of each inference in seconds of any other clock.
        expected: how many inferences ran.
        duration_s: length of one by the device's clock.
        max_drift: of the clock of ``events`` against the meter's.
        offset_s: about what the trace's time is at time 0 of ``events``, where that is known.

    Raises:
        UsageError: ``bit`` asks for a mark that the recording does not have.
        DeviceError: no inference can be found.
    """
    trace.require(2)
    spans, chosen, notes = find_marks(trace, bit)
    if chosen is not None:
        if spans and (expected is None or len(spans) == expected or bit is not None):
            if expected is not None and len(spans) != expected:
                notes.append(f"{len(spans)} marks were seen, {expected} inferences expected")
            return InferenceWindows(tuple(spans), GPIO, notes=tuple(notes))
        notes = [f"input {chosen} shows {len(spans)} marks and was not used"]
    why: DeviceError | None = None
    if len(events):
        try:
            return _by_events(trace, events, max_drift, offset_s, notes)
        except DeviceError as error:
            why = error
            notes.append(
                f"the timestamps of the serial port were not used: {error.problem[0].lower()}{error.problem[1:]}"
            )
    try:
        return _by_current(trace, expected, duration_s, notes)
    except DeviceError:
        if why is None:
            raise
        if offset_s is None:
            raise why from None
    # What hardly changes is the same wherever the windows lie exactly.
    inside = _inside(trace, [InferenceWindow(a + offset_s, b + offset_s) for a, b in events], notes)
    notes.append(
        "the current hardly changes: the windows lie where the computer's clock puts them, to a few ms"
    )
    return InferenceWindows(tuple(inside), SERIAL, notes=tuple(notes))


def _by_events(
    trace: Trace,
    events: Sequence[tuple[float, float]],
    max_drift: float,
    offset_s: float | None,
    notes: list[str],
) -> InferenceWindows:
    """Raises DeviceError where timestamps and current do not go together."""
    found = align(trace, events, max_drift)
    if offset_s is not None and abs(found.offset_s - offset_s) > SLACK_S:
        raise DeviceError(
            f"They fit the current only {abs(found.offset_s - offset_s):.1f} s from where both clocks put them.",
            "Does the meter feed the board that was run?",
        )
    remarks: list[str] = []
    inside = _inside(trace, found.apply(events), remarks)
    stepping = _stepping(trace, inside)
    if stepping < STEPPING:
        raise DeviceError(
            f"The current rises and falls with only {stepping:.0%} of them.",
            "Does the meter feed the board that was run, and does the recording cover the run?",
        )
    spans = _snapped(trace, inside, remarks)
    at = trace.joules_at(np.array([[w.start_s, w.end_s] for w in spans]))
    low, middle, high = np.quantile(at[:, 1] - at[:, 0], [0.25, 0.5, 0.75])
    if high - low > SPREAD * middle:
        raise DeviceError(
            f"They would make one inference cost {low * 1e6:.3g} µJ and another {high * 1e6:.3g}.",
            "Does the meter feed the board that was run?",
        )
    return InferenceWindows(tuple(spans), SERIAL, found, (*notes, *remarks))


def _inside(trace: Trace, windows: Sequence[InferenceWindow], notes: list[str]) -> list[InferenceWindow]:
    """Those that the recording covers.  Raises DeviceError when it covers none."""
    inside = [w for w in windows if trace.time_s[0] <= w.start_s and w.end_s <= trace.time_s[-1]]
    if len(inside) < len(windows):
        notes.append(f"{len(windows) - len(inside)} inferences ran outside the recording")
    if not inside:
        raise DeviceError("No inference lies within the recording.", "Start the meter before the run.")
    return inside


def _stepping(trace: Trace, windows: Sequence[InferenceWindow]) -> float:
    """The part of the windows at whose start power rises, and falls at their end: nearly all where they belong."""
    bounds = np.array([[w.start_s, w.end_s] for w in windows])
    flank = (bounds[:, 1] - bounds[:, 0])[:, None] / 4
    start, end = bounds[:, :1], bounds[:, 1:]
    points = np.concatenate([start - flank, start, start + flank, end - flank, end, end + flank], axis=1)
    power = np.diff(trace.joules_at(points), axis=1) / flank
    min_contrast = 0.1 * max(float(np.mean(power[:, [1, 3]]) - np.mean(power[:, [0, 4]])), 0.0)
    rises, falls = power[:, 1] - power[:, 0] > min_contrast, power[:, 3] - power[:, 4] > min_contrast
    return float(np.mean(rises & falls))


def _by_current(
    trace: Trace, expected: int | None, duration_s: float | None, notes: list[str]
) -> InferenceWindows:
    """Raises DeviceError when nothing stands out."""
    spans, threshold = find_active(trace, expected, duration_s)
    remarks = [f"windows above {threshold * 1e3:.4g} mW"]
    if duration_s is None:
        remarks.append(
            "without a mark, timestamps or a known length a window is whatever stands out of the current"
        )
    else:
        length = float(np.median([span.seconds for span in spans]))
        if abs(length / duration_s - 1) > 0.1:
            remarks.append(
                f"windows last {length * 1e3:.3g} ms, an inference {duration_s * 1e3:.3g} ms by the device"
            )
    return InferenceWindows(tuple(spans), WAVEFORM, notes=(*notes, *remarks))


def _snapped(trace: Trace, predicted: list[InferenceWindow], notes: list[str]) -> list[InferenceWindow]:
    """Timestamps carry the delays of the serial line: where the current shows the same windows, its edges are
    better."""
    length = float(np.median([window.seconds for window in predicted]))
    try:
        seen, _ = find_active(trace, None, length)
    except DeviceError:
        return predicted
    if abs(float(np.median([window.seconds for window in seen])) / length - 1) > 0.2:
        return predicted
    starts = np.array([window.start_s for window in seen])
    out, moved = [], 0
    for window in predicted:
        near = [seen[k] for k in np.argsort(np.abs(starts - window.start_s))[:2]]
        best = max(near, key=lambda other: _common(window, other))
        if _common(window, best) >= OVERLAP * max(window.seconds, best.seconds):
            out.append(best)
            moved += 1
        else:
            out.append(window)
    if moved:
        notes.append(f"edges of {moved} of {len(predicted)} windows taken from the current")
    return out


def _common(one: InferenceWindow, other: InferenceWindow) -> float:
    return max(0.0, min(one.end_s, other.end_s) - max(one.start_s, other.start_s))
