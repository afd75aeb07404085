"""Measure the energy of a model's inferences on a board with a meter.

The steps are: build the firmware, flash the board or start its emulator, record the current while the board infers, and
find the inferences in the recording.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arenite.errors import DeviceError, UsageError
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import open_device, project_folder
from arenite.host.bench.samples import Samples
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import Project, generate_project
from arenite.host.energy.inference_loop import InferenceLog, InferenceLoop
from arenite.host.energy.meters.base import Meter
from arenite.host.energy.meters.trace import Trace, join
from arenite.host.energy.windows.find import InferenceWindows, find_windows
from arenite.host.energy.windows.result import EnergyResult, measure
from arenite.host.flash.build import build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import Board

#: Seconds without inferences: at the start of the recording, to record the idle board, and at the end, so that the last
#: inference is complete.
IDLE_S, TAIL_S = 1.0, 0.3
#: A window is the time of one inference in a recording. The number of windows for a reliable median, the usual length
#: of a recording in seconds, and the length after which it ends with fewer windows.
MIN_WINDOWS, DEFAULT_S, PATIENCE_S = 5, 10.0, 40.0
#: Seconds between two searches for windows while the recording runs.
_SEARCH_INTERVAL_S = 5.0
#: A computing board draws more than this current.
MIN_CURRENT_A = 1e-5
#: A shorter recording is not searched for windows.
MIN_SAMPLES = 64


@dataclass(frozen=True)
class MeasurementConfig:
    """The settings of one measurement. ``port``: the board's serial port. ``inferences`` and ``duration_s``: the number
    of inferences and the seconds to record; None for the default. ``bit``: the meter's digital input that is connected
    to the board's mark pin."""

    samples: Samples
    build: BuildOptions = DEFAULT_BUILD
    port: str | None = None
    inferences: int | None = None
    duration_s: float | None = None
    bit: int | None = None


@dataclass(frozen=True)
class EnergyMeasurement:
    """The result of a measurement; ``trace`` is the complete recording."""

    project: Project
    log: InferenceLog
    trace: Trace
    result: EnergyResult
    notes: tuple[str, ...]


def measure_board(
    prepared: Prepared, board: Board, meter: Meter, config: MeasurementConfig, progress: Progress
) -> EnergyMeasurement:
    """Measure the energy of ``prepared`` on ``board`` with ``meter``, which is not open yet. ``progress`` is called
    with (step, done, total).

    The meter is opened first, because it may supply the board.

    Raises:
        UsageError, DoesNotFitError: the model or an option is not valid for the board; raised before the build.
        ToolError, DeviceError: the build, the board or the meter failed, or the recording shows no inference.
    """
    if not board.emulated and config.port is None:
        raise UsageError(
            f"{board.name} is a real board.", "Name its serial port: --port auto, or --port NAME."
        )
    with project_folder(None) as folder:
        project = generate_project(prepared, board, folder, config.build)
        progress("build", 0, 1)
        elf = build(folder)
        expected = _expected_outputs(prepared, config.samples)
        log, trace, info_hz = _record_run(project, elf, meter, config, expected, progress)
    _require_current(trace)
    windows = _find_windows(trace, log, config, board, info_hz)
    result = measure(trace, windows)
    return EnergyMeasurement(project, log, trace, result, tuple(_notes(board, log, result, config)))


