"""The result of a run of the camera loop, and its JSON: the record ``arenite.camera/1``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arenite.host.governor.budget_check import BudgetCheck, check_budget

if TYPE_CHECKING:
    from arenite.host.camera.answers.answer import Answer
    from arenite.host.camera.model.camera_model import CameraModel
    from arenite.host.camera.serving.loop import Loop
    from arenite.host.camera.supervisor import Supervisor
    from arenite.host.governor.interface import Action, Limits

SCHEMA = "arenite.camera/1"
_EMPTY = {"p50": 0.0, "p95": 0.0, "p99": 0.0}


def since_start_ms() -> float:
    """Return the milliseconds since this process was started. The kernel records the start in steps of 10 ms."""
    try:
        import os

        started = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        return (time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")) * 1e3
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time() * 1e3  # not Linux: only the processor time of this process is known


@dataclass(frozen=True)
class ServedModel:
    """The model of ``--model`` and the runtime that ran it."""

    path: str
    sha256: str
    runtime: str
    name: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "sha256": self.sha256, "runtime": self.runtime, "name": self.name}


@dataclass(frozen=True)
class FrameCounts:
    """Numbers of frames. ``late`` frames were answered after the latency limit. ``by`` maps the origin of an answer
    (``ServedFrame.by``: model, cache, ...) to the number of answers."""

    captured: int
    served: int
    dropped: int
    late: int
    errors: int
    reconnects: int
    by: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        return {
            "captured": self.captured,
            "served": self.served,
            "dropped": self.dropped,
            "late": self.late,
            "errors": self.errors,
            "reconnects": self.reconnects,
            "by": dict(self.by),
        }


@dataclass(frozen=True)
class TemperatureRange:
    """The temperature at the start and the end of the run, and its maximum, in degrees Celsius; None if there is
    no sensor."""

    start: float | None = None
    end: float | None = None
    max: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {"start": self.start, "end": self.end, "max": self.max}


@dataclass(frozen=True)
class CameraResult:
    """The measurements of one run of the camera loop.

    ``stage_ms`` maps each stage to percentiles of its time in milliseconds. ``bytes_written_per_frame`` counts the
    bytes that the loop itself wrote to RAM, without those of the runtime. ``cold_start_ms`` is the time from the start
    of the process to the first answer. ``duty_cycle`` is the share of the time in which a stage worked. ``power_w`` is
    the mean power of the run. ``energy_kind`` says whether ``power_w`` and ``energy_mj_per_frame`` are ``measured``,
    ``estimated`` or ``unknown``. ``last_answer`` has the newest answer of each camera, by the index of the camera.
    ``parts`` are further entries of the record: ``overlapped``, whether a frame was prepared during the inference
    before, and the records of the features in use, such as ``scenario`` for the option ``--scenario``.
    """

    model: ServedModel
    frames: FrameCounts
    fps: float
    seconds: float
    stage_ms: Mapping[str, Mapping[str, float]]
    bytes_written_per_frame: int
    cold_start_ms: float
    duty_cycle: float
    power_w: float | None
    power_source: str | None
    energy_mj_per_frame: float | None
    energy_kind: str
    temperature_c: TemperatureRange
    governor: tuple[Action, ...]
    source: str
    last_answer: Mapping[int, Answer]
    notes: tuple[str, ...]
    parts: Mapping[str, Any] = field(default_factory=dict)
    budget: tuple[BudgetCheck, ...] = ()

    @property
    def within_budget(self) -> bool:
        """Whether no limit was exceeded. A limit without a measurement counts as kept."""
        return all(check.kept is not False for check in self.budget)

    def to_json(self) -> dict[str, Any]:
        """Return the record ``arenite.camera/1``."""
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "model": self.model.to_json(),
            "frames": self.frames.to_json(),
            "fps": self.fps,
            "seconds": self.seconds,
            "stage_ms": {name: dict(stage) for name, stage in self.stage_ms.items()},
            "bytes_written_per_frame": self.bytes_written_per_frame,
            "cold_start_ms": self.cold_start_ms,
            "duty_cycle": self.duty_cycle,
            "power_w": {"value": self.power_w, "kind": self.energy_kind, "source": self.power_source},
            "energy_mj_per_frame": {"value": self.energy_mj_per_frame, "kind": self.energy_kind},
            "temperature_c": self.temperature_c.to_json(),
            "governor": [action.to_json() for action in self.governor],
            "source": self.source,
            "last_answer": {str(source): answer.to_json() for source, answer in self.last_answer.items()},
            "notes": list(self.notes),
        }
        record |= self.parts
        record["budget"] = [check.to_json() for check in self.budget]
        return record


def camera_result(
    loop: Loop,
    supervisor: Supervisor,
    model: CameraModel,
    runtime: str,
    cold_start_ms: float,
    notes: Sequence[str],
    limits: Limits,
    parts: Mapping[str, Any],
) -> CameraResult:
    """Return the result of a run that has ended. ``CameraResult`` describes ``parts``."""
    counters = loop.source.counters
    summary = loop.statistics.summary()
    stages = summary["stage_ms"]
    energy = supervisor.energy.total() if supervisor.energy is not None else None
    mean_w = energy.mean_w if energy is not None else None
    # Sensors are opened after the first answer, so their mean power is used for the complete run.
    per_frame = mean_w * loop.seconds * 1e3 / loop.served if mean_w is not None and loop.served else None
    first, hottest, last = supervisor.temperatures or (None, None, None)
    fps, by = summary["fps"], summary["by"]
    if "scenario" in parts:
        # The statistics contain only some samples of the final run of a scenario, and also samples of its trial runs.
        fps, by = round(loop.served / loop.seconds, 3), {"model": loop.served}
    stage_ms = {
        name: stages.get(name, _EMPTY) for name in ("capture", "preprocess", "invoke", "postprocess", "total")
    } | stages
    kind = energy.kind if energy is not None else "unknown"
    # The budget limits the age: the time from the capture of a frame to its answer.
    return CameraResult(
        model=ServedModel(str(model.path), model.sha256, runtime, model.name),
        frames=FrameCounts(
            counters.captured,
            loop.served,
            counters.dropped,
            loop.late,
            counters.errors,
            counters.reconnects,
            by,
        ),
        fps=fps,
        seconds=round(loop.seconds, 3),
        stage_ms=stage_ms,
        bytes_written_per_frame=round(loop.bytes_written / loop.served) if loop.served else 0,
        cold_start_ms=round(cold_start_ms, 1),
        duty_cycle=round(loop.duty_cycle, 4),
        power_w=mean_w,
        power_source=supervisor.power.source if supervisor.power else None,
        energy_mj_per_frame=per_frame,
        energy_kind=kind,
        temperature_c=TemperatureRange(first, last, hottest),
        governor=tuple(supervisor.actions),
        source=loop.source.name,
        last_answer=dict(loop.last),
        notes=tuple(notes),
        parts=dict(parts),
        budget=check_budget(
            limits, power_w=mean_w, power_kind=kind, max_c=hottest, age_ms=stage_ms.get("age", {}).get("p95")
        ),
    )
