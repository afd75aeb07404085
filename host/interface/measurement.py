"""``bench`` and ``energy``: measure a model on a real or an emulated board."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.trees import has_trees
from arenite.converters.processing.media_files import PICTURE_SUFFIXES, SOUND_SUFFIXES
from arenite.converters.processing.motion_files import MOTION_SUFFIXES
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.devices.run_samples import RunConfig
from arenite.host.bench.result import BenchResult
from arenite.host.bench.rtl_cycles import DEFAULT_SAMPLES as RTL_SAMPLES
from arenite.host.bench.run import BenchConfig
from arenite.host.bench.run import bench as run_bench
from arenite.host.bench.sample_files import file_samples
from arenite.host.bench.samples import (
    Samples,
    load_samples,
    random_samples,
    random_tree_samples,
    samples_of_arrays,
)
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.emulator.rtl.machine import WaitStates
from arenite.host.energy.energy_record import board_record
from arenite.host.energy.estimate import estimate_energy
from arenite.host.energy.measure import MeasurementConfig, measure_board
from arenite.host.energy.meter_choice import MeterChoice
from arenite.host.interface.model import Model, prepared_model
from arenite.profiles.boards import load_board

#: The path of a file (.npz, picture, WAV) or of a folder of files; or arrays by their names in an .npz file: x (or x0,
#: x1, ... for several inputs) and y.
SampleData = str | Path | Mapping[str, np.ndarray]

#: The number of random inputs for a bench without data, and for an energy measurement without data.
DEFAULT_SAMPLES, ENERGY_SAMPLES = 10, 5


def bench(
    model: Model | str | Path,
    board: str,
    data: SampleData | None = None,
    *,
    samples: int | None = None,
    build: BuildOptions = DEFAULT_BUILD,
    port: str | Sequence[str] = (),
    copies: int = 1,
    stateful: bool = False,
    cycles: bool | None = None,
    resume: bool | None = None,
    wait_s: float = 0.0,
    keep: str | Path | None = None,
    emulator: str | None = None,
    flash_wait: int | None = None,
    ram_wait: int | None = None,
    report: Callable[[str], None] = lambda text: None,
    progress: Progress = lambda *_: None,
) -> BenchResult:
    """Generate and build firmware, run it on a board or in an emulator, send every sample to it, and compare every
    output byte with LiteRT's reference kernels.

    Args:
        model: a loaded model, or the path of a model.
        board: the name of a board of ``arenite.boards()``; ``qemu_*`` boards are emulated, ``rtl_*`` boards are
            simulated from the RTL of their core.
        data: samples with the shape and type of the model's inputs; None: random samples.
        samples: the number of samples; None: 10 random samples (1 on an ``rtl_*`` board), or all samples of ``data``.
        build: the options of the build.
        port: the serial port of a real board, or "auto". With several ports, the boards share the samples.
        copies: the number of emulators that share the samples.
        stateful: do not reset the state of the model between samples.
        cycles: estimate cycles by counting instructions by class; None: do so if it is possible.
        resume: continue an earlier run that was interrupted; None: do so only with 50 or more samples.
        wait_s: the number of seconds to wait for a board that disconnects.
        keep: write the generated project to this folder and keep it. None: use a temporary folder.
        emulator: ``qemu`` or ``unicorn``; None: QEMU if it is installed, else Unicorn.
        flash_wait: the wait states of the flash of an ``rtl_*`` board, 0 to 3 cycles per access; None: 0.
        ram_wait: the same of the RAM.
        report: a function that is called with messages about devices that fail or are connected again.
        progress: a function that is called as ``progress(step, done, total)``.

    Raises:
        DoesNotFitError: the board is too small.
        UsageError, ModelError, ProfileError: options, data, model or board are not valid.
        ToolError, DeviceError: the build, the emulator or the device failed.
    """
    prepared, profile = prepared_model(model, passes=build.passes), load_board(board)
    has_waits = flash_wait is not None or ram_wait is not None
    config = BenchConfig(
        build,
        stateful=stateful,
        keep=None if keep is None else Path(keep),
        cycles=cycles,
        emulator=emulator,
        waits=WaitStates(flash_wait or 0, ram_wait or 0) if has_waits else None,
        run_config=RunConfig(
            (port,) if isinstance(port, str) else tuple(port),
            copies,
            resume,
            wait_s,
            report=report,
        ),
    )
    default = DEFAULT_SAMPLES if profile.rtl is None else RTL_SAMPLES
    return run_bench(prepared, profile, model_samples(prepared, data, samples, default), config, progress)


def model_samples(
    prepared: Prepared, data: SampleData | None, count: int | None, default: int = DEFAULT_SAMPLES
) -> Samples:
    """Return at most ``count`` samples of ``data`` (None: all). Without ``data``, return ``count`` random samples
    (None: ``default``). Raises ``UsageError`` for data of another shape or type."""
    graph = prepared.model.main
    tensors = [graph.tensors[i] for i in graph.inputs]
    if data is None:
        if has_trees(prepared.model):
            return random_tree_samples(graph, count or default)
        return random_samples(tensors, count or default, index_limits(graph))
    if isinstance(data, Mapping):
        return samples_of_arrays(data, tensors, count)
    path = Path(data)
    suffix = path.suffix.lower()
    is_recording = suffix in (*PICTURE_SUFFIXES, *SOUND_SUFFIXES, *MOTION_SUFFIXES) and suffix != ".npz"
    if path.is_dir() or is_recording:  # an .npz file has arrays of whole inputs
        return file_samples(path, tensors, prepared.extra, count)
    return load_samples(path, tensors, count)


@dataclass(frozen=True)
class EnergyReport:
    """The energy of one inference.

    ``median_uj`` is the median in microjoules. ``kind`` is "measured", "estimated" or "assumed". ``record`` is the
    complete ``arenite.energy/1`` object.
    """

    median_uj: float
    kind: str
    record: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.energy/1``."""
        return dict(self.record)