def _require_current(trace: Trace) -> None:
    """Raise DeviceError if the current is too small for a computing board."""
    # The highest sample may be a spike, so the sample at rank k is used. It is still high if a long recording has only
    # a few short inferences.
    k = min(20, len(trace) // 100 + 1)
    highest = float(np.partition(trace.current_a, -k)[-k]) if len(trace) else 0.0
    if highest < MIN_CURRENT_A:
        raise DeviceError(
            f"The meter measured no current: {max(highest, 0.0) * 1e6:.2g} µA at most, while the board"
            " computed.",
            "Check that the current of the board flows through the meter, and that no USB cable feeds the board.",
        )


def _expected_outputs(prepared: Prepared, samples: Samples) -> list[list[bytes]]:
    reference = Reference(prepared.reference)
    return [[np.ascontiguousarray(v).tobytes() for v in reference.run(s)] for s in samples.inputs]


def _record_run(
    project: Project,
    elf: Path,
    meter: Meter,
    config: MeasurementConfig,
    expected: list[list[bytes]],
    progress: Progress,
) -> tuple[InferenceLog, Trace, int]:
    """Return the inferences, the recording, and the rate of the device's counter in Hz."""
    log = InferenceLog()
    with meter, open_device(project, elf, config.port) as transport:
        client = DeviceClient(transport)
        info = client.connect(project.generated.sha256)
        loop = InferenceLoop(client, config.samples, expected, config.build.stream_input)
        # If the board has a fault, this inference fails before the recording costs time.
        loop.run_next(InferenceLog())
        recording = Recording(meter)
        recording.start()
        time.sleep(IDLE_S)
        loop.run_until(
            _stop_condition(config, recording, board=project.board, tick_hz=info.tick_hz, progress=progress),
            log,
        )
        time.sleep(TAIL_S)
        return log, recording.stop(), info.tick_hz


class Recording:
    """Reads the samples of a meter while it records."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._parts: list[Trace] = []

    def start(self) -> None:
        """Start the recording."""
        self._meter.start()
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds since the start by this computer's clock or by the meter's clock, whichever is more. They
        differ for a recording that is played back, which arrives faster than it was recorded."""
        parts = [part for part in self._parts if len(part)]
        recorded = float(parts[-1].time_s[-1] - parts[0].time_s[0]) if parts else 0.0
        return max(time.monotonic() - self.started, recorded)

    def take(self, patience_s: float = 0.1) -> None:
        """Read the samples that have arrived, for at most ``patience_s``."""
        end = time.monotonic() + patience_s
        for part in self._meter.samples(0.001):
            self._parts.append(part)
            if time.monotonic() > end:
                break

    def trace_so_far(self) -> Trace | None:
        """Return the samples that have arrived; None if there are too few, because the meter keeps its samples until
        the end, or until their times are known."""
        self.take(2.0)
        return join(self._parts) if sum(map(len, self._parts)) >= MIN_SAMPLES else None

    def stop(self) -> Trace:
        """Stop the meter and return the complete recording."""
        return self._meter.stop()


def _stop_condition(
    config: MeasurementConfig, recording: Recording, *, board: Board, tick_hz: int, progress: Progress
) -> Callable[[InferenceLog], bool]:
    """Return a function that returns whether to stop: after the requested number of inferences or the requested time,
    or without such a request, when the current shows enough windows."""
    target = config.inferences or MIN_WINDOWS
    goal = min(target, MIN_WINDOWS)
    patience = DEFAULT_S if config.inferences else PATIENCE_S
    min_s = config.duration_s if config.duration_s is not None else (0.0 if config.inferences else DEFAULT_S)
    last_search = 0.0

    def is_done(log: InferenceLog) -> bool:
        nonlocal last_search
        recording.take()
        now = recording.seconds
        total = max(min_s, 1e-3)
        if config.inferences:
            progress("run", min(len(log.events), target), target)
        else:
            progress("run", round(10 * min(now, total)), round(10 * total))
        if now < min_s or len(log.events) < target:
            return False
        if config.duration_s is not None or now >= patience:
            return True
        if now - last_search < _SEARCH_INTERVAL_S and last_search:
            return False
        last_search = now
        trace = recording.trace_so_far()
        if trace is None:
            return True
        with suppress(DeviceError):
            return len(_find_windows(trace, log, config, board, tick_hz).spans) >= goal
        return False

    return is_done


def _find_windows(
    trace: Trace, log: InferenceLog, config: MeasurementConfig, board: Board, tick_hz: int
) -> InferenceWindows:
    """Return the windows of the inferences in ``trace``. The times of the log are converted to seconds since the start
    of the recording. Only a real board's clock gives the duration of an inference."""
    started = trace.started_s
    origin = started if started is not None else (log.events[0][0] if log.events else 0.0)
    events = [(a - origin, b - origin) for a, b in log.events]
    duration = None
    if config.build.stream_input:
        # The mark is high during each row only, and the counter stops while the device waits for the next row.
        trace = replace(trace, marks=None)
    elif not board.emulated and tick_hz and log.ticks:
        duration = float(np.median(log.ticks)) / tick_hz
        # The answer arrives late by the delay of the connection, so the device's own count gives the end.
        events = [(a, a + ticks / tick_hz) for (a, _), ticks in zip(events, log.ticks, strict=True)]
    return find_windows(
        trace,
        bit=config.bit,
        events=events,
        duration_s=duration,
        offset_s=None if started is None else 0.0,
    )


def _notes(board: Board, log: InferenceLog, result: EnergyResult, config: MeasurementConfig) -> list[str]:
    notes = []
    if config.build.stream_input:
        notes.append(
            "the input comes in rows: an inference lasts from its first byte to the answer, waiting"
            " for the serial port included"
        )
    if board.emulated:
        notes.append(
            f"{board.name} is emulated and draws no current: the figures are those of the circuit that the meter"
            " is connected to"
        )
    window_count = len(result.windows.spans)
    if window_count != len(log.events):
        notes.append(f"the board ran {len(log.events)} inferences, the recording shows {window_count}")
    if len(result.energy_uj) < MIN_WINDOWS:
        notes.append(
            f"the recording shows only {len(result.energy_uj)} inferences: record for longer with"
            " --duration for a reliable median"
        )
    if log.exact != len(log.events):
        notes.append(
            f"{len(log.events) - log.exact} of {len(log.events)} outputs differ from LiteRT's reference kernels"
        )
    return notes
