"""The governor's levers, with a declared cost of each level. The governor uses the declared cost until it has measured
the cost.

A level has a ``cost``, the relative work per second of a busy device. It also has a ``speed`` if the lever changes how
fast the device works and not how much it has to do. The planner uses two figures that follow from cost and speed: the
energy per frame and the possible frames per second, relative to level 0.
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

#: The loss of quality of a level is this figure times ln(energy per frame at level 0 / energy per frame at the level).
#: It determines which lever moves first. The loss of the frame rate is requested / served - 1 (``planner``): its first
#: steps cost least and its last steps most.
LOSSES = {
    "resolution": 0.4,
    "precision": 0.45,
    "model": 0.45,
    "threads": 0.5,
    "frequency": 0.5,
    "accelerator": 0.55,
    "rest": 0.4,
}
#: The weight of slower frames in the loss of quality. It is below 1 because the result of a slower frame is as good.
LATENCY_WEIGHT = 0.3


class StepLever:
    """A lever with a list of levels: ``labels[i]`` describes level i, and ``apply(labels[i])`` sets it.

    Args:
        name: fps, resolution, model, threads, frequency, accelerator or rest. A lever with another name is one that
            changes the work per frame.
        labels: the label of each level, beginning with full quality.
        costs: relative work per second of each level, 1.0 at level 0 and never rising.
        apply: function that sets a level, given its label. It raises ``AreniteError`` or ``OSError`` to refuse.
        speeds: relative speed of the device at each level (threads, frequency, accelerator); None if a level means
            less work.
        loss: the figure to use instead of the lever's figure in LOSSES.
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
                f"The lever {name} has {len(labels)} labels and {len(costs)} costs.",
                "Give one cost per label.",
            )
        if min(costs) <= 0 or (speeds is not None and min(speeds) <= 0):
            raise UsageError(f"The lever {name} has a cost or speed of 0.", "Remove that level.")
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
        """Return the possible frames per second, relative to level 0."""
        return 1 / self._costs[level] if self._speeds is None else self._speeds[level]

    def energy(self, level: int) -> float:
        """Return the energy per frame relative to level 0, which is the device's power divided by its speed."""
        return self._costs[level] if self._speeds is None else self._costs[level] / self._speeds[level]

    def loss(self, level: int) -> float:
        """Return the loss of quality, 0 at level 0. It grows with the energy saved per frame and with the duration of a
        frame."""
        saved = -math.log(self.energy(level))
        slower = -math.log(self.speed(level)) if self._speeds is not None else 0.0
        return self._loss * (max(0.0, saved) + LATENCY_WEIGHT * max(0.0, slower))

    def move(self, level: int) -> None:
        try:
            self._apply(self._labels[level])
        except OSError as error:
            raise DeviceError(
                f"{self.name} cannot be set to {self._labels[level]}: {error}.",
                "Check that no other program controls it.",
            ) from error
        self.level = level


def fps_lever(
    full: float, apply: Callable[[Label], None], lowest: float = 1.0, step: float = 0.25
) -> StepLever:
    """Return a lever of frame rates from ``full`` down to ``lowest`` frames per second. The default ``step`` is fine
    enough to set the power to about one percent."""
    if not 0 < lowest <= full or step <= 0:
        raise UsageError(
            f"Frame rates from {full:g} down to {lowest:g} in steps of {step:g} are not a valid range.",
            "Give a lowest rate above 0 and at most the full rate, and a step above 0.",
        )
    count = int((full - lowest) / step + 1e-9)
    rates = [round(full - i * step, 4) for i in range(count + 1)]
    return StepLever("fps", rates, [rate / full for rate in rates], apply)


def threads_lever(full: int, apply: Callable[[Label], None], serial: float = 0.15) -> StepLever:
    """Return a lever from ``full`` threads down to 1. Speeds follow Amdahl's law: the share ``serial`` of the work runs
    on one core."""
    counts = list(range(full, 0, -1))
    speeds = [1 / (serial + (1 - serial) / n) for n in counts]
    # One core is busy in the serial part and all cores otherwise, so the mean number of busy cores, and with it the
    # cost, equals the speed.
    return StepLever("threads", counts, speeds, apply, speeds)


def rest_lever(
    apply: Callable[[Label], None],
    saves_w: float,
    cycle_s: float = 10.0,
    duties: Sequence[float] | None = None,
) -> RestLever:
    """Return a lever of bursts and rests. Its labels are the share of each ``cycle_s`` seconds in which frames are
    processed. A rest saves ``saves_w`` watts of the idle power (sensor and stream off, deeper sleep)."""
    return RestLever(duties or [round(1 - 0.05 * i, 2) for i in range(20)], apply, saves_w, cycle_s)


class RestLever(StepLever):
    """The lever that processes frames in bursts (race to idle). The governor uses it only if ``saves_w`` outweighs the
    loss of quality. That is the case for a device that draws much power while it is awake and idle."""

    def __init__(
        self, duties: Sequence[float], apply: Callable[[Label], None], saves_w: float, cycle_s: float
    ) -> None:
        super().__init__("rest", duties, duties, apply, duties)
        self.saves_w = saves_w  # watts saved during a rest
        self.cycle_s = cycle_s

    def loss(self, level: int) -> float:
        """Return the loss of quality. Gaps in the video are visible, so the step from no rest to the first rest costs
        most."""
        return 0.0 if level == 0 else 0.2 + self._loss * (1 - self.cost(level))


