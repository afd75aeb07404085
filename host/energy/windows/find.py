"""Find the time of each inference in a recording: from a GPIO mark, else from serial timestamps, else from the current
alone."""

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
#: A window from the current replaces a window from a timestamp if they overlap by at least this share.
MIN_OVERLAP = 0.6
#: At least this share of the windows from timestamps must show a rise of the current at the start and a fall at the
#: end.
MIN_EDGE_SHARE = 0.7
#: The maximum distance between the quartiles of the windows' energies, as a share of the median.
MAX_ENERGY_SPREAD = 0.3
#: The largest delay of a recording's start in seconds, which USB, a server's answer, or the instrument itself may
#: cause.
MAX_START_DELAY_S = 1.0


@dataclass(frozen=True, slots=True)
class InferenceWindows:
    """The inferences in the time of a trace, and the method that found them."""

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
    """Return the time window of every inference, from the most exact method that the recording allows.

    Args:
        trace: the recording.
        bit: the meter's digital input with the mark, which is high during an inference; None for the input that
            changes.
        events: (start, end) of each inference in seconds of any other clock.
        expected: the number of inferences that ran, if it is known.
        duration_s: the duration of one inference by the device's clock, if it is known.
        max_drift: the largest relative drift between the clock of ``events`` and the meter's clock.
        offset_s: the approximate time of the trace at time 0 of ``events``, if it is known.

    Raises:
        UsageError: ``bit`` names a mark that the recording does not have.
        DeviceError: no inference was found.
    """
    trace.require(2)
    spans, chosen, notes = find_marks(trace, bit)
    if chosen is not None:
        if spans and (expected is None or len(spans) == expected or bit is not None):
            if expected is not None and len(spans) != expected:
                notes.append(f"{len(spans)} marks were found, {expected} inferences expected")
            return InferenceWindows(tuple(spans), GPIO, notes=tuple(notes))
        notes = [f"input {chosen} shows {len(spans)} marks and was not used"]
    mismatch: DeviceError | None = None
    if len(events):
        try:
            return _windows_from_events(trace, events, max_drift, offset_s, notes)
        except DeviceError as error:
            mismatch = error
            notes.append(
                f"the timestamps of the serial port were not used: {error.problem[0].lower()}{error.problem[1:]}"
            )
    try:
        return _windows_from_current(trace, expected, duration_s, notes)
    except DeviceError:
        if mismatch is None:
            raise
        if offset_s is None:
            raise mismatch from None
    # If the current hardly changes, the exact times of the windows do not matter.
    inside = _recorded_windows(trace, [InferenceWindow(a + offset_s, b + offset_s) for a, b in events], notes)
    notes.append("the current hardly changes: the windows are placed by the computer's clock, to a few ms")
    return InferenceWindows(tuple(inside), SERIAL, notes=tuple(notes))


def _windows_from_events(
    trace: Trace,
    events: Sequence[tuple[float, float]],
    max_drift: float,
    offset_s: float | None,
    notes: list[str],
) -> InferenceWindows:
    """Return the windows from timestamps. Raises DeviceError if they do not match the current."""
    alignment = align(trace, events, max_drift)
    if offset_s is not None and abs(alignment.offset_s - offset_s) > MAX_START_DELAY_S:
        raise DeviceError(
            f"The times of the inferences match the current only {abs(alignment.offset_s - offset_s):.1f} s away from"
            " where the two clocks put them.",
            "Check that the meter is connected to the board that ran.",
        )
    remarks: list[str] = []
    inside = _recorded_windows(trace, alignment.apply(events), remarks)
    edge_share = _edge_share(trace, inside)
    if edge_share < MIN_EDGE_SHARE:
        raise DeviceError(
            f"The current rises and falls with only {edge_share:.0%} of the inferences.",
            "Check that the meter is connected to the board that ran, and that the recording covers the run.",
        )
    spans = _with_current_edges(trace, inside, remarks)
    at = trace.joules_at(np.array([[w.start_s, w.end_s] for w in spans]))
    low, middle, high = np.quantile(at[:, 1] - at[:, 0], [0.25, 0.5, 0.75])
    if high - low > MAX_ENERGY_SPREAD * middle:
        raise DeviceError(
            f"With these times, one inference would take {low * 1e6:.3g} µJ and another {high * 1e6:.3g} µJ.",
            "Check that the meter is connected to the board that ran.",
        )
    return InferenceWindows(tuple(spans), SERIAL, alignment, (*notes, *remarks))


