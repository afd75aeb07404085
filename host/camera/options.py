"""The options of one run of the camera loop.

Their defaults, types and ranges are defined only here. The command line takes them from these classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from arenite.host.camera.frames.frame import CropWindow
from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class Range:
    """The values that a number may have; None means no limit. If ``above`` is True, ``min`` itself is not allowed."""

    min: float | None = None
    max: float | None = None
    above: bool = False


_POSITIVE = Range(0, above=True)


@dataclass(frozen=True)
class SourceOptions:
    """The source of the frames. None means that the source uses its own default."""

    #: Each source is /dev/videoN, a video, pictures, rtsp://, gst:, csi:, photos, synthetic, or auto. Several sources
    #: are read together: one frame of each camera makes a set.
    sources: tuple[str, ...] = ("auto",)
    width: Annotated[int | None, Range(16, 16384)] = None
    height: Annotated[int | None, Range(16, 16384)] = None
    fps: Annotated[float | None, Range(0, 1000, above=True)] = None
    pixels: str | None = None  # the pixel format: yuyv, nv12, rgb, ...
    pace: Literal["auto", "live", "file"] = "auto"
    loop: bool = False  # whether a recording starts again at its end
    #: The maximum time between the captures of the frames of a set. The captures of cameras that are not synchronized
    #: are up to half a frame interval apart, which is 16.7 ms at 30 frames per second.
    jitter_ms: Annotated[float, Range(0)] = 17.0
    timeout_ms: Annotated[float, _POSITIVE] = 33.0  # the maximum time that a set waits for a late camera


@dataclass(frozen=True)
class ModelOptions:
    """The model, its runtime, and other models that also run."""

    name: str = "blazeface"  # a model of the zoo, or a .tflite or .onnx file
    preprocessing: Path | None = None  # a file of steps; None: the steps that the model records
    postprocessing: Path | None = None  # as ``preprocessing``
    labels: Path | None = None  # a file with one label per line; None: the labels that the model records
    window: CropWindow | None = None  # the part of the frame that the model gets; None: the whole frame
    runtime: str = "auto"
    runtime_options: tuple[str, ...] = ()  # each is NAME=VALUE
    measure_runtimes: bool = False  # choose the runtime by measuring all runtimes of this computer
    threads: Annotated[int, Range(1, 256)] = 1
    warm_up: Annotated[int, Range(1, 1000)] = 1  # inferences before the loop begins
    variants: tuple[str, ...] = ()  # cheaper variants that the governor may switch to
    #: MODEL:LABEL>=SCORE -> MODEL: the second model runs if the first one finds LABEL with at least SCORE.
    cascade: str | None = None
    #: SCORE:MODEL: this model runs if the score of the first one is below SCORE.
    rerun_below: str | None = None
    also: tuple[str, ...] = ()  # further models that run on every frame
    memory_mb: Annotated[float | None, _POSITIVE] = None  # the memory that all models together may use


@dataclass(frozen=True)
class LoopOptions:
    """How long the loop runs, what it measures, and how it uses this computer."""

    frames: Annotated[int | None, Range(1)] = None  # the number of answers after which the loop ends
    duration_s: Annotated[float | None, _POSITIVE] = None
    #: Whether the next frame is prepared while the model runs. None: only if this makes the loop faster.
    overlap: bool | None = None
    motion: bool = False  # run the model only on frames in which something moved
    cache: bool = False  # if an input equals an earlier input, repeat the stored answer
    pin: str | None = None  # the processors to run on, such as 2 or 1-3
    lock_memory: bool = False  # keep all memory of the process in RAM
    realtime: Annotated[int | None, Range(1, 99)] = None  # the priority of SCHED_FIFO
    time_slice_ms: Annotated[float | None, Range(0.1, 100)] = None  # the time slice of the loop's threads
    #: The thread wakes up this time before the next frame is due, and polls for it. 0: sleep until it arrives.
    early_wake_ms: Annotated[float, Range(0, 100)] = 0.0
    warm_model: bool = False  # run the model once on the previous input just before each frame
    #: The scenario of MLPerf Inference to measure.
    scenario: Literal["single-stream", "multi-stream", "offline", "server"] | None = None
    quick: bool = False  # measure the scenario for 10 seconds, without a valid result
    #: The rate of queries per second for the scenario "server"; None searches for the highest rate.
    qps: Annotated[float | None, Range(0, 1e6, above=True)] = None
    #: Run for this number of minutes, and compare the steady state with the first minute.
    soak_minutes: Annotated[float | None, Range(0, above=True)] = None


@dataclass(frozen=True)
class EnergyOptions:
    """The budget, the sensors, and the levers of the governor."""

    limits: Limits = field(default_factory=Limits)
    host: str | None = None  # a host profile; None: the profile that fits this computer
    power_source: str | None = None  # a part of the name of the power source to read
    set_frequency: bool = False  # whether the governor may change the frequency of the processor
    #: The power in watts that the device saves while it rests.
    rest_saves_w: Annotated[float | None, _POSITIVE] = None
    root: Path = Path("/")  # the folder that contains sys and proc; tests give a simulated tree


#: The default of the shortest time between two descriptions.
DESCRIBE_EVERY_S = 5.0


@dataclass(frozen=True)
class OutputOptions:
    """The receivers of answers and measurements, apart from the result of the run. None means no such receiver."""

    dashboard: str | None = None  # the address of the web page, HOST:PORT
    token: str | None = None  # the token of the web page; "auto" generates one
    tls_cert: Path | None = None  # the certificate of the web page, a PEM file
    tls_key: Path | None = None  # its private key; None: the key is in the file of the certificate
    output: str | None = None  # a file of JSON lines, or - for standard output
    callback: str | None = None  # module:function or FILE.py:function
    mqtt: str | None = None
    timeline: Path | None = None
    describe: str | None = None  # the address of a language model that describes answers, http://HOST:PORT
    #: The shortest time between two descriptions in seconds. None: ``DESCRIBE_EVERY_S``.
    describe_every_s: Annotated[float | None, Range(0, 86_400)] = None
    describe_instruction: str | None = None  # the model's instruction; None: one short sentence


@dataclass(frozen=True)
class UpdateOptions:
    """The signed repository with newer versions of the model, and the conditions for replacing the model."""

    repository: str | None = None  # a folder or an address; None: the model is never replaced
    trusted_root: Path | None = None  # the root metadata of the repository
    check_every_s: Annotated[float, Range(1)] = 3600.0
    #: How long a new version also answers a sample of the frames before it serves; 0: not at all.
    shadow_s: Annotated[float, Range(0)] = 10.0
    #: The lowest mean agreement of its answers with those of the version before.
    min_agreement: Annotated[float, Range(0, 1)] = 0.8
    probation_s: Annotated[float, Range(0)] = 30.0  # how long the version before stays ready


@dataclass(frozen=True)
class CameraOptions:
    """All options of a run, in groups. None, () and False mean that the loop decides or that a feature is off."""

    source: SourceOptions = field(default_factory=SourceOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    loop: LoopOptions = field(default_factory=LoopOptions)
    energy: EnergyOptions = field(default_factory=EnergyOptions)
    outputs: OutputOptions = field(default_factory=OutputOptions)
    updates: UpdateOptions = field(default_factory=UpdateOptions)

    @classmethod
    def of(cls, **values: Any) -> CameraOptions:
        """Return options from keyword arguments: ``of(sources=("synthetic",), model="blazeface", frames=3)``.

        ``model`` sets ``ModelOptions.name``. Every other argument has the name of a field of one of the groups; no two
        groups have a field of the same name. Raises ``TypeError`` for a name that is not an option.
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
    """Yield the name and the class of each group of ``CameraOptions``."""
    for group in fields(CameraOptions):
        yield group.name, group.default_factory
