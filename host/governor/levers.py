"""Levers: what the governor may move, and what it believes each level does before it has measured it.

A level has a ``cost`` (relative work per second when the device is kept busy) and, where the lever changes how fast
the device works rather than how much it has to do, a ``speed``. From both follow the two figures that planning wants:
energy per frame and frames per second that are possible, relative to level 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.energy.sysfs import children, read_number, read_text
from arenite.host.governor.interface import Lever

Label = float | int | str

#: The order in which quality is given up: the loss for each factor of e that a level saves in energy per frame. The
#: frame rate's is asked / served - 1 (``plan``): its first steps are the cheapest of all, its last ones the dearest.
LOSSES = {
    "resolution": 0.4,
    "precision": 0.45,
    "model": 0.45,
    "threads": 0.5,
    "frequency": 0.5,
    "accelerator": 0.55,
    "rest": 0.4,
}
#: Being slower at a frame is a loss too, but a smaller one: the answer is as good.
SLOWER = 0.3


class StepLever:
    """Levels by a list: ``labels[i]`` is told, ``apply(labels[i])`` makes it so.

    Args:
        name: fps, resolution, model, threads, frequency, accelerator or rest; others are taken for more work per frame.
        labels: level 0 first, the full quality.
        costs: relative work per second; 1.0 at level 0, not rising.
        apply: called with the label; an ``AreniteError`` or ``OSError`` is a refusal.
        speeds: relative speed of the device (threads, frequency, accelerator); None where a level is less work.
        loss: instead of the lever's figure in LOSSES.
    """

    def __init__(
        self,
        name: str,
        labels: Sequence[Label],
        costs: Sequence[float],
        apply: Callable[[Label], None],
        speeds: Sequence[float] | None = None,
        loss: float | None = None,
    ) -> None:
        if len(labels) != len(costs) or not labels or (speeds is not None and len(speeds) != len(labels)):
            raise UsageError(
                f"The lever {name} has {len(labels)} labels and {len(costs)} costs.", "One for each."
            )
        if min(costs) <= 0 or (speeds is not None and min(speeds) <= 0):
            raise UsageError(f"The lever {name} has a cost or speed of 0.", "Leave that level out.")
        self.name = name
        self.levels = len(labels)
        self.level = 0
        self._labels = tuple(labels)
        self._costs = tuple(cost / costs[0] for cost in costs)
        self._speeds = None if speeds is None else tuple(speed / speeds[0] for speed in speeds)
        self._apply = apply
        self._loss = LOSSES.get(name, 1.0) if loss is None else loss

    def label(self, level: int) -> Label:
        return self._labels[level]

    def cost(self, level: int) -> float:
        return self._costs[level]

    def speed(self, level: int) -> float:
        """Frames per second that are possible, relative to level 0."""
        return 1 / self._costs[level] if self._speeds is None else self._speeds[level]

    def energy(self, level: int) -> float:
        """Energy per frame, relative to level 0: what the device draws over how fast it is done."""
        return self._costs[level] if self._speeds is None else self._costs[level] / self._speeds[level]

    def loss(self, level: int) -> float:
        """Of quality, 0 at level 0: for what it saves per frame, and for being slower where it is."""
        saved = -math.log(self.energy(level))
        slower = -math.log(self.speed(level)) if self._speeds is not None else 0.0
        return self._loss * (max(0.0, saved) + SLOWER * max(0.0, slower))

    def move(self, level: int) -> None:
        try:
            self._apply(self._labels[level])
        except OSError as error:
            raise DeviceError(f"{self.name} cannot be set to {self._labels[level]}: {error}.", "") from error
        self.level = level


def fps_lever(
    full: float, apply: Callable[[Label], None], lowest: float = 1.0, step: float = 0.25
) -> StepLever:
    """Frame rates from ``full`` down to ``lowest`` in fine steps: what trims the power to within a percent or so."""
    if not 0 < lowest <= full or step <= 0:
        raise UsageError(
            f"Frame rates from {full:g} down to {lowest:g} in steps of {step:g} make no ladder.", ""
        )
    count = int((full - lowest) / step + 1e-9)
    rates = [round(full - i * step, 4) for i in range(count + 1)]
    return StepLever("fps", rates, [rate / full for rate in rates], apply)


def threads_lever(full: int, apply: Callable[[Label], None], serial: float = 0.15) -> StepLever:
    """``full`` threads down to 1. Speed by Amdahl's law with the part ``serial`` that runs on one core."""
    counts = list(range(full, 0, -1))
    speeds = [1 / (serial + (1 - serial) / n) for n in counts]
    # While serial work runs one core is busy, else all: mean busy cores are work over time.
    return StepLever("threads", counts, speeds, apply, speeds)


def rest_lever(
    apply: Callable[[Label], None],
    saves_w: float,
    cycle_s: float = 10.0,
    duties: Sequence[float] | None = None,
) -> RestLever:
    """Bursts with rests: the part of each ``cycle_s`` in which frames are served; ``saves_w`` of the idle power is not
    drawn while it rests (sensor and stream off, deeper sleep)."""
    return RestLever(duties or [round(1 - 0.05 * i, 2) for i in range(20)], apply, saves_w, cycle_s)


