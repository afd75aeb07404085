"""Convert a measurement to the JSON record ``arenite.energy/1``. The measurement is of a board with a meter, or an
existing recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arenite.host.build.prepare import Prepared
from arenite.host.energy.base import MEASURED
from arenite.host.energy.measure import EnergyMeasurement
from arenite.host.energy.meters.trace import Trace
from arenite.host.energy.windows.result import EnergyResult
from arenite.profiles.boards import Board

#: Errors that the uncertainty does not cover, for every meter.
NOT_COVERED = "leads, contacts, solder joints of the shunt, and differences between boards of one type"


def recording_record(
    result: EnergyResult, board: Board, prepared: Prepared | None, *, notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the record ``arenite.energy/1`` of a recording."""
    record = result.to_json()
    record["kind"] = MEASURED
    record["uncertainty_uj"]["consists_of"] = _uncertainty(result)
    record["average_current_a"] = result.average_power_w / result.supply_v if result.supply_v else None
    record["peak_current_a"] = result.peak_power_w / result.supply_v if result.supply_v else None
    record["meter"] |= {key: value for key, value in result.trace.meta.items() if key != "meter"}
    record["recorded_s"] = result.trace.seconds
    record["model"] = None if prepared is None else {"path": str(prepared.path), "sha256": prepared.sha256}
    record["board"] = {"name": board.name, "core": board.core, "emulated": board.emulated}
    record["notes"] = [*notes, *record["notes"]]
    return record


def board_record(measured: EnergyMeasurement, board: Board, prepared: Prepared, where: str) -> dict[str, Any]:
    """Return the record ``arenite.energy/1`` of a board that was just measured. ``where`` is the port of the meter."""
    record = recording_record(measured.result, board, prepared, notes=measured.notes)
    record["meter"]["port"] = where
    record["optimise"] = measured.project.optimise
    record["inferences"] = {"count": len(measured.log.events), "bit_exact": measured.log.exact}
    return record


def _uncertainty(result: EnergyResult) -> list[str]:
    """Return texts that describe the parts of the standard uncertainty, and the errors that it does not cover."""
    parts = []
    if result.standard_error_uj is not None:
        parts.append(
            f"of_windows: standard error of the mean over {len(result.energy_uj)} windows (scatter, noise, edges)"
        )
    if result.calibration_uj is not None:
        source = result.trace.meta.get("gain_error", "as the manufacturer states it")
        limit = 100 * result.calibration_uj * 3**0.5 / (float(result.energy_uj.mean()) or 1.0)
        parts.append(
            f"of_calibration: the meter's limit of ±{limit:.2g} % (gain and offset) as a rectangular"
            f" distribution ({source})"
        )
    else:
        parts.append("of_calibration: unknown, the accuracy of this meter is not stated")
    return [*parts, f"not covered: {NOT_COVERED}"]


def save_trace(path: Path, trace: Trace) -> None:
    """Write ``trace`` as a CSV file that ``read_csv`` can read, with one column per quantity. Raises ``UsageError`` if
    the file cannot be written."""
    import numpy as np

    from arenite.files import write_atomic

    columns = [
        ("time_s", trace.time_s, "%.9f"),
        ("current_a", trace.current_a, "%.7e"),
        ("voltage_v", np.broadcast_to(trace.voltage_v, len(trace)), "%.6g"),
    ]
    if trace.marks is not None:
        columns += [(f"D{k}", trace.marks >> k & 1, "%d") for k in range(8)]
    head = ",".join(name for name, _, _ in columns)
    row = ",".join(form for _, _, form in columns)
    lines = [row % values for values in zip(*(values.tolist() for _, values, _ in columns), strict=True)]
    write_atomic(path, "\n".join([head, *lines]) + "\n")
