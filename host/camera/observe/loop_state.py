"""The state of the loop: a JSON-compatible mapping that page, metrics and timeline get about twice a second.

Every part may be missing, or None if it is not known: the page then leaves it out, and the metric is absent.
Receivers may store the mapping, so create a new mapping each time and do not change it afterwards.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Percentiles(TypedDict):
    """Percentiles over the last seconds, in milliseconds."""

    p50: float
    p95: float
    p99: float


class FrameCounts(TypedDict, total=False):
    """Numbers of frames since the loop began."""

    captured: int
    served: int
    dropped: int
    late: int
    cached: int
    errors: int
    reconnects: int


class PowerState(TypedDict, total=False):
    """The power in watts."""

    value: float
    kind: str  # measured, estimated
    source: str
    rails: dict[str, float]


class TemperatureState(TypedDict, total=False):
    """The temperature in degrees Celsius."""

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
    label: float | int | str  # the meaning of the level


class GovernorState(TypedDict, total=False):
    """The part of ``Governor.state`` that is shown."""

    levels: list[LeverState]
    log: list[dict[str, Any]]  # the last actions, oldest first: Action.to_json
    actions: int  # number of actions since the loop began
    moves: dict[str, int]  # lever to the number of its moves since the loop began
    forecast: str  # for display
    #: Minutes until the temperature limit is reached at the present power; None if it is not reached, or if unknown.
    minutes: float | None
    settles_c: float | None  # the final temperature at the present power
    target_w: float | None  # the power that the limits allow
    note: str  # why a limit cannot be kept


class ModelState(TypedDict, total=False):
    name: str
    sha256: str
    input: str  # for display: "128x128 float32"


class RuntimeState(TypedDict, total=False):
    name: str  # litert-cpu, …
    threads: int
    reason: str  # why this runtime was chosen


class SourceState(TypedDict, total=False):
    name: str
    format: str  # for display: "1280x720 yuyv"
    live: bool


class LoopState(TypedDict, total=False):
    ready: bool  # the warm-up is over
    t_s: float  # seconds since the loop began, as Action.t_s
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
    bytes_written: int  # bytes that the loop itself wrote since it began, without those of the runtime
    notes: list[str]  # sentences for display