class RestLever(StepLever):
    """Race to idle. It serves only where the device is dear to keep awake: then ``saves_w`` outweighs its loss."""

    def __init__(
        self, duties: Sequence[float], apply: Callable[[Label], None], saves_w: float, cycle_s: float
    ) -> None:
        super().__init__("rest", duties, duties, apply, duties)
        self.saves_w = saves_w  # while it rests
        self.cycle_s = cycle_s

    def loss(self, level: int) -> float:
        """Gaps are seen: the first rest costs most."""
        return 0.0 if level == 0 else 0.2 + self._loss * (1 - self.cost(level))


class _CapLever(StepLever):
    """A frequency cap in one or more files. Levels are MHz; cost is f·V² with a voltage that falls linearly to
    ``voltage_floor``. Writing wants root."""

    def __init__(
        self,
        files: list[Path],
        steps: list[float],
        per_mhz: float,
        voltage_floor: float,
        max_levels: int = 12,
    ) -> None:
        if len(steps) < 2:
            raise UsageError(
                f"{files[0].parent} lists no frequency steps.", "Leave the frequency to the firmware."
            )
        locked = [file for file in files if not os.access(file, os.W_OK)]
        if locked:
            raise UsageError(f"{locked[0]} may not be written.", "Run as root to cap the frequency.")
        while len(steps) > max_levels:
            steps = steps[:1] + steps[1:-1:2] + steps[-1:]
        self._files = files
        self._raw = {round(step / per_mhz, 1): step for step in steps}
        ratios = [step / steps[0] for step in steps]
        costs = [ratio * (voltage_floor + (1 - voltage_floor) * ratio) ** 2 for ratio in ratios]
        self._restore = {file: read_text(file) for file in files}
        super().__init__("frequency", list(self._raw), costs, self._cap, ratios)

    @property
    def cap(self) -> float:
        """What is set now, in the file's unit: no evidence of throttling."""
        return self._raw[float(self.label(self.level))]

    def restore(self) -> None:
        """Put back what was there before; at the end of the loop."""
        for file, before in self._restore.items():
            if before:
                with suppress(OSError):  # the driver is gone: so is the cap
                    file.write_text(before)

    def _cap(self, label: Label) -> None:
        wanted = self._raw[float(label)]
        for file in self._files:
            file.write_text(f"{wanted:.0f}\n")
            now = read_number(file)
            # A vendor's daemon may hold the file: then this lever is not ours.
            if now is None or now > wanted * 1.02:
                raise DeviceError(f"{file} stays at {now}.", "Another program sets the frequency here.")


class CpufreqLever(_CapLever):
    """``scaling_max_freq`` (kHz) of every CPU policy under ``root``, in the steps that the driver lists.

    Raises:
        UsageError: no cpufreq driver, no steps, or not allowed to write.
    """

    def __init__(self, root: str | Path = "/", voltage_floor: float = 0.7, max_levels: int = 12) -> None:
        base = Path(root) / "sys/devices/system/cpu"
        policies = children(base / "cpufreq", "policy*") or children(base, "cpu[0-9]*/cpufreq")
        files = [policy / "scaling_max_freq" for policy in policies if (policy / "scaling_max_freq").exists()]
        if not files:
            raise UsageError("This computer has no cpufreq driver.", "Leave the frequency to the firmware.")
        folder = files[0].parent
        listed = _listed(folder / "scaling_available_frequencies")
        if not listed:  # intel_pstate takes any: ten even steps
            least, most = read_number(folder / "cpuinfo_min_freq"), read_number(folder / "cpuinfo_max_freq")
            if least is not None and most is not None and 0 < least < most:
                listed = [most - (most - least) * i / 9 for i in range(10)]
        super().__init__(files, listed, 1e3, voltage_floor, max_levels)


class DevfreqLever(_CapLever):
    """``max_freq`` (Hz) of a devfreq device, such as a Jetson's GPU (``/sys/class/devfreq/*gpu*``).

    Raises:
        UsageError: no such device, no steps, or not allowed to write.
    """

    def __init__(
        self, root: str | Path = "/", device: str = "gpu", voltage_floor: float = 0.7, max_levels: int = 12
    ) -> None:
        folders = children(Path(root) / "sys/class/devfreq", f"*{device}*")
        if not folders:
            raise UsageError(
                f"There is no devfreq device '{device}'.", "Leave the frequency to the firmware."
            )
        files, listed = [folders[0] / "max_freq"], _listed(folders[0] / "available_frequencies")
        super().__init__(files, listed, 1e6, voltage_floor, max_levels)


def _listed(file: Path) -> list[float]:
    """Frequencies of the file, descending; empty when there are none."""
    words = (read_text(file) or "").split()
    return sorted({float(word) for word in words if word.isdigit() and int(word) > 0}, reverse=True)


def speed(lever: Lever, level: int) -> float:
    """Of any lever; one that does not tell is taken for less work per frame."""
    own = getattr(lever, "speed", None)
    if own is not None:
        return float(own(level))
    return 1.0 if lever.name == "fps" else 1 / max(1e-6, lever.cost(level))


def energy(lever: Lever, level: int) -> float:
    """Relative energy per frame of any lever."""
    own = getattr(lever, "energy", None)
    return float(own(level)) if own is not None else max(1e-6, lever.cost(level))


def loss(lever: Lever, level: int) -> float:
    """Relative loss of quality of any lever."""
    own = getattr(lever, "loss", None)
    if own is not None:
        return float(own(level))
    return LOSSES.get(lever.name, 1.0) * max(0.0, -math.log(energy(lever, level)))
