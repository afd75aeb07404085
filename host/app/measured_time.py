"""The time that a running application tells it needed, beside the predicted one and the duty of ``arenite duty``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arenite.errors import UsageError
from arenite.host.app.emulated_run import EventLine
from arenite.host.app.headroom import Headroom
from arenite.host.duty.events import PeriodicEvents
from arenite.host.duty.model import PowerStates, predict

#: The command whose answer has the measured time.
STATUS = "status"
_ANSWER = re.compile(
    r"(?P<samples>\d+) samples, .*?(\d+) windows, (\d+) gated, .*"
    r"slowest window ([\d.]+)% of its time, mean ([\d.]+)%, first ([\d.]+)%(?:, .+)?"
)


@dataclass(frozen=True)
class MeasuredTime:
    """What an application measured: the percent of the time between two windows in which the processor did not sleep,
    on average, in the slowest window, and in the slowest first window after the start or a gap; None for a camera,
    whose windows are frames. ``lines`` is the
    largest number of events of a window, whose lines were printed after it; ``samples`` are all samples, ``windows``
    all windows, and ``gated`` those in which a gate was closed."""

    mean_percent: float
    worst_percent: float
    first_percent: float | None
    lines: int
    samples: int
    windows: int
    gated: int

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``measured`` of a playback."""
        first = {} if self.first_percent is None else {"first_percent": self.first_percent}
        return {
            "mean_percent": self.mean_percent,
            "worst_percent": self.worst_percent,
            **first,
            "headroom_percent": round(100 - self.worst_percent, 2),
        }


def parse_status(line: str, events: Sequence[EventLine]) -> MeasuredTime | None:
    """Return the times in an answer to ``status``; None for another line. ``events`` were printed before it."""
    match = _ANSWER.fullmatch(line)
    if match is None:
        return None
    lines = max(Counter(event.sample for event in events).values(), default=0)
    samples, windows, gated = (int(text) for text in match.groups()[:3])
    worst, mean, first = (float(text) for text in match.groups()[3:])
    return MeasuredTime(mean, worst, first, lines, samples, windows, gated)


def predicted_duty(headroom: Headroom) -> float | None:
    """Return the share of the time that the processor is awake, as ``arenite duty`` predicts it for an event every hop,
    each with the predicted mean time of service. None if the board cannot keep up."""
    try:
        events, service = PeriodicEvents(headroom.hop_s), headroom.mean / headroom.second
        return predict(events, service, None, PowerStates(0.0, 1.0)).queueing.utilization
    except UsageError:
        return None


def time_lines(headroom: Headroom | None, measured: MeasuredTime | None, unit: str = "window") -> list[str]:
    """Return sentences that compare the prediction with the measurement. ``unit`` is what an inference takes: a window,
    or the frame of a camera."""
    lines = []
    if headroom is not None:
        lines.append(
            f"{headroom.kind.capitalize()}: {headroom.mean / headroom.hop_s:,.0f} instructions per second; a {unit} "
            f"takes "
            f"{100 * headroom.duty:.2f}% of its time, the slowest {100 * headroom.share():.2f}%, "
            f"so the headroom is {100 * headroom.headroom:.2f}%"
        )
    if measured is not None and not measured.windows:
        lines.append(f"Measured: nothing, because the recording ended before the first {unit} was complete")
        return lines
    if measured is not None:
        lines.append(
            f"Measured: a {unit} takes {measured.mean_percent:.2f}% of its time, the slowest "
            f"{measured.worst_percent:.2f}%, so the headroom is {100 - measured.worst_percent:.2f}%"
        )
    if headroom is not None and headroom.asleep is not None:
        lines.append(
            f"{headroom.kind.capitalize()} while the large model sleeps: a {unit} takes "
            f"{100 * headroom.asleep / headroom.per_hop:.2f}% of its time"
        )
    if headroom is not None and measured is not None:
        lines.append(
            f"Predicted for the events of this recording: the slowest "
            f"{100 * headroom.share(measured.lines, measured.samples):.2f}%"
        )
        # How often the large model of a cascade sleeps depends on the recording.
        duty = predicted_duty(headroom) if headroom.asleep is None else None
        if duty is not None:
            lines.append(
                f"Duty: awake {measured.mean_percent:.2f}% of the time; `arenite duty` predicts {100 * duty:.2f}%"
            )
    return lines
