"""Read what a device's firmware counts into the heartbeats of its agent, and notice that the device has restarted."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from arenite.host.fleet.agent import Agent
from arenite.host.fleet.event_kinds import ResetCause
from arenite.host.fleet.observations import Observations
from arenite.host.gateway.reported_window import Counts, ReportedWindow
from arenite.host.update.device_agent import (
    CLASSES,
    CONFIDENCE,
    INPUT,
    LATENCY,
    AgentState,
    Window,
    close_window,
    read_agent_state,
    read_window,
)
from arenite.host.update.device_link import DeviceLink

_CAUSES: tuple[ResetCause, ...] = ("unknown", "power_on", "reset_pin", "watchdog", "software", "fault")
#: How long a device may not answer before the gateway says so.
SILENCE_S = 5.0
#: From this number of inferences on, a heartbeat is recorded early, so that the window can be closed. Counts stay at
#: 65,535. From the second number on, the window is closed even if the device counts while it is read: inferences in
#: between are lost.
_EARLY, _LATEST = 16_384, 60_000


def reset_cause(state: AgentState | None) -> ResetCause:
    """Return why the device started, as far as its firmware tells."""
    return _CAUSES[state.cause] if state is not None and state.cause < len(_CAUSES) else "unknown"


class DeviceObserver:
    """The ``ObservationSource`` of ``agent``. The thread of the device calls ``poll``, which holds ``lock`` whenever it
    calls the agent; the agent calls ``take`` and ``taken``, under the same lock."""

    def __init__(self, path: Path, agent: Agent, lock: threading.Lock) -> None:
        """``path``: file that keeps which counts were reported. Raises ``UsageError`` for another file."""
        self._agent, self._lock = agent, lock
        self._reported = ReportedWindow(path, agent.has_event)
        self._seen = (
            self._reported.counts
        )  # what was read; more than what was reported until the next heartbeat
        self._is_asked = self._has_agent = False
        self._is_update = False  # the next restart is that of an installation
        agent.source = self

    def take(self, epoch: int, sequence: int, observations: Observations) -> int:
        if self._seen is None or self._reported.counts is None:
            return 0
        new = self._seen.since(self._reported.counts)
        self._reported.begin(self._seen, epoch, sequence)
        _add(new, observations)
        return new.inferences

    def taken(self) -> None:
        self._reported.end()

    def ask_again(self) -> None:
        """The firmware may have changed: find out whether it has an agent."""
        self._is_asked = False

    def expect_update(self) -> None:
        """An installation begins, which may restart the device."""
        self._is_update = True
        self.ask_again()

    def poll(self, link: DeviceLink) -> None:
        """Read the counts. Raises ``DeviceError`` if the device does not answer."""
        if self._is_asked and not self._has_agent:
            return
        state = read_agent_state(link, SILENCE_S)
        self._is_asked, self._has_agent = True, state is not None
        if state is None or not self._follow_start(state):
            return
        assert self._seen is not None
        self._seen = replace(self._seen, up_s=state.up_s)
        if (state.window, state.inferences) != (self._seen.window, self._seen.inferences):
            window = read_window(link, SILENCE_S)
            if window is None or not self._take_up(window):
                return
            if window.is_consistent or window.state.inferences >= _LATEST:
                self._close(link, window)
        elif self._seen.inferences:
            self._close(link, Window(state, self._seen.histograms))

    def _follow_start(self, state: AgentState) -> bool:
        """Report a restart. Return False if the counts of ``state`` must wait, because an installation is not
        finished: the agent would report them for the wrong release."""
        with self._lock:
            if self._seen is None:
                self._seen = Counts.empty(state)
                self._reported.set(self._seen)
                return True
            is_same = self._seen.is_same_start(state)
            if self._agent.is_installing:
                self._is_update |= not is_same
                return is_same
            if not is_same:
                self._agent.heartbeat()  # what was read before the restart
                self._seen = Counts.empty(state)
                self._reported.begin(self._seen, self._agent.epoch, self._agent.last_sequence + 1)
                self._agent.restarted("update" if self._is_update else reset_cause(state))
                self._reported.end()
            self._is_update = False
            return True

    def _take_up(self, window: Window) -> bool:
        """Keep counts for the next heartbeat. Return False if the device has restarted while they were read."""
        with self._lock:
            assert self._seen is not None
            if not self._seen.is_same_start(window.state):
                return False
            if self._seen.window != window.state.window and self._seen != self._reported.counts:
                self._agent.heartbeat()  # another program has closed the window
            self._seen = Counts.of(window)
            if self._seen.inferences >= (_EARLY if window.is_consistent else _LATEST):
                self._agent.heartbeat()
            return True

    def _close(self, link: DeviceLink, window: Window) -> None:
        """Close the window if all its counts were reported."""
        with self._lock:
            if self._seen != self._reported.counts:
                return
        state = window.state
        if close_window(link, state.window, state.inferences if window.is_consistent else None, SILENCE_S):
            with self._lock:
                self._seen = Counts(state.boot, state.up_s, state.window + 1)
                self._reported.set(self._seen)


def _add(counts: Counts, observations: Observations) -> None:
    histograms = counts.histograms
    inputs = [values for number, values in sorted(histograms.items()) if number >= INPUT]
    observations.add_counts(
        histograms.get(LATENCY, ()), histograms.get(CLASSES, ()), histograms.get(CONFIDENCE, ()), inputs
    )