class _CapLever(StepLever):
    """A frequency cap in one or more sysfs files, which only root can write.

    Labels are MHz. ``steps``: the frequencies in the file's unit, descending; ``per_mhz``: the file's units per MHz.
    The cost is f·V² with frequency f and supply voltage V relative to the highest step. V falls linearly with f, to
    ``voltage_floor`` at 0 MHz.
    """

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
            raise UsageError(
                f"There is no permission to write {locked[0]}.", "Run as root to cap the frequency."
            )
        # Leave out every other step, but never the first and the last one.
        while len(steps) > max_levels:
            steps = steps[:1] + steps[1:-1:2] + steps[-1:]
        self._files = files
        self._raw = {round(step / per_mhz, 1): step for step in steps}
        ratios = [step / steps[0] for step in steps]
        costs = [ratio * (voltage_floor + (1 - voltage_floor) * ratio) ** 2 for ratio in ratios]
        self._restore = {file: read_text(file) for file in files}
        super().__init__("frequency", list(self._raw), costs, self._set_cap, ratios)

    @property
    def cap(self) -> float:
        """Return the present cap in the file's unit. If the frequency is below the cap, the lever is not the cause."""
        return self._raw[float(self.label(self.level))]

    def restore(self) -> None:
        """Write the original values to the files. The caller does this at the end of the loop."""
        for file, before in self._restore.items():
            if before:
                with suppress(OSError):  # if the driver was unloaded, its cap is gone too
                    file.write_text(before)

    def _set_cap(self, label: Label) -> None:
        wanted = self._raw[float(label)]
        for file in self._files:
            file.write_text(f"{wanted:.0f}\n")
            now = read_number(file)
            # If a vendor's daemon controls the file, this lever cannot be used.
            if now is None or now > wanted * 1.02:
                raise DeviceError(
                    f"{file} stays at {now}.", "Stop the other program that sets the frequency."
                )


class CpufreqLever(_CapLever):
    """A lever that sets ``scaling_max_freq`` (kHz) of every CPU policy under ``root``, in the steps that the driver
    lists.

    Raises:
        UsageError: there is no cpufreq driver, it lists no steps, or writing is not permitted.
    """

    def __init__(self, root: str | Path = "/", voltage_floor: float = 0.7, max_levels: int = 12) -> None:
        base = Path(root) / "sys/devices/system/cpu"
        policies = children(base / "cpufreq", "policy*") or children(base, "cpu[0-9]*/cpufreq")
        files = [policy / "scaling_max_freq" for policy in policies if (policy / "scaling_max_freq").exists()]
        if not files:
            raise UsageError("This computer has no cpufreq driver.", "Leave the frequency to the firmware.")
        folder = files[0].parent
        frequencies = _listed_frequencies(folder / "scaling_available_frequencies")
        if not frequencies:  # intel_pstate accepts any frequency: use ten even steps
            low, high = read_number(folder / "cpuinfo_min_freq"), read_number(folder / "cpuinfo_max_freq")
            if low is not None and high is not None and 0 < low < high:
                frequencies = [high - (high - low) * i / 9 for i in range(10)]
        super().__init__(files, frequencies, 1e3, voltage_floor, max_levels)


class DevfreqLever(_CapLever):
    """A lever that sets ``max_freq`` (Hz) of a devfreq device, such as a Jetson's GPU (``/sys/class/devfreq/*gpu*``).

    Raises:
        UsageError: there is no such device, it lists no steps, or writing is not permitted.
    """

    def __init__(
        self, root: str | Path = "/", device: str = "gpu", voltage_floor: float = 0.7, max_levels: int = 12
    ) -> None:
        folders = children(Path(root) / "sys/class/devfreq", f"*{device}*")
        if not folders:
            raise UsageError(
                f"There is no devfreq device '{device}'.", "Leave the frequency to the firmware."
            )
        files, frequencies = (
            [folders[0] / "max_freq"],
            _listed_frequencies(folders[0] / "available_frequencies"),
        )
        super().__init__(files, frequencies, 1e6, voltage_floor, max_levels)


def _listed_frequencies(file: Path) -> list[float]:
    """Return the frequencies that the file lists, descending; an empty list if there are none."""
    words = (read_text(file) or "").split()
    return sorted({float(word) for word in words if word.isdigit() and int(word) > 0}, reverse=True)


def speed(lever: Lever, level: int) -> float:
    """Return the speed of the device at ``level`` relative to level 0, for any lever. A lever without the method
    ``speed`` reduces the work per frame."""
    method = getattr(lever, "speed", None)
    if method is not None:
        return float(method(level))
    return 1.0 if lever.name == "fps" else 1 / max(1e-6, lever.cost(level))


def energy(lever: Lever, level: int) -> float:
    """Return the energy per frame at ``level`` relative to level 0, for any lever."""
    method = getattr(lever, "energy", None)
    return float(method(level)) if method is not None else max(1e-6, lever.cost(level))


def loss(lever: Lever, level: int) -> float:
    """Return the loss of quality at ``level``, 0 at level 0, for any lever."""
    method = getattr(lever, "loss", None)
    if method is not None:
        return float(method(level))
    return LOSSES.get(lever.name, 1.0) * max(0.0, -math.log(energy(lever, level)))
