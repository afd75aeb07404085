"""What the loop tells about itself, about twice a second: one JSON-able mapping for page, metrics and timeline.

Every part may be missing or None where it is not known: the page then leaves it out, and no metric is made up. The
mapping belongs to whoever it is given to: make a new one each time, and change none afterwards.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Percentiles(TypedDict):
    """Milliseconds, over the last seconds."""

    p50: float
    p95: float
    p99: float


class FrameCounts(TypedDict, total=False):
    """Since the loop began."""

    captured: int
    served: int
    dropped: int
    late: int
    cached: int
    errors: int
    reconnects: int


class PowerState(TypedDict, total=False):
    """Watts."""

    value: float
    kind: str  # measured, estimated
    source: str
    rails: dict[str, float]


class TemperatureState(TypedDict, total=False):
    """Degrees Celsius."""

    value: float
    source: str
    trip: float | None
    zones: dict[str, float]


class Budget(TypedDict, total=False):
    power_w: float | None
    temperature_c: float | None
    latency_ms: float | None


class LeverState(TypedDict):
    lever: str
    level: int  # 0: full quality
    levels: int
    label: float | int | str  # what the level means


class GovernorState(TypedDict, total=False):
    """Part of ``Governor.state``."""

    levels: list[LeverState]
    log: list[dict[str, Any]]  # the last actions, oldest first: Action.to_json
    actions: int  # how many there were since the loop began
    moves: dict[str, int]  # lever to how often it was moved since the loop began
    forecast: str  # for people
    minutes: (
        float | None
    )  # until the temperature's bound at the present power; None: not in sight, or unknown
    settles_c: float | None  # where the temperature ends up at the present power
    target_w: float | None  # what the limits leave
    note: str  # why a limit cannot be kept


class ModelState(TypedDict, total=False):
    name: str
    sha256: str
    input: str  # for people: "128x128 float32"


class RuntimeState(TypedDict, total=False):
    name: str  # litert-cpu, …
    threads: int
    reason: str  # why this one


class SourceState(TypedDict, total=False):
    name: str
    format: str  # for people: "1280x720 yuyv"
    live: bool


class LoopState(TypedDict, total=False):
    ready: bool  # the warm-up is over
    t_s: float  # since the loop began, the clock of Action.t_s
    fps: float
    stage_ms: dict[str, Percentiles]  # stages of served.STAGES, "total" and "age"
    frames: FrameCounts
    power: PowerState | None
    energy_j: float | None  # since the loop began
    temperature: TemperatureState | None
    budget: Budget
    governor: GovernorState
    model: ModelState
    runtime: RuntimeState
    source: SourceState
    bytes_written: int  # since the loop began, besides the runtime's own
    notes: list[str]  # what a person should know: "no camera: a generated pattern"