def _recorded_windows(
    trace: Trace, windows: Sequence[InferenceWindow], notes: list[str]
) -> list[InferenceWindow]:
    """Return the windows that the recording covers. Raises DeviceError if it covers none."""
    inside = [w for w in windows if trace.time_s[0] <= w.start_s and w.end_s <= trace.time_s[-1]]
    if len(inside) < len(windows):
        notes.append(f"{len(windows) - len(inside)} inferences ran outside the recording")
    if not inside:
        raise DeviceError("The recording does not contain an inference.", "Start the meter before the run.")
    return inside


def _edge_share(trace: Trace, windows: Sequence[InferenceWindow]) -> float:
    """Return the share of the windows with a rise of the power at the start and a fall at the end. It is nearly 1 for
    correct windows."""
    bounds = np.array([[w.start_s, w.end_s] for w in windows])
    flank = (bounds[:, 1] - bounds[:, 0])[:, None] / 4
    start, end = bounds[:, :1], bounds[:, 1:]
    points = np.concatenate([start - flank, start, start + flank, end - flank, end, end + flank], axis=1)
    power = np.diff(trace.joules_at(points), axis=1) / flank
    min_contrast = 0.1 * max(float(np.mean(power[:, [1, 3]]) - np.mean(power[:, [0, 4]])), 0.0)
    rises, falls = power[:, 1] - power[:, 0] > min_contrast, power[:, 3] - power[:, 4] > min_contrast
    return float(np.mean(rises & falls))


def _windows_from_current(
    trace: Trace, expected: int | None, duration_s: float | None, notes: list[str]
) -> InferenceWindows:
    """Return the windows from the current alone. Raises DeviceError if it shows no inference."""
    spans, threshold = find_active(trace, expected, duration_s)
    remarks = [f"windows above {threshold * 1e3:.4g} mW"]
    if duration_s is None:
        remarks.append(
            "without a mark, timestamps or a known duration, a window is any period of higher current"
        )
    else:
        length = float(np.median([span.seconds for span in spans]))
        if abs(length / duration_s - 1) > 0.1:
            remarks.append(
                f"windows last {length * 1e3:.3g} ms, an inference {duration_s * 1e3:.3g} ms by the device"
            )
    return InferenceWindows(tuple(spans), WAVEFORM, notes=(*notes, *remarks))


def _with_current_edges(
    trace: Trace, predicted: list[InferenceWindow], notes: list[str]
) -> list[InferenceWindow]:
    """Return the windows ``predicted`` with edges from the current, if the current shows the same windows. The edges
    from timestamps include the delays of the serial port."""
    length = float(np.median([window.seconds for window in predicted]))
    try:
        active, _ = find_active(trace, None, length)
    except DeviceError:
        return predicted
    if abs(float(np.median([window.seconds for window in active])) / length - 1) > 0.2:
        return predicted
    starts = np.array([window.start_s for window in active])
    snapped, moved = [], 0
    for window in predicted:
        near = [active[k] for k in np.argsort(np.abs(starts - window.start_s))[:2]]
        best = max(near, key=lambda other: _overlap_s(window, other))
        if _overlap_s(window, best) >= MIN_OVERLAP * max(window.seconds, best.seconds):
            snapped.append(best)
            moved += 1
        else:
            snapped.append(window)
    if moved:
        notes.append(f"edges of {moved} of {len(predicted)} windows taken from the current")
    return snapped


def _overlap_s(window: InferenceWindow, other: InferenceWindow) -> float:
    return max(0.0, min(window.end_s, other.end_s) - max(window.start_s, other.start_s))
