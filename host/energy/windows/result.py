"""Compute the microjoules per inference from a recording and its windows, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.errors import DeviceError
from arenite.host.energy.base import MEASURED
from arenite.host.energy.meters.trace import Floats, Trace
from arenite.host.energy.windows.activity import InferenceWindow
from arenite.host.energy.windows.find import InferenceWindows
from arenite.host.energy.windows.meter_accuracy import calibration_limit_j

SCHEMA = "arenite.energy/1"
#: A window is left out if a gap of lost samples takes more than this share of its time.
MAX_GAP_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class EnergyResult:
    """The energy of each inference and the uncertainty of the mean.

    The baseline is the power between inferences. ``energy_uj`` includes it, ``above_baseline_uj`` does not.
    """

    energy_uj: Floats  # energy of each window that was used; the next two arrays have the same order
    above_baseline_uj: Floats
    duration_s: Floats
    baseline_w: float | None  # None: no time between inferences was recorded
    average_power_w: float  # mean over the windows
    recording_power_w: float  # mean over the complete recording
    peak_power_w: float
    sleep_current_a: float | None
    supply_v: float
    #: Standard error of the mean over windows; None if there is only one window.
    standard_error_uj: float | None
    calibration_uj: float | None  # standard uncertainty from the meter's stated error; None: unknown
    lost_samples: int
    left_out: int  # number of windows that were not used
    windows: InferenceWindows
    trace: Trace

    @property
    def median_uj(self) -> float:
        return float(np.median(self.energy_uj))

    @property
    def uncertainty_uj(self) -> float | None:
        """Return the standard uncertainty: the known parts, added in quadrature; None if no part is known."""
        parts = [part for part in (self.standard_error_uj, self.calibration_uj) if part is not None]
        return float(np.hypot.reduce(parts)) if parts else None

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON record ``arenite.energy/1``."""
        trace, windows = self.trace, self.windows
        result: dict[str, Any] = {
            "schema": SCHEMA,
            "energy_uj_per_inference": _quartiles(self.energy_uj),
            "above_baseline_uj_per_inference": None
            if self.baseline_w is None
            else _quartiles(self.above_baseline_uj),
            "supply_v": self.supply_v,
            "windows": len(self.energy_uj),
            "windows_left_out": self.left_out,
            "window_method": windows.method,
            "lost_samples": self.lost_samples,
            "samples": len(trace),
            "duration_ms": _quartiles(self.duration_s * 1e3),
            "average_power_w": self.average_power_w,
            "recording_power_w": self.recording_power_w,
            "peak_power_w": self.peak_power_w,
            "baseline_power_w": self.baseline_w,
            "sleep_current_a": self.sleep_current_a,
            "uncertainty_uj": {
                "standard": self.uncertainty_uj,
                "of_windows": self.standard_error_uj,
                "of_calibration": self.calibration_uj,
            },
            "meter": {"name": trace.meta.get("meter"), "rate_hz": trace.rate_hz, "clock": trace.clock},
            "notes": [*trace.notes, *windows.notes],
        }
        if windows.alignment is not None:
            result["alignment"] = {
                "offset_s": windows.alignment.offset_s,
                "drift_ppm": windows.alignment.drift * 1e6,
                "contrast": windows.alignment.contrast,
            }
        return result


def _quartiles(values: Floats) -> dict[str, Any]:
    p25, median, p75 = np.quantile(values, [0.25, 0.5, 0.75])
    return {"median": float(median), "p25": float(p25), "p75": float(p75), "kind": MEASURED}


def measure(trace: Trace, windows: InferenceWindows) -> EnergyResult:
    """Return the energy of every window, the level between the windows, and the uncertainty.

    The standard error assumes independent windows. The meter's error is a limit, so a rectangular distribution is
    assumed: its standard uncertainty is the limit divided by √3 (JCGM 100:2008, 4.3.7). The meter's error is the same
    for all windows and does not average out.

    Raises:
        DeviceError: no window has enough samples.
    """
    trace.require(2)
    used = [window for window in windows.spans if _gap_share(trace, window) <= MAX_GAP_SHARE]
    if not used:
        raise DeviceError(
            f"No inference window has enough samples ({trace.lost_samples} were lost).",
            "Use another USB port without a hub, or a meter or rate that fits the length of one inference.",
        )
    bounds = np.array([[window.start_s, window.end_s] for window in used])
    at = trace.joules_at(bounds)
    energy, duration = at[:, 1] - at[:, 0], bounds[:, 1] - bounds[:, 0]
    power = trace.power_w
    outside = _outside(trace, windows.spans, guard=0.02 * float(np.median(duration)))
    baseline = _typical(power, outside) if np.count_nonzero(outside) >= 8 else None
    inside = ~_outside(trace, used, guard=0.0)
    limit = calibration_limit_j(trace, float(np.mean(energy)), float(np.mean(duration)))
    count = len(energy)
    return EnergyResult(
        energy_uj=energy * 1e6,
        above_baseline_uj=(energy - (baseline or 0.0) * duration) * 1e6,
        duration_s=duration,
        baseline_w=baseline,
        average_power_w=float(energy.sum() / duration.sum()),
        recording_power_w=trace.energy_j() / trace.seconds,
        peak_power_w=float(np.max(power[inside])) if inside.any() else float(np.max(power)),
        sleep_current_a=_sleep_current(trace, outside),
        supply_v=trace.supply_v,
        standard_error_uj=float(np.std(energy, ddof=1) / np.sqrt(count)) * 1e6 if count > 1 else None,
        calibration_uj=None if limit is None else limit / np.sqrt(3) * 1e6,
        lost_samples=trace.lost_samples,
        left_out=len(windows.spans) - count,
        windows=windows,
        trace=trace,
    )


def _gap_share(trace: Trace, window: InferenceWindow) -> float:
    """Return the longest gap between samples as a share of the window; 1 if the window has no samples."""
    first, last = np.searchsorted(trace.time_s, [window.start_s, window.end_s])
    if last - first < 2:
        return 1.0
    times = np.concatenate([[window.start_s], trace.time_s[first:last], [window.end_s]])
    # A difference of one sampling interval (with half an interval of tolerance) is not a gap.
    longest = float(np.max(np.diff(times))) - 1.5 / trace.rate_hz
    return max(0.0, longest) / window.seconds


def _outside(
    trace: Trace, windows: tuple[InferenceWindow, ...] | list[InferenceWindow], guard: float
) -> np.ndarray[Any, Any]:
    """Return a mask of the samples that are more than ``guard`` seconds outside of all windows, shape (n,)."""
    outside = np.ones(len(trace), dtype=bool)
    for window in windows:
        first, last = np.searchsorted(trace.time_s, [window.start_s - guard, window.end_s + guard])
        outside[first:last] = False
    return outside


def _typical(power: Floats, outside: np.ndarray[Any, Any]) -> float:
    """Return the median power between inferences. Short wake-ups and the serial port do not change it."""
    return float(np.median(power[outside]))


def _sleep_current(trace: Trace, outside: np.ndarray[Any, Any]) -> float | None:
    """Return the current of the lowest state between inferences: the median of the blocks that are about as low as the
    lowest 5 %.

    A block is the mean of 32 samples, so that noise does not decide which blocks are lowest.
    """
    current = trace.current_a[outside]
    count = len(current) // 32
    if count < 4:
        return None
    blocks = current[: count * 32].reshape(count, 32)
    means, noise = blocks.mean(1), np.median(blocks.std(1)) / np.sqrt(32)
    low = float(np.quantile(means, 0.05))
    return float(np.median(means[means <= low + max(4 * float(noise), 0.2 * abs(low))]))
