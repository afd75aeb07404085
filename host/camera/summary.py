"""What a run of the loop comes to: the contract's ``arenite.camera/1``, and a few things beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arenite.host.camera.model.camera_model import CameraModel
    from arenite.host.camera.serving.loop import Loop
    from arenite.host.camera.supervisor import Supervisor

SCHEMA = "arenite.camera/1"
_EMPTY = {"p50": 0.0, "p95": 0.0, "p99": 0.0}


def since_start_ms() -> float:
    """Milliseconds since this process was started by its parent; the kernel counts in hundredths of a second."""
    try:
        import os

        started = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        return (time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")) * 1e3
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time() * 1e3


def summary(
    loop: Loop,
    supervisor: Supervisor,
    model: CameraModel,
    runtime: str,
    cold_start_ms: float,
    notes: Sequence[str],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """``more``: parts of other modules, under their own keys."""
    counters = loop.source.counters
    whole = loop.statistics.summary()
    stages = whole["stage_ms"]
    energy = supervisor.energy.total() if supervisor.energy is not None else None
    mean = energy.mean_w if energy is not None else None
    kind = energy.kind if energy is not None else "unknown"
    # Sensors are opened after the first answer: the mean power stands for the whole run.
    per_frame = mean * loop.seconds * 1e3 / loop.served if mean is not None and loop.served else None
    first, hottest, last = supervisor.temperatures or (None, None, None)
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "model": {"path": str(model.path), "sha256": model.sha256, "runtime": runtime, "name": model.name},
        "frames": {
            "captured": counters.captured,
            "served": loop.served,
            "dropped": counters.dropped,
            "late": loop.late,
            "errors": counters.errors,
            "reconnects": counters.reconnects,
            "by": whole["by"],
        },
        "fps": whole["fps"],
        "seconds": round(loop.seconds, 3),
        "stage_ms": {
            name: stages.get(name, _EMPTY)
            for name in ("capture", "preprocess", "invoke", "postprocess", "total")
        }
        | {name: value for name, value in stages.items() if name not in _EMPTY},
        "bytes_written_per_frame": round(loop.bytes_written / loop.served) if loop.served else 0,
        "cold_start_ms": round(cold_start_ms, 1),
        "duty_cycle": round(loop.duty_cycle, 4),
        "power_w": {
            "value": mean,
            "kind": kind,
            "source": supervisor.power.source if supervisor.power else None,
        },
        "energy_mj_per_frame": {"value": per_frame, "kind": kind},
        "temperature_c": {"start": first, "end": last, "max": hottest},
        "governor": [action.to_json() for action in supervisor.actions],
        "source": loop.source.name,
        "last_answer": {str(source): answer.to_json() for source, answer in loop.last.items()},
        "notes": list(notes),
    }
    return made | dict(more)
