"""Keep power and temperature within their limits while a language model works: pause, read sensors, ask the governor.

Everything happens between two pieces of work, in the thread that computes. So sensors are read without disturbing the
computation, and with a simulated clock the same run has the same result again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from arenite.errors import AreniteError
from arenite.host.energy.base import Power, Temperature
from arenite.host.governor.budget_check import BudgetCheck, check_budget
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Lever, Limits, Observation
from arenite.host.llm.budget.instruments import Instruments
from arenite.host.llm.budget.pieces import Piece, PieceSizes
from arenite.host.llm.budget.result import Course, GovernedRun, PowerSum, renamed_settings
from arenite.host.llm.budget.token_rate import TokenRate
from arenite.host.llm.power_readings import MeanPower

#: Seconds between two steps of the governor, and the longest sleep, after which sensors are read.
_STEP_S, _SLEEP_S = 1.0, 0.25
#: A shorter rest is not worth a call of the system.
_SHORTEST_PAUSE_S = 1e-3


class TokenBudget:
    """Keeps ``limits``. ``token_s``: seconds per token without pauses, with a short context. ``threads``: the processor
    cores that compute. ``clock`` returns seconds and ``sleep`` waits for some; tests simulate both. Call ``close`` at
    the end."""

    def __init__(
        self,
        limits: Limits,
        instruments: Instruments,
        token_s: float,
        threads: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limits, self._instruments, self._threads = limits, instruments, threads
        self._clock, self._sleep = clock, sleep
        self._rate, self._full = TokenRate(token_s), 1 / token_s
        levers: list[Lever] = [self._rate.lever()]
        if instruments.frequency is not None:
            levers.append(instruments.frequency)
        profile = instruments.profile
        max_w = profile.idle_w + min(threads, profile.cores) * profile.core_w
        if profile.compute.processor == "gpu":
            max_w += profile.accelerator_w
        self._governor = Governor(limits, levers, _STEP_S, idle_w=profile.idle_w, max_w=max_w, item="token")
        self._started_s = self._read_s = self._stepped_s = clock()
        self._steps, self._pauses, self._paused_s = 0, 0, 0.0
        self._tokens, self._decode_s, self._decode_paused_s = 0, 0.0, 0.0
        self._busy_s = 0.0  # seconds of computation since the last reading of the power
        self._work = 0.0  # decoded tokens since the last step
        self._step_power, self._run_power, self._all_power = PowerSum(), PowerSum(), PowerSum()
        self._watts: Course | None = None
        self._celsius: Course | None = None
        self._temperature: Temperature | None = None
        self._thermometer = ""
        self._read_power()  # the next reading has the mean power since this one
        self._read_temperature()
        self._governor.begin()

    @property
    def sizes(self) -> PieceSizes:
        return self._rate.sizes

    def resume(self) -> None:
        """Begin to work after a time in which nothing was computed, such as the wait for a question."""
        if self._clock() - self._stepped_s >= _STEP_S:
            power = self._read_power()
            if power is not None:
                self._step_power.add(power, self._clock() - self._stepped_s)
            self._step()  # the device has cooled

    def worked(self, piece: Piece) -> None:
        """Pause after ``piece`` as long as the governor wants, read the sensors, and let the governor decide anew."""
        work = self._rate.measure(piece)
        self._work += work
        self._busy_s += piece.seconds
        self._sample()
        paused_s = self._pause(piece.seconds, work)
        if piece.tokens:
            self._tokens += piece.tokens
            self._decode_s += piece.seconds
            self._decode_paused_s += paused_s
        # Steps are at the ends of pauses, so that each is for complete pieces with their pauses.
        self._step_if_due()

    def start(self) -> None:
        """Begin a mean of the power, which ``stop`` returns."""
        self._sample()
        self._run_power = PowerSum()

    def stop(self) -> MeanPower | None:
        """Return the mean power since ``start``, or None if no sensor answered."""
        return self._run_power.mean

    def checks(self) -> tuple[BudgetCheck, ...]:
        """Return which limits were kept."""
        mean = self._all_power.mean
        return check_budget(
            self._limits,
            power_w=None if mean is None else mean.watts,
            power_kind="unknown" if mean is None else mean.kind,
            max_c=None if self._celsius is None else self._celsius.highest,
            age_ms=None,
        )

    def result(self) -> GovernedRun:
        """Return what was done so far."""
        state = self._governor.state()
        note = str(state["note"])
        notes = (f"The governor: {note}.",) if note else ()
        mean, watts = self._all_power.mean, self._watts
        if watts is None and mean is not None:  # a run that ended before the first step
            watts = Course.after(None, mean.watts)
        tokens_s = steady = None
        if self._tokens:
            steady = self._tokens / self._decode_s
            tokens_s = self._tokens / (self._decode_s + self._decode_paused_s)
        return GovernedRun(
            self._pauses,
            self._paused_s,
            self._full,
            tokens_s,
            steady,
            mean,
            watts,
            self._celsius,
            self._thermometer,
            renamed_settings(state["levers"]),
            tuple(self._governor.log),
            (*self._instruments.notes, *notes),
        )

    def close(self) -> None:
        """Give the clock of the processor back."""
        if self._instruments.frequency is not None:
            self._instruments.frequency.restore()

    def _pause(self, worked_s: float, work: float) -> float:
        """Rest after ``work`` decoded tokens that took ``worked_s``, read the power meanwhile, and return the seconds
        of the rest."""
        started = self._clock()
        if self._rate.cycle_s(work) - worked_s < _SHORTEST_PAUSE_S:
            return 0.0
        while (left := self._rate.cycle_s(work) - worked_s - (self._clock() - started)) >= _SHORTEST_PAUSE_S:
            self._sleep(min(left, _SLEEP_S))
            self._sample()
            # The first rate is a guess. It is corrected before its pause ends, which can be long.
            if self._steps == 0:
                self._step_if_due()
        paused_s = self._clock() - started
        self._pauses += 1
        self._paused_s += paused_s
        return paused_s

    def _sample(self) -> None:
        """Add the power since the last reading to all means."""
        seconds = self._clock() - self._read_s
        power = self._read_power()
        if power is None or seconds <= 0:
            return
        for each in (self._step_power, self._run_power, self._all_power):
            each.add(power, seconds)

    def _read_power(self) -> Power | None:
        now = self._clock()
        busy = self._threads * self._busy_s / max(now - self._read_s, 1e-6)
        self._read_s, self._busy_s = now, 0.0
        try:
            return self._instruments.meter.read(min(busy, float(self._threads)))
        except (AreniteError, OSError):
            return None

    def _read_temperature(self) -> None:
        thermometer = self._instruments.thermometer
        self._temperature = None
        if thermometer is None:
            return
        try:
            reading = self._temperature = thermometer.read()
        except (AreniteError, OSError):
            return
        value = reading.celsius
        self._thermometer = reading.source
        self._celsius = Course.after(self._celsius, value)

    def _step_if_due(self) -> None:
        if self._clock() - self._stepped_s >= _STEP_S:
            self._step()

    def _step(self) -> None:
        self._steps += 1
        self._read_temperature()
        now = self._clock()
        mean, heat = self._step_power.mean, self._temperature
        if mean is not None:
            self._watts = Course.after(self._watts, mean.watts)
        self._governor.step(
            Observation(
                t_s=now - self._started_s,
                fps=self._work / max(now - self._stepped_s, 1e-6),
                latency_ms=1e3 * self._rate.token_s if self._work else None,
                power_w=None if mean is None else mean.watts,
                temperature_c=None if heat is None else heat.celsius,
                trip_c=None if heat is None else heat.trip,
            )
        )
        self._stepped_s, self._work, self._step_power = now, 0.0, PowerSum()