def energy(
    model: Model | str | Path,
    board: str,
    *,
    meter: str | None = None,
    meter_port: str = "auto",
    port: str | None = None,
    data: SampleData | None = None,
    build: BuildOptions = DEFAULT_BUILD,
    supply_v: float | None = None,
    own_supply: bool = False,
    inferences: int | None = None,
    duration_s: float | None = None,
    progress: Progress = lambda *_: None,
) -> EnergyReport:
    """Measure the energy of one inference with a meter. Without a meter, estimate it.

    Args:
        model: a loaded model, or the path of a model.
        board: the name of a board of ``arenite.boards()``.
        meter: the kind of meter, such as ``ppk2``; None: estimate the energy from the number of instructions and the
            board's profile.
        meter_port: the serial port of the meter, or "auto".
        port: the serial port of a real board.
        data: samples; None: random samples.
        build: the options of the build. ``build.mark`` is the name of a pin that is high during an inference.
        supply_v: the supply voltage in volts; None: the voltage in the board's profile.
        own_supply: the board has its own power supply, so the meter only measures.
        inferences: the number of inferences to record; None: record until there are enough.
        duration_s: the number of seconds to record; None: record until there are enough inferences.
        progress: a function that is called as ``progress(step, done, total)``.

    Raises:
        DoesNotFitError, UsageError, ModelError, ProfileError, ToolError, DeviceError: for the same reasons as in
            ``bench``, and also if no meter is found, or the recording contains no inference.
    """
    prepared, chosen = prepared_model(model, passes=build.passes), load_board(board)
    samples = model_samples(prepared, data, None, ENERGY_SAMPLES)
    if meter is None:
        record = estimate_energy(prepared, chosen, build, samples=samples, progress=progress)
    else:
        supply = supply_v or chosen.supply_v
        instrument, meter_address = MeterChoice(meter, meter_port, supply, own_supply, None).make()
        config = MeasurementConfig(samples, build, port, inferences, duration_s)
        measured = measure_board(prepared, chosen, instrument, config, progress)
        record = board_record(measured, chosen, prepared, meter_address)
    return energy_report(record)


def energy_report(record: Mapping[str, Any]) -> EnergyReport:
    """Return the report of an ``arenite.energy/1`` object."""
    figure = record["energy_uj_per_inference"]
    return EnergyReport(figure["median"], figure["kind"], record)
