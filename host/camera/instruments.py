"""Meter, thermometer and governor for a loop: what is there, and the levers that the loop itself has."""

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

#: Frames per second below which the governor does not go.
MIN_FPS = 1.0
#: Seconds of a burst and the rest after it.
CYCLE_S = 10.0


def open_instruments(
    options: CameraOptions,
    loop: Loop,
    format: Format,
    levers: Sequence[Callable[[], Lever]],
    notes: list[str],
) -> Instruments:
    """Notes what cannot be had. Raises ``AreniteError`` for what was asked for by name and is not there."""
    profile = load_host(options.host) if options.host is not None else detect_host(options.root)
    meter = open_power(options.root, profile, options.power)
    thermometer = open_thermometer(options.root, options.limits.temperature_c, profile)
    limits = options.limits
    if limits.temperature_c is not None and thermometer is None:
        notes.append("This computer tells no temperature: that limit is not kept.")
    if limits.power_w is None and limits.temperature_c is None and limits.latency_ms is None:
        return Instruments(meter, thermometer)
    every = _levers(options, loop, format, levers)
    frequency = _frequency_lever(options, profile, notes) if options.set_frequency else None
    if frequency is not None:
        every.append(frequency)
    governor = Governor(limits, every, idle_w=profile.idle_w, most_w=profile.most_w)
    restore = () if frequency is None else (frequency.restore,)
    return Instruments(meter, thermometer, governor, restore)


def _levers(
    options: CameraOptions, loop: Loop, format: Format, more: Sequence[Callable[[], Lever]]
) -> list[Lever]:
    """In the order in which they are moved."""
    source = loop.source
    full = options.fps or format.fps or 30.0
    levers: list[Lever] = []
    if source.live:
        pace = _RateControl(source, full)
        levers.append(fps_lever(full, pace.set_rate, min(MIN_FPS, full)))
        if options.rest_saves_w is not None:
            loop.rest_before_frame = pace.rest_s
            levers.append(rest_lever(pace.set_duty, options.rest_saves_w, CYCLE_S))
    levers += [make() for make in more]
    return levers


def _frequency_lever(
    options: CameraOptions, profile: HostProfile, notes: list[str]
) -> CpufreqLever | DevfreqLever | None:
    """Of the processor that the model runs on."""
    try:
        if any(word in options.runtime for word in ("gpu", "cuda", "tensorrt")):
            return DevfreqLever(options.root)
        return CpufreqLever(options.root, profile.voltage_floor)
    except AreniteError as error:
        notes.append(f"No cap of the frequency: {error}")
        return None


class _RateControl:
    """Frames per second in the mean, and the part of each cycle in which they are served: faster then, so that the mean
    stays."""

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
        """For how many seconds to rest now."""
        phase = time.monotonic() % CYCLE_S
        return 0.0 if phase < self._duty * CYCLE_S else CYCLE_S - phase
