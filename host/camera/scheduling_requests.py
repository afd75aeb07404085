"""Request the scheduling options of a session from the system: processors, memory, priority, time slice, timers.

The modules of these settings are imported when an option needs them, so that the first answer does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arenite.host.camera.options import LoopOptions

if TYPE_CHECKING:
    from arenite.host.camera.serving.realtime import RequestOutcome

#: The timer slack in nanoseconds of a thread that wakes up early. 1 is the smallest; 0 would restore the default.
TIMER_SLACK_NS = 1


class SchedulingRequests:
    """Requests settings for the threads of a session. A sentence is added to ``notes`` for each refused request."""

    def __init__(self, options: LoopOptions, notes: list[str]) -> None:
        self._options, self._notes = options, notes

    def pin(self) -> None:
        """Pin the calling thread, and the threads that it starts later."""
        if self._options.pin is not None:
            from arenite.host.camera.option_parsing import parse_processors
            from arenite.host.camera.serving.realtime import pin

            self._note_refusal(pin(parse_processors(self._options.pin)))

    def before_loop(self) -> None:
        """Lock the memory, and set the priority and the timers of the calling thread."""
        if self._options.lock_memory:
            from arenite.host.camera.serving.realtime import lock_memory

            self._note_refusal(lock_memory())
        for outcome in self._thread_outcomes():
            self._note_refusal(outcome)

    def on_thread_start(self) -> None:
        """Set the priority and the timers of the calling thread, because every thread has its own. If the system
        refuses, ``before_loop`` has already added a note."""
        self._thread_outcomes()

    def _thread_outcomes(self) -> list[RequestOutcome]:
        options, outcomes = self._options, []
        if options.realtime is not None:
            from arenite.host.camera.serving.realtime import raise_priority

            outcomes.append(raise_priority(options.realtime))
        if options.time_slice_ms is not None:
            from arenite.host.camera.serving.time_slice import set_time_slice

            outcomes.append(set_time_slice(options.time_slice_ms))
        if options.early_wake_ms or options.warm_model:
            from arenite.host.camera.serving.time_slice import set_timer_slack

            set_timer_slack(TIMER_SLACK_NS)
        return outcomes

    def _note_refusal(self, outcome: RequestOutcome) -> None:
        if not outcome.granted:
            self._notes.append(f"Not granted: {outcome.what}: {outcome.detail}")
