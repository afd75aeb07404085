"""Read the battery of Android from Termux's ``termux-battery-status`` (JSON) and from ``dumpsys battery``.

Both are commands on PATH that take a tenth of a second, so a reading is reused for two seconds. ``dumpsys`` needs the
permission DUMP (adb, root, or granted); without it Termux:API still reports the battery. The parsers follow published
outputs and have never run on a phone.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from arenite.errors import DeviceError
from arenite.host.energy.base import MEASURED, Power
from arenite.host.energy.power_source import DEVICE, PowerSource
from arenite.host.energy.sensors.battery import amperes
from arenite.host.energy.sysfs import checked_watts

TERMUX, DUMPSYS = "termux-battery-status", "dumpsys"
#: A reading is reused for this time, because the commands are slow and the values change slowly.
MAX_AGE_S = 2.0


def run_command(name: str, *arguments: str, path: str | None = None) -> str:
    """Return the output of the command. Raises ``DeviceError`` when it is missing, fails, hangs or is not permitted."""
    import subprocess

    executable = shutil.which(name, path=path)
    if executable is None:
        raise DeviceError(
            f"{name} is not on PATH.",
            "Install Termux:API (pkg install termux-api), or run Arenite in an adb shell.",
        )
    environment = os.environ | ({"PATH": path} if path else {})
    try:
        process = subprocess.run(
            [executable, *arguments], capture_output=True, text=True, timeout=5, env=environment
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceError(
            f"{name} did not answer: {error}.", "Check that the Termux:API app is installed and running."
        ) from error
    text = process.stdout
    if process.returncode or "Permission Denial" in text[:200]:
        lines = (process.stderr or text).strip().splitlines() or [f"exit code {process.returncode}"]
        raise DeviceError(
            f"{name} refused: {lines[0][:200]}",
            "Grant the permission: adb shell pm grant com.termux android.permission.DUMP",
        )
    return text


class CachedReading:
    """Caches the result of ``read``, and calls it again when the result is older than ``MAX_AGE_S``."""

    def __init__(self, read: Callable[[], Any], clock: Callable[[], float]) -> None:
        self._read, self._clock = read, clock
        self._read_at_s, self._value = -math.inf, None

    def get(self) -> Any:
        if self._clock() - self._read_at_s >= MAX_AGE_S:
            self._value = self._read()
            self._read_at_s = self._clock()
        return self._value


def termux_battery(path: str | None = None) -> dict[str, Any]:
    """Return the JSON object that ``termux-battery-status`` prints. If the Termux:API app is missing, the command hangs
    without output until the time limit ends it."""
    text = run_command(TERMUX, path=path)
    try:
        status = json.loads(text)
    except ValueError as error:
        raise DeviceError(
            f"{TERMUX} did not print JSON: {text.strip()[:80]!r}.", "Update Termux:API."
        ) from error
    if not isinstance(status, dict):
        raise DeviceError(f"{TERMUX} printed {text.strip()[:80]!r}, not an object.", "Update Termux:API.")
    return status


def finite_number(value: object) -> float | None:
    """Return a JSON value as a number; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


class TermuxBattery:
    """A power meter that reads ``voltage`` in mV and ``current`` in µA from Termux:API. Versions before 0.51 report no
    voltage: then 3.85 V is assumed, and the name of the source contains it."""

    def __init__(self, path: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = "Termux battery"
        self._answer = CachedReading(partial(termux_battery, path), clock)

    def read(self, busy: float) -> Power:
        status = self._answer.get()
        state = str(status.get("status", ""))
        if state != "DISCHARGING":
            raise DeviceError(
                f"The battery's state is '{state.lower() or 'unknown'}'.",
                "Unplug the charger to measure the power from the battery.",
            )
        current = finite_number(status.get("current"))
        if not current:
            current = finite_number(status.get("current_average"))
        if not current:
            raise DeviceError(
                f"{TERMUX} reports no current.",
                "Use --power-source estimate, because this phone does not measure its current.",
            )
        millivolts = finite_number(status.get("voltage"))
        name = self.name if millivolts else f"{self.name} at an assumed 3.85 V"
        volts = millivolts / 1e3 if millivolts else 3.85
        return Power(checked_watts(volts * amperes(current), name), MEASURED, name)


def parse_battery(text: str) -> dict[str, str]:
    """Return the ``key: value`` lines of ``dumpsys battery`` as a map from key in lower case to value."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key.strip().lower(): value.strip() for key, value in pairs}


class DumpsysBattery:
    """A power meter that computes the mean power from the drop of the charge counter (µAh) since its last change,
    because ``dumpsys`` reports no current."""

    def __init__(self, path: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = "dumpsys battery"
        self._clock = clock
        self._answer = CachedReading(lambda: parse_battery(run_command(DUMPSYS, "battery", path=path)), clock)
        # The charge in µAh and the time in seconds at the last change of the charge counter.
        self._last_change: tuple[float, float] | None = None
        self._watts: float | None = None

    def read(self, busy: float) -> Power:
        fields = self._answer.get()
        if fields.get("status") != "3":  # BatteryManager.BATTERY_STATUS_DISCHARGING
            self._last_change = None
            raise DeviceError(
                "The battery is not discharging.", "Unplug the charger to measure the power from the battery."
            )
        try:
            charge, volts = float(fields["charge counter"]), float(fields["voltage"]) / 1e3
        except (KeyError, ValueError) as error:
            raise DeviceError(
                "dumpsys battery reports no charge counter.", "Use --power-source estimate."
            ) from error
        now = self._clock()
        if self._last_change is None or charge > self._last_change[0]:
            self._last_change = (charge, now)
        elif charge < self._last_change[0] and now > self._last_change[1]:
            self._watts = (self._last_change[0] - charge) * 3600e-6 * volts / (now - self._last_change[1])
            self._last_change = (charge, now)
        if self._watts is None:
            raise DeviceError(
                "The charge counter has not changed yet.",
                "Wait a few minutes for the first figure.",
            )
        return Power(checked_watts(self._watts, self.name), MEASURED, self.name)


def find(path: str | None = None, clock: Callable[[], float] = time.monotonic) -> list[PowerSource]:
    """Return a power source for each Android command that exists in ``path``. Each command is run once, to find out
    whether it is usable."""
    sources = []
    if shutil.which(TERMUX, path=path):
        sources.append(_try_meter("Termux battery", TERMUX, TermuxBattery(path, clock)))
    if shutil.which(DUMPSYS, path=path):
        sources.append(_try_meter("dumpsys battery", f"{DUMPSYS} battery", DumpsysBattery(path, clock)))
    return sources


def _try_meter(name: str, where: str, meter: TermuxBattery | DumpsysBattery) -> PowerSource:
    """Return the source for ``meter``. If a reading fails, the source is unusable and has the reason."""
    try:
        meter.read(0.0)
    except DeviceError as error:
        if "not changed yet" not in error.problem:
            return PowerSource(name, DEVICE, where, None, error.problem)
    return PowerSource(name, DEVICE, where, lambda: meter, "the whole device, from the battery")
