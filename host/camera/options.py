"""The options of one run of the camera loop. Their defaults, types and ranges are defined only here; the command line
reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from arenite.host.camera.frames.frame import CropWindow
from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class Range:
    """The values that a number may have; None means no limit. With ``above``, ``min`` itself is not allowed."""

    min: float | None = None
    max: float | None = None
    above: bool = False


_POSITIVE = Range(0, above=True)


@dataclass(frozen=True)
class SourceOptions:
    """The source of the frames. None means the source's own default."""

    #: /dev/videoN, a video, pictures, rtsp://, gst:, csi:, photos, synthetic, or auto. Several make a set of cameras.
    sources: tuple[str, ...] = ("auto",)
    width: Annotated[int | None, Range(16, 16384)] = None
    height: Annotated[int | None, Range(16, 16384)] = None
    fps: Annotated[float | None, Range(0, 1000, above=True)] = None
    pixels: str | None = None  # the pixel format: yuyv, nv12, rgb, ...
    pace: Literal["auto", "live", "file"] = "auto"
    loop: bool = False  # a recording starts again at its end
    #: The maximum time between the captures of the frames of a set. Cameras that are not synchronized are up to half a
    #: period apart, which is 16.7 ms at 30 frames per second.
    jitter_ms: Annotated[float, Range(0)] = 17.0
    timeout_ms: Annotated[float, _POSITIVE] = 33.0  # the maximum time that a set waits for a camera


@dataclass(frozen=True)
class ModelOptions:
    """The model, its runtime, and other models that also run."""

    name: str = "blazeface"  # a model of the zoo, or a .tflite or .onnx file
    preprocessing: Path | None = None  # None: the steps that the model records
    postprocessing: Path | None = None
    labels: Path | None = None
    window: CropWindow | None = None  # the part of the frame that the model gets; None: the whole frame
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
    overlap: bool | None = None  # None: if it makes the loop faster
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
    """The budget, the sensors, and the levers of the governor."""

    limits: Limits = field(default_factory=Limits)
    host: str | None = None  # a host profile; None: the profile that fits this computer
    power_source: str | None = None  # a part of a power source's name
    set_frequency: bool = False
    rest_saves_w: Annotated[float | None, _POSITIVE] = None
    root: Path = Path("/")  # the folder that contains sys and proc; tests give a simulated tree


@dataclass(frozen=True)
class OutputOptions:
    """The receivers of answers and measurements, besides the result."""

    dashboard: str | None = None  # HOST:PORT
    token: str | None = None
    output: str | None = None  # a file of JSON lines, or - for standard output
    callback: str | None = None  # module:function or FILE.py:function
    mqtt: str | None = None
    timeline: Path | None = None


@dataclass(frozen=True)
class CameraOptions:
    """All options of a run, in groups. None, () and False mean that the loop decides or that a feature is off."""

    source: SourceOptions = field(default_factory=SourceOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    loop: LoopOptions = field(default_factory=LoopOptions)
    energy: EnergyOptions = field(default_factory=EnergyOptions)
    outputs: OutputOptions = field(default_factory=OutputOptions)

    @classmethod
    def of(cls, **values: Any) -> CameraOptions:
        """Return options from a flat list of fields: ``of(sources=("synthetic",), model="blazeface", frames=3)``.

        ``model`` is ``ModelOptions.name``. Every other field has the same name as in its group; no two groups share a
        name. Raises ``TypeError`` for a name that is not an option.
        """
        if "model" in values:
            values["name"] = values.pop("model")
        groups = {}
        for group, kind in _groups():
            groups[group] = kind(
                **{option.name: values.pop(option.name) for option in fields(kind) if option.name in values}
            )
        if values:
            raise TypeError(f"These are not options of the camera: {', '.join(values)}.")
        return cls(**groups)


def _groups() -> Iterator[tuple[str, Any]]:
    """Yield the name and the class of each group."""
    for group in fields(CameraOptions):
        yield group.name, group.default_factory
