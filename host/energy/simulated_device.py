"""Simulate a device with power, heat and throttling firmware, for tests and benchmarks that read its sysfs files.

The thermal model of a host profile has two nodes: the chip (junction, j) on its case or heat sink (case, c) in air
(ambient, a). T is a temperature, C a heat capacity, R a thermal resistance and P the power:

    Cj dTj/dt = P - (Tj - Tc)/Rjc        Cc dTc/dt = (Tj - Tc)/Rjc - (Tc - Ta)/Rca

The firmware throttles by the policy of the profile. The power is the idle power plus, for each frame, the core seconds
and accelerator seconds times their power, which is proportional to f·V² (frequency, voltage). The sum grows with the
chip's temperature (leakage). ``SimulatedSysfs`` writes the files that the kernel would write, and reads the frequency
caps that the governor's levers write. Time is virtual: half an hour is simulated in seconds. Nothing was fitted to a
device; the profiles name the source of each figure.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

from arenite.host.energy.simulated_sysfs import SimulatedSysfs
from arenite.profiles.hosts import HostProfile

STEP_S = 0.25
#: Steps between full speed and the firmware's floor, for the policy ``step``.
THROTTLE_STATES = 10


@dataclass(frozen=True, slots=True)
class FrameWork:
    """The work of one frame at full quality and the highest frequencies.

    ``fixed_s``: seconds on one core that do not depend on the model (capture, pre- and postprocessing). ``core_s``:
    core seconds of the model, which ``threads`` threads share. ``accelerator_s``: seconds of the model on the
    accelerator.
    """

    fixed_s: float
    core_s: float = 0.0
    threads: int = 1
    accelerator_s: float = 0.0
    jitter: float = 0.03  # relative standard deviation from frame to frame


@dataclass(slots=True)
class RequestedLoad:
    """The load that the governor's levers request. ``factor`` scales the model's work; it is 1.0 at full quality.
    ``duty``: the share of each ``cycle_s`` seconds in which frames are processed. ``saves_w``: watts saved in the
    rest."""

    fps: float = 30.0
    factor: float = 1.0
    threads: int | None = None
    duty: float = 1.0
    saves_w: float = 0.0
    cycle_s: float = 10.0


class SimulatedDevice:
    """A simulated device. ``run`` advances its time, and ``clock`` returns it."""

    def __init__(
        self,
        profile: HostProfile,
        work: FrameWork,
        root: Path,
        ambient_c: float = 25.0,
        seed: int = 0,
        fps: float = 30.0,
    ) -> None:
        self.profile, self.work, self.ambient_c = profile, work, ambient_c
        self.load = RequestedLoad(fps=fps)
        self._random = random.Random(seed)
        self.now_s = 0.0
        # The device starts warm, after a long time of idling.
        heat = profile.thermal
        self.case_c = ambient_c + profile.idle_w * heat.case_ambient_k_w
        self.junction_c = self.case_c + profile.idle_w * heat.junction_case_k_w
        self.throttle = 0.0  # 0: no throttling, 1: the lowest speed to which the firmware throttles
        self._state = 0
        self._checked = 0.0
        self.frames = self.joules = self.throttled_s = 0.0
        self.watts = profile.idle_w
        self.rate = 0.0
        self.sysfs = SimulatedSysfs(profile, root)
        self.publish()

    def clock(self) -> float:
        """Return the virtual time in seconds, for sensors that count energy over time."""
        return self.now_s

    @property
    def throttling_c(self) -> float:
        """Return the temperature on which the firmware's throttling depends, in °C."""
        return self.junction_c if self.profile.thermal.trips_on == "junction" else self.case_c

    def ratios(self) -> tuple[float, float]:
        """Return the frequencies of cores and accelerator relative to their highest frequencies. Each is the lower of
        the firmware's cap and the lever's cap."""
        firmware_cap = 1 - self.throttle * (1 - self.profile.thermal.throttled_fraction)
        cpu, accelerator = self.sysfs.caps()
        return min(firmware_cap, cpu), min(firmware_cap, accelerator)

    def frame_s(self) -> float:
        """Return the seconds to process a frame."""
        cpu, accelerator = self.ratios()
        threads = self.load.threads or self.work.threads
        model = self.work.core_s / threads / cpu + self.work.accelerator_s / accelerator
        return self.work.fixed_s / cpu + self.load.factor * model

    def run(self, seconds: float) -> tuple[float, float, float]:
        """Advance by ``seconds``. Return frames per second, mean watts, and the 95th percentile of latency in ms."""
        frames = joules = 0.0
        for _ in range(round(seconds / STEP_S)):
            served, watts = self._step()
            frames += served
            joules += watts * STEP_S
        self.watts, self.rate = joules / seconds, frames / seconds
        self.frames += frames
        self.joules += joules
        self.publish()
        # The 95th percentile of a normal distribution is 1.64 standard deviations above its mean.
        return self.rate, self.watts, self.frame_s() * 1e3 * (1 + 1.64 * self.work.jitter)

    def _step(self) -> tuple[float, float]:
        """Advance by one step. Return the processed frames and the watts."""
        profile, work, load = self.profile, self.work, self.load
        resting = load.duty < 1 and (self.now_s % load.cycle_s) >= load.duty * load.cycle_s
        cpu, accelerator = self.ratios()
        rate = 0.0 if resting else min(load.fps, 1 / self.frame_s())
        cores = (work.fixed_s + load.factor * work.core_s) / cpu
        busy = load.factor * work.accelerator_s / accelerator
        per_frame = cores * profile.core_watts(cpu)
        per_frame += busy * profile.accelerator_w * profile.relative_power(accelerator)
        frames = rate * STEP_S
        if frames > 0:
            per_frame *= 1 + self._random.gauss(0, work.jitter / math.sqrt(max(frames, 1)))
        idle = profile.idle_w - (load.saves_w if resting else 0.0)
        leakage = 1 + profile.leakage_per_k * (self.junction_c - 50)
        watts = (idle + rate * per_frame) * leakage
        self._update_temperatures(watts)
        self._update_throttling()
        self.sysfs.set_load(rate * cores, rate * busy, idle, rate * per_frame)
        self.sysfs.add_energy(watts * STEP_S)
        self.now_s += STEP_S
        self.throttled_s += STEP_S if self.throttle > 0 else 0.0
        return frames, watts

    def _update_temperatures(self, watts: float) -> None:
        heat = self.profile.thermal
        to_case_w = (self.junction_c - self.case_c) / heat.junction_case_k_w
        to_air_w = (self.case_c - self.ambient_c) / heat.case_ambient_k_w
        self.junction_c += STEP_S * (watts - to_case_w) / heat.junction_j_k
        self.case_c += STEP_S * (to_case_w - to_air_w) / heat.case_j_k

    def _update_throttling(self) -> None:
        """Update the firmware's throttling once a second, as the kernel polls a passive zone."""
        if self.now_s - self._checked < 1.0:
            return
        self._checked = self.now_s
        heat, now = self.profile.thermal, self.throttling_c
        if heat.policy == "cap":
            if now >= heat.trip_c:
                self._state = THROTTLE_STATES
            elif now < heat.trip_c - heat.hysteresis_c:
                self._state = 0
        elif now >= heat.trip_c:
            self._state = min(THROTTLE_STATES, self._state + 1)
        elif now < heat.trip_c - heat.hysteresis_c:
            self._state = max(0, self._state - 1)
        self.throttle = self._state / THROTTLE_STATES

    def publish(self) -> None:
        """Write the sensors' files, with their noise and rounding."""
        noise = self._random.gauss
        min_ratio = self.profile.thermal.throttled_fraction
        self.sysfs.write(
            watts=max(0.0, self.watts * (1 + noise(0, 0.01))),
            junction_c=self.junction_c + noise(0, 0.2),
            case_c=self.case_c + noise(0, 0.1),
            state=self._state,
            cap=1 - self.throttle * (1 - min_ratio),
        )
