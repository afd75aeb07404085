"""Wait for the next frame of a live source, and be awake before it arrives.

A thread that sleeps until a frame arrives starts it slowly: the processor must leave its idle state, the kernel must
schedule the thread, and the caches, the clock and the threads of the runtime are cold. These delays vary more than the
work itself. ``EarlyWake`` predicts the arrival from the time stamps of earlier frames and sleeps only until shortly
before it. Then it may run the model once on the previous input, and polls the source until the frame arrives.

A wrong prediction costs only processor time: a frame that arrives early ends the sleep, and polling ends soon after the
predicted time. While a limit of the budget restricts the loop, ``EarlyWake`` only sleeps (``EarlyWakePause``).
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.sources.base import Source

#: The weight of the newest sample in a mean: of the time between two frames, and of the duration of a run of the model.
_WEIGHT = 0.125
#: A longer delay between time stamp and arrival than the known one is mostly a late wake-up, so it has less weight.
_LATER_WEIGHT = 0.01
#: A time between two frames that differs by more than this share means that the source has another rate now.
_RATE_CHANGE = 0.25
#: The longest time between two frames that is predicted.
_MAX_INTERVAL_NS = 2_000_000_000
#: The model is not run before a frame if it takes more than this share of the time between two frames.
_MAX_WARM_SHARE = 0.5
#: The run begins earlier than its mean duration requires, by this factor and this time, because a run that ends late
#: delays the frame.
_WARM_MARGIN, _LATE_START_NS = 1.5, 200_000
#: After a run that took too long, its known duration falls by this factor per frame: the run may have been disturbed.
_FORGETTING = 0.98
#: A read that takes longer than this has waited for the frame.
_AT_ONCE_NS = 200_000

_nothing = select.poll() if hasattr(select, "poll") else None


class EarlyWake:
    """Reads the frames of a live source. One thread calls ``read``; any thread may set ``paused``.

    Args:
        source: an open source.
        early_s: how many seconds before the predicted arrival the thread wakes up and polls; 0 for no polling.
        warm: runs the model on the previous input; None for no such run. Its result must not be needed.
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
        self._camera: int | None = None  # the camera whose frames are predicted: the first one of several
        self._last_ns = 0  # time stamp of its last frame
        self._interval_ns = 0.0  # time between two of its frames
        self._lag_ns: float | None = None  # time from the time stamp to the arrival

    @property
    def due_ns(self) -> int:
        """The predicted arrival of the next frame by time.monotonic_ns; 0 if it is not known yet."""
        if not self._interval_ns or self._lag_ns is None:
            return 0
        return round(self._last_ns + self._interval_ns + self._lag_ns)

    def read(self, timeout_s: float) -> Frame | None:
        """Return the newest frame, as ``Source.read`` does. Raises ``EndOfSource`` and ``SourceLost``."""
        now = time.monotonic_ns()
        end = now + int(timeout_s * 1e9)
        due = self.due_ns
        frame: Frame | None = None
        waited = False
        if not self.paused and now < due < end:
            frame, waited = self._read_early(due)
        if frame is None:
            before = time.monotonic_ns()
            frame = self.source.read(max(end - before, 0) / 1e9)
            waited = waited or time.monotonic_ns() - before > _AT_ONCE_NS
        if frame is not None:
            self.frames += 1
            self._learn(frame, waited)
        return frame

    def _read_early(self, due: int) -> tuple[Frame | None, bool]:
        """Sleep, run the model, and poll until soon after ``due``. Return the frame, or None if it did not arrive, and
        whether it was not there at once."""
        waited = False
        start = due - self.early_ns - round(_WARM_MARGIN * self._warm_ns) - _LATE_START_NS
        if self._warm_ns >= _MAX_WARM_SHARE * self._interval_ns:
            self._warm_ns = int(_FORGETTING * self._warm_ns)
        elif self.warm is not None and time.monotonic_ns() < start:
            if self._warm_ns:  # the first run is early, because its duration is not known
                frame, slept = self._sleep_until(start)
                if frame is not None:
                    return frame, slept
            self._run_model(self.warm)
            waited = True
        frame, slept = self._sleep_until(due - self.early_ns)
        if frame is not None or not self.early_ns:
            return frame, slept or waited
        began = time.thread_time_ns()
        frame = self.source.read(0.0)
        if frame is None:
            waited = True
            frame = self._poll(due + self.early_ns)
            self.awake += frame is not None
        self.cpu_ns += time.thread_time_ns() - began
        return frame, slept or waited

    def _sleep_until(self, time_ns: int) -> tuple[Frame | None, bool]:
        """Wait for a frame until ``time_ns``. Return the frame or None, and whether this waited."""
        begin = time.monotonic_ns()
        if time_ns <= begin:
            return None, False
        frame = self.source.read((time_ns - begin) / 1e9)
        return frame, time.monotonic_ns() - begin > _AT_ONCE_NS

    def _run_model(self, warm: Callable[[], None]) -> None:
        # The threads of the runtime work too, so this counts the time of the whole process.
        cpu, begin = time.process_time_ns(), time.monotonic_ns()
        warm()
        duration = time.monotonic_ns() - begin
        self.cpu_ns += time.process_time_ns() - cpu
        self.warmed += 1
        known = self._warm_ns or duration
        self._warm_ns = round(known + _WEIGHT * (duration - known))

    def _poll(self, end: int) -> Frame | None:
        """Poll until the time ``end`` in nanoseconds. Return the frame, or None if it did not arrive."""
        frame: Frame | None = None
        while frame is None and time.monotonic_ns() < end:
            if self.nap_s:
                time.sleep(self.nap_s)
            elif _nothing is not None:
                # This releases Python's interpreter lock, which the thread of the source may need for the frame.
                _nothing.poll(0)
            frame = self.source.read(0.0)
        return frame

    def _learn(self, frame: Frame, waited: bool) -> None:
        """Update the prediction. ``waited`` says whether the frame arrived just now."""
        if self._camera is None:
            self._camera = frame.source
        if frame.source != self._camera or frame.stand_in:
            return
        if self._last_ns:
            interval = (frame.time_ns - self._last_ns) / (frame.missed + 1)
            if not 0 < interval <= _MAX_INTERVAL_NS:
                self._interval_ns = 0.0
            elif abs(interval - self._interval_ns) > _RATE_CHANGE * self._interval_ns:
                self._interval_ns = interval
            else:
                self._interval_ns += _WEIGHT * (interval - self._interval_ns)
        self._last_ns = frame.time_ns
        if waited:
            lag = max(time.monotonic_ns() - frame.time_ns, 0)
            if self._lag_ns is None or lag < self._lag_ns:
                self._lag_ns = lag
            else:
                self._lag_ns += _LATER_WEIGHT * (lag - self._lag_ns)

    def to_json(self) -> dict[str, Any]:
        """Return the counters for the result of a run."""
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
