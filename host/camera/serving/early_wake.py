"""Wait for the next frame of a live source, and be awake before it arrives.

A thread that sleeps until a frame arrives starts it slowly: the processor must leave its idle state, the kernel must
schedule the thread, and the caches, the clock and the threads of the runtime are cold. These delays vary more than the
work itself. ``EarlyWake`` predicts the arrival from the time stamps of earlier frames and sleeps only until shortly
before it. Then it may run the model once on the previous input, and polls the source until the frame arrives.

A wrong prediction costs only processor time: a frame that arrives early ends the sleep, and polling ends soon after the
predicted time. While the governor has lowered a setting to keep a limit of ``--budget``, ``EarlyWakePause`` sets
``paused``, and ``EarlyWake`` only sleeps.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.serving.arrival_forecast import ArrivalForecast
from arenite.host.camera.sources.base import Source

#: The weight of the newest duration of a run of the model.
_WEIGHT = 0.125
#: The model is not run before a frame if it takes more than this share of the time between two frames.
_MAX_WARM_SHARE = 0.5
#: The run begins earlier than its mean duration requires, by this factor and this time, because a run that ends late
#: delays the frame.
_WARM_MARGIN, _LATE_START_NS = 1.5, 200_000
#: After a run that took too long, the estimated duration is multiplied by this factor for every frame, because another
#: program may have disturbed the run.
_FORGETTING = 0.98
#: A read that takes longer than this has waited for the frame. Between polls that are further apart than this, another
#: program used the processor.
_AT_ONCE_NS = 200_000
#: The smallest correction of the predicted arrival.
_MIN_STEP_NS = 200_000

#: A poll without files returns at once and releases Python's interpreter lock.
_empty_poll = select.poll() if hasattr(select, "poll") else None


class _Arrival(Enum):
    """What is known about the arrival of a frame."""

    SEEN = "arrived between the last two polls"
    EARLY = "arrived before the thread woke up"
    MISSED = "arrived after polling ended"
    ASLEEP = "arrived while the thread slept"
    UNKNOWN = "was already there when the thread looked for it"


class EarlyWake:
    """Reads the frames of a live source. One thread calls ``read``; any thread may set ``paused``.

    Args:
        source: an open source.
        early_s: how many seconds before the predicted arrival the thread wakes up and polls; 0 for no polling.
        warm: runs the model on the previous input; None for no such run. The outputs of this run are not used.
        nap_s: sleep for this number of seconds between two polls; 0 polls without a pause.

    Attributes:
        paused: True while ``read`` must only sleep.
        frames: number of frames that ``read`` returned.
        awake: number of frames that arrived while the thread polled.
        warmed: number of runs of the model before a frame.
        cpu_ns: processor time of polling and of these runs in nanoseconds. It is part of the CPU load from which power
            is estimated.
    """

    def __init__(
        self, source: Source, early_s: float, warm: Callable[[], None] | None = None, nap_s: float = 0.0
    ) -> None:
        self.source, self.paused = source, False
        self.early_ns, self.warm, self.nap_s = int(early_s * 1e9), warm, nap_s
        self.frames = self.awake = self.warmed = self.cpu_ns = 0
        self._warm_ns = 0  # duration of a run of the model; 0 before the first run
        self._polled_ns = 0  # time of the last poll, or a later time at which the frame was there
        self.forecast = ArrivalForecast(max(self.early_ns, _MIN_STEP_NS))

    def read(self, timeout_s: float) -> Frame | None:
        """Return the newest frame, or None if none arrives within ``timeout_s`` seconds. Raises ``EndOfSource`` and
        ``SourceLost``."""
        now = time.monotonic_ns()
        end = now + int(timeout_s * 1e9)
        due = self.forecast.due_ns
        arrival = _Arrival.ASLEEP
        frame: Frame | None = None
        if not self.paused and now < due < end:
            frame, arrival = self._read_early(due)
        if frame is None:
            called = time.monotonic_ns()
            frame = self.source.read(max(end - called, 0) / 1e9)
            self._polled_ns = time.monotonic_ns()
            if self._polled_ns - called < _AT_ONCE_NS:
                self._polled_ns = called
                arrival = _Arrival.UNKNOWN if arrival is _Arrival.ASLEEP else arrival
        if frame is not None:
            self.frames += 1
            self._learn(frame, arrival)
        return frame

    def _read_early(self, due: int) -> tuple[Frame | None, _Arrival]:
        """Sleep, run the model, and poll until soon after ``due``. Return the frame, or None if it did not arrive, and
        what is known about its arrival."""
        wake = due - self.early_ns
        start = wake - round(_WARM_MARGIN * self._warm_ns) - _LATE_START_NS
        if self._warm_ns >= _MAX_WARM_SHARE * self.forecast.interval_ns:
            self._warm_ns = int(_FORGETTING * self._warm_ns)
        elif self.warm is not None and time.monotonic_ns() < start:
            if self._warm_ns:  # the first run is early, because its duration is not known
                frame = self._sleep_until(start)
                if frame is not None:
                    return frame, _Arrival.EARLY
            self._run_model(self.warm)
        frame = self._sleep_until(wake)
        if not self.early_ns:
            return frame, _Arrival.ASLEEP
        if frame is not None:
            return frame, _Arrival.EARLY
        return self._poll(due + self.early_ns)

    def _sleep_until(self, time_ns: int) -> Frame | None:
        """Return the next frame, or None if it does not arrive until ``time_ns``."""
        begin = time.monotonic_ns()
        return self.source.read((time_ns - begin) / 1e9) if time_ns > begin else None

    def _run_model(self, warm: Callable[[], None]) -> None:
        # The threads of the runtime work too, so this counts the time of the whole process.
        cpu, begin = time.process_time_ns(), time.monotonic_ns()
        warm()
        duration = time.monotonic_ns() - begin
        self.cpu_ns += time.process_time_ns() - cpu
        self.warmed += 1
        known = self._warm_ns or duration
        self._warm_ns = round(known + _WEIGHT * (duration - known))

    def _poll(self, end: int) -> tuple[Frame | None, _Arrival]:
        """Poll until the time ``end`` in nanoseconds. Return the frame, or None if it did not arrive, and what is known
        about its arrival."""
        before = self._polled_ns = time.monotonic_ns()
        frame = self.source.read(0.0)
        if frame is not None:
            return frame, _Arrival.UNKNOWN
        began = cpu = time.thread_time_ns()
        while frame is None and self._polled_ns < end:
            if self.nap_s:
                time.sleep(self.nap_s)
            elif _empty_poll is not None:
                # This releases Python's interpreter lock, which the thread of the source may need for the frame.
                _empty_poll.poll(0)
            # The last read is not counted, because it handles the frame.
            cpu = time.thread_time_ns()
            before, self._polled_ns = self._polled_ns, time.monotonic_ns()
            frame = self.source.read(0.0)
        self.cpu_ns += cpu - began
        self.awake += frame is not None
        # Between two polls that are far apart, another program used the processor.
        if self._polled_ns - before >= _AT_ONCE_NS:
            return frame, _Arrival.UNKNOWN
        return frame, _Arrival.MISSED if frame is None else _Arrival.SEEN

    def _learn(self, frame: Frame, arrival: _Arrival) -> None:
        if not self.forecast.add(frame):
            return
        if arrival is _Arrival.SEEN:
            self.forecast.learn_arrival(frame, self._polled_ns)
        elif arrival is _Arrival.EARLY:
            self.forecast.learn_arrival_in_sleep()
        elif arrival is _Arrival.UNKNOWN:
            self.forecast.learn_latest_arrival(frame, self._polled_ns)
        else:
            self.forecast.learn_end_of_read(frame, time.monotonic_ns(), arrival is _Arrival.MISSED)

    def to_json(self) -> dict[str, Any]:
        """Return the settings and counters for the JSON result of ``arenite camera``."""
        frames = max(self.frames, 1)
        return {
            "early_ms": self.early_ns / 1e6,
            "warm_model": self.warm is not None,
            "frames": self.frames,
            "awake": self.awake,
            "warmed": self.warmed,
            "cpu_ms_per_frame": round(self.cpu_ns / 1e6 / frames, 4),
            "paused": self.paused,
        }
