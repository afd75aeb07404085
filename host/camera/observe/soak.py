"""Compare the first minute of a long run (a soak run) with its steady state.

A device is fast while it is cool. Its sustained speed can be measured only when temperature, clock and frame rate have
settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.camera.observe.soak_result import MINUTE, SoakPart, SoakResult
from arenite.host.camera.observe.statistics import Statistics
from arenite.host.camera.observe.steady_state import MIN_VALUES, SteadyState, find_steady_state

MIN_MINUTES = 2.0
#: The approximate maximum number of parts of a run. The duration of a part is a multiple of five seconds.
_MAX_PARTS = 120
#: A run is steady if rate, latency, power and clock change by at most these shares, and the temperature by at most this
#: number of kelvins.
_MAX_STEADY_CHANGES = {"fps": 0.02, "p50_ms": 0.05, "power_w": 0.03, "clock_mhz": 0.02}
_MAX_STEADY_KELVINS = 1.5


class Soak:
    """Collects the states of a run, for which the supervisor calls ``update`` twice a second. ``result`` evaluates
    them.

    Raises ``UsageError`` if ``minutes`` is below 2, because the first minute is never part of the steady state.
    """

    def __init__(self, statistics: Statistics, minutes: float, root: Path = Path("/")) -> None:
        if minutes < MIN_MINUTES:
            raise UsageError(
                f"A soak of {minutes:g} minutes has no steady state after its first minute.",
                "Give at least 2 minutes; give 10 for a device with a fan, 30 for a device without.",
            )
        self.minutes = minutes
        self._statistics = statistics
        self._root = root
        self._part_s = max(5.0, 5.0 * round(minutes * MINUTE / _MAX_PARTS / 5.0))
        self._parts: list[SoakPart] = []
        self._minute_1 = SoakPart(0.0)
        self._now = SoakPart(0.0)
        self._joules: float | None = None
        self._last_s = 0.0
        statistics.restart("soak")

    @property
    def seconds(self) -> float:
        """The duration of the run in seconds."""
        return self.minutes * MINUTE

    def update(self, state: Mapping[str, Any]) -> None:
        """Add a state of the loop (``loop_state.py``). It must have ``t_s``; ``power``, ``temperature`` and
        ``energy_j`` are used if they are known."""
        t = float(state["t_s"])
        power, temperature = state.get("power"), state.get("temperature")
        clock = clock_mhz(self._root)
        for part in (self._now, self._minute_1) if t <= MINUTE else (self._now,):
            part.end_s = t
            part.power.add(power["value"] if power else None)
            part.temperature.add(temperature["value"] if temperature else None)
            part.clock.add(clock)
            if power and power.get("kind") != "measured":
                part.power_kind = "estimated"
        joules = state.get("energy_j")
        if joules is not None:
            spent = joules - (self._joules or 0.0)
            self._now.joules = (self._now.joules or 0.0) + spent
            if self._last_s < MINUTE:
                share = min(1.0, (MINUTE - self._last_s) / max(t - self._last_s, 1e-9))
                self._minute_1.joules = (self._minute_1.joules or 0.0) + spent * share
            self._joules = joules
        self._last_s = t
        if t > MINUTE:
            self._minute_1.end_s = MINUTE
        if t - self._now.begin_s >= self._part_s:
            self._close_part(t)

    def close(self) -> None:
        """Do nothing: there are no resources to close."""

    def _close_part(self, t: float) -> None:
        window = self._statistics.restart("soak")
        if window is not None:
            self._now.window = window
        self._parts.append(self._now)
        self._now = SoakPart(t, t)

    def result(self) -> SoakResult:
        """Return the result so far. The part that is not complete yet is left out."""
        first = self._minute_1
        first.window = self._statistics.window("minute_1")
        # The first parts contain the warm-up of the loop; they are evaluated like all other parts.
        steady, enough = self._find_steady_parts()
        begin = steady.begin if steady.begin is not None else len(self._parts) * 2 // 3
        last = SoakPart(self._parts[begin].begin_s if self._parts else 0.0)
        for part in self._parts[begin:]:
            last.merge(part)
        end = self._parts[-1].end_s if self._parts else self._now.end_s
        settled = last.begin_s if steady.begin is not None else None
        return SoakResult(end / MINUTE, first, last, settled, steady.unsettled, enough)

    def _find_steady_parts(self) -> tuple[SteadyState, bool]:
        """Return the steady state, and whether there are enough parts to decide whether the run became steady."""
        series: dict[str, list[float]] = {"fps": [part.fps for part in self._parts]}
        series["p50_ms"] = [part.window.percentile_ms("total", 50) or 0.0 for part in self._parts]
        for name, values in (
            ("power_w", [part.power.value for part in self._parts]),
            ("temperature_c", [part.temperature.value for part in self._parts]),
            ("clock_mhz", [part.clock.value for part in self._parts]),
        ):
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                series[name] = known
        slack = {"temperature_c": _MAX_STEADY_KELVINS}
        for name, share in _MAX_STEADY_CHANGES.items():
            if series.get(name):
                slack[name] = share * sorted(series[name])[len(self._parts) // 2]
        steady = find_steady_state(series, slack)
        # The steady state is compared with the first minute, so it must not contain any part of that minute.
        if steady.begin is not None:
            after = next((k for k, part in enumerate(self._parts) if part.begin_s >= MINUTE), None)
            steady = SteadyState(None, ()) if after is None else SteadyState(max(steady.begin, after))
        return steady, len(self._parts) >= 2 * MIN_VALUES


def clock_mhz(root: Path = Path("/")) -> float | None:
    """Return the mean clock of the cores in MHz; None if the kernel does not report it."""
    clocks = []
    for path in root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"):
        with suppress(OSError, ValueError):
            clocks.append(int(path.read_text()) / 1e3)
    if not clocks:
        with suppress(OSError, ValueError):
            lines = (root / "proc/cpuinfo").read_text().splitlines()
            clocks = [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]
    return sum(clocks) / len(clocks) if clocks else None
