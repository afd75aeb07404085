"""Define the result of one measured window of the energy mode."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.host.energy.windows.result import EnergyResult
from arenite.host.mlperf.energy_monitor import TimedRun


@dataclass(frozen=True)
class EnergyWindow:
    """One measured window: its run of inferences, the ``method`` that found its start and end, its energy (``result``),
    and the output bytes of its last inference."""

    run: TimedRun
    method: str
    result: EnergyResult
    outputs: bytes

    @property
    def seconds(self) -> float:
        """The length of the window by the meter's clock."""
        return float(self.result.duration_s[0])

    @property
    def uj_per_inference(self) -> float:
        return float(self.result.energy_uj[0]) / self.run.inferences
