"""The options of one run of the camera loop. This is the only home of their defaults, types and ranges: the command
line reads them from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from arenite.host.camera.frames.frame import CropWindow
from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class Range:
    """The values that a number may have; None: no limit. ``above``: ``min`` itself is not allowed."""

    min: float | None = None
    max: float | None = None
    above: bool = False


_POSITIVE = Range(0, above=True)


@dataclass(frozen=True)
class SourceOptions:
    """Where frames come from. None: as the source itself has it."""

    #: /dev/videoN, a video, pictures, rtsp://, gst:, csi:, photos, synthetic, or auto. Several make a set of cameras.
    sources: tuple[str, ...] = ("auto",)
    width: Annotated[int | None, Range(16, 16384)] = None
    height: Annotated[int | None, Range(16, 16384)] = None
    fps: Annotated[float | None, Range(0, 1000, above=True)] = None
    pixels: str | None = None  # the pixel format: yuyv, nv12, rgb, ...
    pace: Literal["auto", "live", "file"] = "auto"
    loop: bool = False  # a recording starts again at its end
    #: Frames of a set are captured at most this far apart. Cameras that nothing synchronizes are up to half a period
    #: apart, which is 16.7 ms at 30 frames per second.
    jitter_ms: Annotated[float, Range(0)] = 17.0
    timeout_ms: Annotated[float, _POSITIVE] = 33.0  # how long a set waits for a camera


@dataclass(frozen=True)
class ModelOptions:
    """The model, its runtime, and further models beside it."""

    name: str = "blazeface"  # of the zoo, or a .tflite or .onnx file
    preprocessing: Path | None = None  # None: what the model records
    postprocessing: Path | None = None
    labels: Path | None = None
    window: CropWindow | None = None  # the part of the frame that the model sees; None: all of it
    runtime: str = "auto"
    runtime_options: tuple[str, ...] = ()  # NAME=VALUE each
    measure_runtimes: bool = False
    threads: Annotated[int, Range(1, 256)] = 1
    warm_up: Annotated[int, Range(1, 1000)] = 1  # inferences before the loop begins
    variants: tuple[str, ...] = ()  # cheaper variants that the governor may switch to
    cascade: str | None = None  # MODEL:LABEL>=SCORE -> MODEL
    rerun_below: str | None = None  # SCORE:MODEL
    also: tuple[str, ...] = ()  # models that run on every frame too
    memory_mb: Annotated[float | None, _POSITIVE] = None  # for all models together


@dataclass(frozen=True)
class LoopOptions:
    """How long the loop runs, what it measures, and how it uses this computer."""

    frames: Annotated[int | None, Range(1)] = None
    duration_s: Annotated[float | None, _POSITIVE] = None
    overlap: bool | None = None  # None: where it makes the loop faster
    motion: bool = False
    cache: bool = False
    pin: str | None = None  # processors, such as 2 or 1-3
    lock_memory: bool = False
    realtime: Annotated[int | None, Range(1, 99)] = None  # the priority of SCHED_FIFO
    scenario: Literal["single-stream", "multi-stream", "offline", "server"] | None = None
    quick: bool = False
    qps: Annotated[float | None, Range(0, 1e6, above=True)] = None
    soak_minutes: Annotated[float | None, Range(0, above=True)] = None


@dataclass(frozen=True)
class EnergyOptions:
    """The budget, the sensors and what the governor may do."""

    limits: Limits = field(default_factory=Limits)
    host: str | None = None  # a host profile; None: the one that fits this computer
    power_source: str | None = None  # a part of a power source's name
    set_frequency: bool = False
    rest_saves_w: Annotated[float | None, _POSITIVE] = None
    root: Path = Path("/")  # where /sys and /proc are; tests give a simulated tree


@dataclass(frozen=True)
class OutputOptions:
    """Where answers and measurements go besides the result."""

    dashboard: str | None = None  # HOST:PORT
    token: str | None = None
    output: str | None = None  # a file of JSON lines, or - for standard output
    callback: str | None = None  # module:function or FILE.py:function
    mqtt: str | None = None
    timeline: Path | None = None


@dataclass(frozen=True)
class CameraOptions:
    """All options of a run, in groups. None, () and False mean that the loop decides, or that a feature is off."""

    source: SourceOptions = field(default_factory=SourceOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    loop: LoopOptions = field(default_factory=LoopOptions)
    energy: EnergyOptions = field(default_factory=EnergyOptions)
    outputs: OutputOptions = field(default_factory=OutputOptions)

    @classmethod
    def of(cls, **values: Any) -> CameraOptions:
        """Return options from a flat list of fields: ``of(sources=("synthetic",), model="blazeface", frames=3)``.

        ``model`` is ``ModelOptions.name``; every other field keeps its name, which no two groups share. Raises
        ``TypeError`` for a name that is not an option.
        """
        if "model" in values:
            values["name"] = values.pop("model")
        groups = {}
        for group, kind in _groups():
            groups[group] = kind(
                **{each.name: values.pop(each.name) for each in fields(kind) if each.name in values}
            )
        if values:
            raise TypeError(f"These are not options of the camera: {', '.join(values)}.")
        return cls(**groups)


def _groups() -> Iterator[tuple[str, Any]]:
    """Name and class of each group."""
    for each in fields(CameraOptions):
        yield each.name, each.default_factory
