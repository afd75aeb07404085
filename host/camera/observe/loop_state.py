"""The state of the loop: a JSON-compatible mapping that dashboard, metrics and timeline receive about twice a second.

Every part may be missing, or None if it is not known: the dashboard then does not show it, and the metrics do not
contain it. Receivers may store the mapping, so a new mapping is created each time and not changed afterwards.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Percentiles(TypedDict):
    """Percentiles of the time of a stage in the last minute, in milliseconds."""

    p50: float
    p95: float
    p99: float


class FrameCounts(TypedDict, total=False):
    """Numbers of frames since the loop began. ``cached`` frames have an answer that no model computed."""

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
    rails: dict[str, float]  # the power of each supply rail in watts, by name


class TemperatureState(TypedDict, total=False):
    """The temperature in degrees Celsius."""

    value: float
    source: str
    trip: float | None  # the temperature at which the device itself throttles
    zones: dict[str, float]  # the temperature of each thermal zone, by name


class Budget(TypedDict, total=False):
    power_w: float | None
    temperature_c: float | None
    latency_ms: float | None


class LeverState(TypedDict):
    lever: str
    level: int  # 0 is full quality
    levels: int  # number of levels
    label: float | int | str  # the meaning of the level


class GovernorState(TypedDict, total=False):
    """The fields of ``Governor.state`` that the dashboard and the metrics show."""

    levels: list[LeverState]
    log: list[dict[str, Any]]  # the last actions as ``Action.to_json`` returns them, oldest first
    actions: int  # number of actions since the loop began
    moves: dict[str, int]  # maps a lever to the number of its moves since the loop began
    forecast: str  # a sentence for display
    #: Minutes until the temperature limit is reached at the present power; None if it is not reached or not known.
    minutes: float | None
    settles_c: float | None  # the final temperature at the present power
    target_w: float | None  # the power that the limits allow, in watts
    note: str  # a sentence that says why a limit cannot be kept


class UpdatesState(TypedDict, total=False):
    """The replacement of the model by newer versions (``--updates``)."""

    model: str  # the model that serves, for display
    version: str  # its version in the repository; empty for the model of --model
    log: list[dict[str, Any]]  # the last events, in the form of the governor's actions
    actions: int  # number of events since the loop began


class DescriptionState(TypedDict):
    """The newest sentence of a language model about the answers (``--describe``)."""

    text: str
    number: int  # of the answer
    latency_ms: float  # time of the request


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
    ready: bool  # whether the first answer is complete
    t_s: float  # seconds since the loop began, as in ``Action.t_s``
    fps: float
    #: The keys are the names in ``STAGES`` and of other stages, "total" and "age".
    stage_ms: dict[str, Percentiles]
    frames: FrameCounts
    power: PowerState | None
    energy_j: float | None  # energy in joules since the loop began
    temperature: TemperatureState | None
    budget: Budget
    governor: GovernorState
    updates: UpdatesState
    description: DescriptionState | None
    model: ModelState
    runtime: RuntimeState
    source: SourceState
    bytes_written: (
        int  # bytes that the loop itself wrote since it began; writes of the runtime are not counted
    )
    notes: list[str]  # sentences for display
