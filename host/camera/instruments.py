"""Open the power meter, the thermometer and the governor of a camera loop.

The governor keeps the limits of the budget by moving levers: settings that save power in steps, such as the frame rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from arenite.errors import AreniteError
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.sources.base import Source
from arenite.host.camera.supervisor import Instruments
from arenite.host.energy.power_sources import open_power, open_thermometer
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Lever
from arenite.host.governor.levers import CpufreqLever, DevfreqLever, fps_lever, rest_lever
from arenite.profiles.hosts import HostProfile, detect_host, load_host

#: The lowest frame rate that the governor sets, in frames per second.
MIN_FPS = 1.0
#: The duration in seconds of one cycle: a burst of frames and the rest that follows it.
CYCLE_S = 10.0


def open_instruments(
    options: CameraOptions,
    loop: Loop,
    format: Format,
    levers: Sequence[Callable[[], Lever]],
    notes: list[str],
) -> Instruments:
    """Return the sensors and, if ``options`` has a limit, the governor.

    ``levers`` are functions that create further levers for the governor. A sentence is added to ``notes`` for each
    instrument that is not available. Raises ``AreniteError`` if an instrument that was requested by name is not
    available.
    """
    energy = options.energy
    profile = load_host(energy.host) if energy.host is not None else detect_host(energy.root)
    meter = open_power(energy.root, profile, energy.power_source)
    thermometer = open_thermometer(energy.root, energy.limits.temperature_c, profile)
    limits = energy.limits
    if limits.temperature_c is not None and thermometer is None:
        notes.append("This computer reports no temperature, so the temperature limit cannot be kept.")
    if limits.power_w is None and limits.temperature_c is None and limits.latency_ms is None:
        return Instruments(meter, thermometer)
    all_levers = _make_levers(options, loop, format, levers)
    frequency = _make_frequency_lever(options, profile, notes) if energy.set_frequency else None
    if frequency is not None:
        all_levers.append(frequency)
    governor = Governor(limits, all_levers, idle_w=profile.idle_w, max_w=profile.max_power_w)
    restore = () if frequency is None else (frequency.restore,)
    return Instruments(meter, thermometer, governor, restore)


def _make_levers(
    options: CameraOptions, loop: Loop, format: Format, more: Sequence[Callable[[], Lever]]
) -> list[Lever]:
    """Return the governor's levers, in the order in which it moves them. ``more`` are functions that create the last
    levers."""
    source = loop.source
    full = options.source.fps or format.fps or 30.0
    levers: list[Lever] = []
    if source.live:
        control = _RateControl(source, full)
        levers.append(fps_lever(full, control.set_rate, min(MIN_FPS, full)))
        if options.energy.rest_saves_w is not None:
            loop.rest_before_frame = control.rest_s
            levers.append(rest_lever(control.set_duty, options.energy.rest_saves_w, CYCLE_S))
    levers += [make() for make in more]
    return levers


def _make_frequency_lever(
    options: CameraOptions, profile: HostProfile, notes: list[str]
) -> CpufreqLever | DevfreqLever | None:
    """Return the lever for the frequency of the processor that the model runs on."""
    try:
        if any(word in options.model.runtime for word in ("gpu", "cuda", "tensorrt")):
            return DevfreqLever(options.energy.root)
        return CpufreqLever(options.energy.root, profile.voltage_floor)
    except AreniteError as error:
        notes.append(f"The frequency cannot be capped: {error}")
        return None


class _RateControl:
    """Sets the mean frame rate, and the share of each cycle (``CYCLE_S``) in which frames are served.

    If the share becomes smaller, the frame rate within it becomes higher, so that the mean does not change. ``full`` is
    the highest frame rate of the source, in frames per second.
    """

    def __init__(self, source: Source, full: float) -> None:
        self._source, self._full = source, full
        self._rate, self._duty = full, 1.0

    def set_rate(self, rate: float | int | str) -> None:
        self._rate = float(rate)
        self._apply()

    def set_duty(self, duty: float | int | str) -> None:
        self._duty = float(duty)
        self._apply()

    def _apply(self) -> None:
        self._source.set_rate(min(self._rate / self._duty, self._full))

    def rest_s(self) -> float:
        """Return how many seconds the loop must rest now."""
        phase = time.monotonic() % CYCLE_S
        return 0.0 if phase < self._duty * CYCLE_S else CYCLE_S - phase
