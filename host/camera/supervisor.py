"""Supervise a running loop: read power and temperature, run the governor, and publish the state of the loop.

The supervisor runs in a separate thread, because sensors on a slow bus take milliseconds and no frame should wait for
them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arenite.errors import AreniteError
from arenite.host.camera.serving.loop import Loop
from arenite.host.governor.interface import Action, Observation

# These modules are imported when sensors are opened, so that the first answer does not wait for them.
if TYPE_CHECKING:
    from arenite.host.energy.base import Power, PowerMeter, Temperature, Thermometer
    from arenite.host.energy.integrate import EnergyMeter

#: The time in seconds between two samples of the sensors, and the number of samples per step of the governor.
SENSE_INTERVAL_S, SAMPLES_PER_STEP = 0.5, 2
#: The maximum time that sensors and the dashboard wait for the first answer, so that they do not delay it.
FIRST_ANSWER_WAIT_S = 1.0


class StateListener(Protocol):
    """Receives the state of the loop, such as the dashboard, the metrics and the timeline."""

    def update(self, state: Mapping[str, Any]) -> None: ...


class GovernorProtocol(Protocol):
    """The part of the governor that the supervisor uses."""

    def begin(self, t_s: float = 0.0) -> list[Action]: ...
    def step(self, observation: Observation, /) -> list[Action]: ...
    def state(self) -> dict[str, Any]: ...


class CpuLoad:
    """Measures the mean number of busy cores between two calls of ``read``: the cores of the whole machine if
    /proc/stat can be read, else only the work of this process."""

    def __init__(self, root: Path) -> None:
        self._stat = root / "proc/stat"
        self._before = self._now()

    def _now(self) -> tuple[float, float]:
        """Return the time in seconds, and the time that all cores together have worked so far, in seconds."""
        try:
            fields = self._stat.read_text().split("\n", 1)[0].split()
            ticks = [int(field) for field in fields[1:9]]
            # The fields are user, nice, system, idle, iowait, irq, softirq, steal. Leave out idle and iowait.
            return time.monotonic(), (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError, AttributeError):
            times = os.times()
            return time.monotonic(), times.user + times.system

    def read(self) -> float:
        before, self._before = self._before, self._now()
        seconds = self._before[0] - before[0]
        return max(self._before[1] - before[1], 0.0) / seconds if seconds > 0 else 0.0


@dataclass(frozen=True)
class Instruments:
    """The sensors and the governor. A field is None if the instrument does not exist or is not needed."""

    meter: PowerMeter | None = None
    thermometer: Thermometer | None = None
    governor: GovernorProtocol | None = None
    restore: tuple[Callable[[], None], ...] = ()  # functions that restore settings that levers changed


class Supervisor:
    """Supervises a loop. Call ``start`` before the loop runs and ``stop`` after it has ended. After ``stop``, this
    object has the energy and the temperatures of the run.

    Sensors are opened in the supervisor's own thread, so that the first answer does not wait for them. If a sensor
    fails later, one sentence is added to ``notes``, and the loop continues without the sensor.
    """

    def __init__(
        self,
        loop: Loop,
        describe: Mapping[str, Any],
        *,
        instruments: Callable[[], Instruments] = Instruments,
        watchers: Sequence[StateListener] = (),
        notes: list[str] | None = None,
        root: Path = Path("/"),
    ) -> None:
        """``describe`` is the constant part of the state: model, runtime, source, budget. ``instruments`` opens the
        sensors; if it raises an error, the loop ends and ``stop`` raises the error. ``watchers`` receive the state.
        ``root`` is the folder that contains ``proc``."""
        self.loop = loop
        self.watchers = list(watchers)
        #: Functions that return further parts of the state, by the key of the part.
        self.parts: dict[str, Callable[[], Any]] = {}
        self.notes = notes if notes is not None else []
        self.actions: list[Action] = []
        self.energy: EnergyMeter | None = None
        self.thermometer: Thermometer | None = None
        self.governor: GovernorProtocol | None = None
        self.power: Power | None = None
        self.temperature: Temperature | None = None
        # The first, the highest and the last temperature in degrees Celsius.
        self.temperatures: list[float] = []
        self.ready = False
        self._instruments = instruments
        self._describe = dict(describe)
        self._root = root
        self._busy: CpuLoad | None = None
        self._samples = 0
        self._step_watts: list[float] = []
        self._stepped_ns = 0
        self._restore: tuple[Callable[[], None], ...] = ()
        self._end = threading.Event()
        self._go = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take the last sample, publish the state, and end the thread. Raises the error of the thread, if there was
        one."""
        self._end.set()
        self._go.set()
        self._thread.join(timeout=30)
        if self._error is not None:
            raise self._error

    def on_first_answer(self) -> None:
        """Allow the thread to open the sensors now, because the first answer is complete."""
        self.ready = True
        self._go.set()

    def _run(self) -> None:
        self._go.wait(FIRST_ANSWER_WAIT_S)
        try:
            self._open()
            while not self._end.wait(SENSE_INTERVAL_S):
                self._sense()
                self._samples += 1
                if self.governor is not None and self._samples % SAMPLES_PER_STEP == 0:
                    self._step(self.governor)
                self._publish()
            self._sense()
            self._publish()
        except Exception as error:
            self._error = error
            self.loop.stop()
        finally:
            for restore in self._restore:
                with suppress(AreniteError, OSError):
                    restore()

    def _open(self) -> None:
        opened = self._instruments()
        self._restore = opened.restore
        self._busy = CpuLoad(self._root)
        if opened.meter is not None:
            from arenite.host.energy.integrate import EnergyMeter

            self.energy = EnergyMeter(opened.meter)
            # The first reading covers the time before this moment, so it is not used.
            with suppress(AreniteError, OSError):
                opened.meter.read(0.0)
        self.thermometer, self.governor = opened.thermometer, opened.governor
        if self.governor is not None:
            self.loop.statistics.restart("governor")
            self._stepped_ns = time.monotonic_ns()
            self.actions += self.governor.begin(self.loop.seconds if self.loop.began_ns else 0.0)
        self._sense_temperature()
        self._publish()

    def _sense(self) -> None:
        assert self._busy is not None
        busy = self._busy.read()
        if self.energy is not None:
            from arenite.host.energy.base import MEASURED

            before, self.power = self.power, self.energy.sample(busy)
            if self.power is not None:
                self._step_watts.append(self.power.watts)
                if before is not None and before.kind == MEASURED != self.power.kind:
                    self._note(
                        f"{before.source} can no longer be read; power is {self.power.kind} from now on."
                    )
            elif before is not None:
                self.notes.append(f"{before.source} can no longer be read; power is not known from now on.")
        self._sense_temperature()

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _sense_temperature(self) -> None:
        if self.thermometer is None:
            return
        try:
            self.temperature = self.thermometer.read()
        except (AreniteError, OSError) as error:
            if self.temperature is not None:
                self.notes.append(f"The temperature can no longer be read: {error}")
            self.temperature = None
            return
        celsius = self.temperature.celsius
        first, hottest = self.temperatures[:2] or (celsius, celsius)
        self.temperatures = [first, max(hottest, celsius), celsius]

    def _step(self, governor: GovernorProtocol) -> None:
        window = self.loop.statistics.restart("governor")
        # The time between two steps is measured, because slow sensors make it longer.
        now = time.monotonic_ns()
        seconds, self._stepped_ns = (now - (self._stepped_ns or self.loop.began_ns)) / 1e9, now
        watts, self._step_watts = self._step_watts, []
        observation = Observation(
            t_s=self.loop.seconds,
            fps=window.served / max(seconds, 1e-3) if window is not None else 0.0,
            latency_ms=window.percentile_ms("age", 95) if window is not None else None,
            power_w=sum(watts) / len(watts) if watts else None,
            temperature_c=self.temperature.celsius if self.temperature is not None else None,
            trip_c=self.temperature.trip if self.temperature is not None else None,
        )
        self.actions += governor.step(observation)

    def state(self) -> dict[str, Any]:
        """Return the state of the loop. ``observe/loop_state.py`` describes its fields."""
        loop = self.loop
        recent = loop.statistics.window("last_minute")
        counters = loop.source.counters
        record = dict(self._describe)
        record |= {
            "ready": self.ready,
            "t_s": loop.seconds if loop.began_ns else 0.0,
            "fps": recent.fps,
            "stage_ms": recent.stage_ms(),
            "frames": {
                "captured": counters.captured,
                "served": loop.served,
                "dropped": counters.dropped,
                "late": loop.late,
                "cached": loop.served - loop.computed,
                "errors": counters.errors,
                "reconnects": counters.reconnects,
            },
            "bytes_written": loop.bytes_written,
            "energy_j": self.energy.total().joules if self.energy is not None else None,
            "notes": list(self.notes),
        }
        if self.power is not None:
            record["power"] = {
                "value": self.power.watts,
                "kind": self.power.kind,
                "source": self.power.source,
                "rails": dict(self.power.rails),
            }
        if self.temperature is not None:
            record["temperature"] = {
                "value": self.temperature.celsius,
                "source": self.temperature.source,
                "trip": self.temperature.trip,
                "zones": dict(self.temperature.zones),
            }
        if self.governor is not None:
            record["governor"] = self.governor.state()
        return record | {name: part() for name, part in self.parts.items()}

    def _publish(self) -> None:
        if self.watchers:
            state = self.state()
            for watcher in self.watchers:
                watcher.update(state)
