"""Run MLPerf Tiny with one command: build the monitor firmware, start it, run a mode by the rules, and write the
results.

The result is an ``arenite.mlperf/1`` object. The device's outputs are compared with the outputs of LiteRT's reference
kernels byte by byte.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arenite.errors import UsageError
from arenite.files import cache_directory
from arenite.firmware.generator.features import ENERGY
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.devices.journal import Journal, data_hash, project_hash
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import open_device, project_folder
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import generate_project
from arenite.host.flash.build import build
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.mlperf.accuracy import run_accuracy
from arenite.host.mlperf.config import MlperfConfig
from arenite.host.mlperf.energy import run_energy
from arenite.host.mlperf.energy_folder import Draw
from arenite.host.mlperf.energy_monitor import EnergyMonitor
from arenite.host.mlperf.performance import run_performance
from arenite.profiles.boards import Board


def run_mlperf(
    prepared: Prepared, board: Board, config: MlperfConfig, progress: Progress, draw: Draw | None = None
) -> dict[str, Any]:
    """Run the mode of ``config`` on ``board``, and return the ``arenite.mlperf/1`` object. ``progress(step, done,
    total)`` is called during the run.

    ``draw`` returns the picture of a window of the energy mode; if it is None, there are no pictures. Raises
    ``UsageError`` for a configuration that cannot run, ``DoesNotFitError`` if the board is too small, and ``ToolError``
    or ``DeviceError`` for a failure of the build or of the device. Answers of the accuracy mode that arrived before a
    failure are stored, and a later run continues there.
    """
    if config.mode == "energy" and config.meter is None:
        raise UsageError(
            "The energy mode needs a meter.",
            "Give one, for example --meter ppk2 --meter-port /dev/ttyACM0. Without a meter, `arenite energy`"
            " gives an estimate.",
        )
    labels = config.samples.labels
    if config.mode == "accuracy" and labels is None:
        raise UsageError("The accuracy mode needs labels.", "Add an array y besides x to --data FILE.npz.")
    if (
        config.mode == "accuracy"
        and labels is not None
        and (labels.ndim != 1 or labels.dtype.kind not in "iu")
    ):
        raise UsageError(
            f"y has shape {labels.shape} and type {labels.dtype}.", "Write one class number for each sample."
        )
    if not board.emulated and config.port is None:
        raise UsageError(
            f"{board.name} is a real board.", "Give its serial port: --port auto, or --port NAME."
        )
    # The official runner chooses its script by the model's name.
    named = replace(
        prepared, path=prepared.path.with_name(config.task.name + prepared.path.suffix), _by_target={}
    )
    with project_folder(None) as folder:
        uses_pin = config.mode == "energy" and config.mark is not None
        project = generate_project(
            named,
            board,
            folder,
            BuildOptions(
                config.optimise,
                protocol=ENERGY if uses_pin else "mlperf",
                mark=config.mark if uses_pin else None,
            ),
        )
        progress("build", 0, 1)
        elf = build(folder)
        firmware = project_hash(folder)
        reference = Reference(prepared.reference)
        inputs = [b"".join(np.ascontiguousarray(v).tobytes() for v in s) for s in config.samples.inputs]
        if config.mode == "energy":
            assert config.meter is not None
            # The meter is opened first, because it may supply the board.
            with config.meter as meter, open_device(project, elf, config.port) as transport:
                monitor = EnergyMonitor(transport, timeout_s=30.0, infer_timeout_s=600.0)
                monitor.connect()
                body = run_energy(project, monitor, meter, config, inputs, reference, progress, draw)
        elif config.mode == "performance":
            with open_device(project, elf, config.port) as transport:
                client = MonitorClient(transport, infer_timeout_s=600.0)
                client.connect()
                body = run_performance(project, client, config, inputs, reference, progress)
        else:
            key = {
                "image": project.generated.sha256.hex(),
                "firmware": firmware,
                "data": data_hash(config.samples),
                "board": board.name,
                "protocol": "mlperf",
            }
            journals = config.journals or cache_directory() / "runs"
            with Journal(journals, key, resume=config.resume) as journal:
                body = run_accuracy(project, elf, config, inputs, reference, journal, progress)
    return {
        "schema": "arenite.mlperf/1",
        "task": config.task.name,
        "mode": config.mode,
        **body,
        "model": {"path": str(prepared.path), "sha256": prepared.sha256},
        "board": {"name": board.name, "core": board.core, "emulated": board.emulated},
        "optimise": project.optimise,
        "folder": str(config.folder(board)),
        "notes": [*_notes(config, board, project.generated), *body.get("notes", [])],
    }


def _notes(config: MlperfConfig, board: Board, generated: Generated) -> list[str]:
    """Return one sentence for each reason why the result does not follow the rules."""
    task, graph = config.task, generated.model.main
    sizes = tuple(int(np.prod(graph.tensors[t[0]].shape)) for t in (graph.inputs, graph.outputs))
    notes = []
    if board.emulated and config.mode != "energy":
        notes.append(
            "The time of an emulated board is virtual, so figures are instructions, not milliseconds."
        )
    if sizes != task.elements:
        notes.append(
            f"{task.name}'s reference model takes {task.elements[0]} numbers and gives {task.elements[1]}. This model"
            f" takes {sizes[0]} and gives {sizes[1]}, so the result fits at best the open division."
        )
    sample_count = len(config.samples) if config.recordings is None else len(np.unique(config.recordings))
    if config.mode == "accuracy" and task.samples is not None and sample_count != task.samples:
        notes.append(
            f"The rules require all {task.samples} samples of the official set, but the data has {sample_count}."
        )
    if task.floor is None and config.mode == "accuracy":
        notes.append(
            "The rules score sww01 on a stream, by at most 8 false positives and 8 false negatives."
            " This is the accuracy of single windows, for which there is no minimum."
        )
    return notes
