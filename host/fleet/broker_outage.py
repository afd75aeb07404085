"""Tell people that the broker cannot be reached: once, and again after growing times."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from arenite.counts import count_of

#: A broker that has not answered within this number of seconds is reported.
_ANSWER_TIMEOUT_S = 10.0
#: The shortest and the longest time between two reports of one outage, in seconds.
_INTERVALS_S = (60.0, 3600.0)


class BrokerOutage:
    """Reports the outages of the broker with the name ``broker``. ``report`` is called with a sentence, and ``clock``
    returns seconds. Any thread may call the methods."""

    def __init__(
        self, broker: str, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._broker = broker
        self._report = report
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = clock()  # when the outage began; None: connected
        self._next_report = self._since + _ANSWER_TIMEOUT_S
        self._interval_s = _INTERVALS_S[0]
        self._is_reported = False

    def begin(self, reason: str) -> None:
        """Note that there is no connection. ``reason`` is a sentence without its subject."""
        with self._lock:
            if self._since is None:
                self._since = self._clock()
            if not self._is_reported:
                self._tell(f"The broker {self._broker} {reason}. Events wait here; trying again.")

    def end(self) -> None:
        """Note that there is a connection."""
        with self._lock:
            if self._is_reported:
                self._report(f"Connected to {self._broker}.")
            self._since = None
            self._is_reported = False
            self._interval_s = _INTERVALS_S[0]

    def tick(self, waiting_events: int) -> None:
        """Report an outage again if it is time for that."""
        with self._lock:
            now = self._clock()
            if self._since is None or now < self._next_report:
                return
            if self._is_reported:
                self._tell(
                    f"There is no connection to the broker {self._broker} for {_words(now - self._since)}."
                    f" {count_of(waiting_events, 'event')} {'waits' if waiting_events == 1 else 'wait'}."
                )
            else:
                self._tell(f"The broker {self._broker} does not answer. Events wait here; trying again.")

    def _tell(self, text: str) -> None:
        self._report(text)
        self._is_reported = True
        self._next_report = self._clock() + self._interval_s
        self._interval_s = min(2 * self._interval_s, _INTERVALS_S[1])


def _words(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
