"""All that one run of the camera loop can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from arenite.host.camera.frames.frame import CropWindow
from arenite.host.governor.interface import Limits


@dataclass(frozen=True)
class CameraOptions:
    """None, (), False: as the loop itself decides, or not at all."""

    sources: tuple[str, ...] = ("auto",)
    model: str = "blazeface"
    frames: int | None = None
    duration_s: float | None = None
    limits: Limits = field(default_factory=Limits)

    # The source
    width: int | None = None
    height: int | None = None
    fps: float | None = None
    pixels: str | None = None
    pace: str = "auto"
    loop: bool = False
    jitter_ms: float = 15.0  # of a set of frames of several cameras
    timeout_ms: float = 33.0

    # The model
    preprocessing: Path | None = None
    postprocessing: Path | None = None
    labels: Path | None = None
    window: CropWindow | None = None
    runtime: str = "auto"
    runtime_options: tuple[str, ...] = ()  # NAME=VALUE
    measure_runtimes: bool = False
    threads: int = 1
    warm_up: int = 1
    ladder: tuple[str, ...] = ()
    cascade: str | None = None
    rerun: str | None = None
    also: tuple[str, ...] = ()
    memory_mb: float | None = None

    # What is measured
    scenario: str | None = None
    quick: bool = False
    qps: float | None = None
    soak: float | None = None  # minutes

    # The loop
    overlap: bool | None = None
    motion: bool = False
    cache: bool = False
    pin: str | None = None
    lock_memory: bool = False
    realtime: int | None = None

    # Energy
    root: Path = Path("/")
    host: str | None = None
    power: str | None = None
    set_frequency: bool = False
    rest_saves_w: float | None = None

    # What it tells
    dashboard: str | None = None  # HOST:PORT
    token: str | None = None
    output: str | None = None
    callback: str | None = None
    mqtt: str | None = None
    timeline: Path | None = None
