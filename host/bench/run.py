"""The bench: generate, build, flash or start, feed every sample, check every byte, and report.

The result is ``arenite.bench/1``. On an emulated board a figure called instructions is counted exactly by the
emulator's clock; on a real board the same ticks are microseconds. Cycles are estimated from instructions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.errors import DeviceError
from arenite.converters.graph import DTYPES
from arenite.firmware.boards.cores import cpi_of
from arenite.host.bench.elf import read_elf
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples, accuracy
from arenite.host.emulator.machine import start
from arenite.host.flash.build import build
from arenite.host.link.client import DeviceClient, DeviceMemory
from arenite.host.link.transport import SerialTransport, Transport
from arenite.host.prepare import Prepared
from arenite.host.project import Project, generate_project
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class Options:
    optimise: str = "balanced"
    protocol: str = "arenite"
    port: str | None = None
    stateful: bool = False  # keep state carried between inferences from one sample to the next
    keep: Path | None = None  # leave the project here


@dataclass(frozen=True)
class Measured:
    """What the device gave: outputs per sample, ticks of each inference, of the layers and before the first."""

    outputs: list[list[np.ndarray]]
    ticks: list[int]
    init_ticks: list[int]
    layer_ticks: list[tuple[int, ...]]
    memory: DeviceMemory
    tick_hz: int


def bench(
    prepared: Prepared, board: Board, samples: Samples, options: Options, progress: Any
) -> dict[str, Any]:
    """Measure ``prepared`` on ``board``. ``progress(step, done, total)`` is told what happens.

    Raises ``DoesNotFitError`` before anything is built, ``ToolError`` and ``DeviceError`` for what fails later.
    """
    with _folder(options.keep) as folder:
        project = generate_project(prepared, board, folder, optimise=options.optimise)
        progress("build", 0, 1)
        elf = build(folder)
        with _transport(project, elf, options.port) as line:
            measured = measure(line, project, samples, options.stateful, progress)
        sizes = read_elf(elf)
    progress("check", 0, len(samples))
    reference = Reference(prepared.image)
    exact, worst = 0, 0
    for k, (inputs, got) in enumerate(zip(samples.inputs, measured.outputs, strict=True)):
        want = reference.run(inputs, reset=k == 0 or not options.stateful)
        exact += all(a.tobytes() == b.tobytes() for a, b in zip(want, got, strict=True))
        worst = max(worst, *(_difference(a, b) for a, b in zip(want, got, strict=True)))
        progress("check", k + 1, len(samples))
    return _report(prepared, project, samples, measured, sizes, exact, worst)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="arenite-") as made:
            yield Path(made) / "project"


@contextmanager
def _transport(project: Project, elf: Path, port: str | None) -> Iterator[Transport]:
    """An open line to the device that runs ``elf``."""
    if project.board.emulated:
        with start(project.board, elf) as machine:
            yield machine.transport
        return
    if port is None:
        raise DeviceError(f"{project.board.name} is a real board.", "Name its serial port with --port.")
    from arenite.host.flash.flash import flash

    flash(project.directory, project.board, port)
    line = SerialTransport(port, project.board.uart.baud)
    try:
        yield line
    finally:
        line.close()


def measure(line: Transport, project: Project, samples: Samples, stateful: bool, progress: Any) -> Measured:
    """Feed every sample to the device."""
    generated = project.generated
    client = DeviceClient(line)
    info = client.connect(generated.sha256)
    graph = generated.model.main
    results, ticks, init, layers = [], [], [], []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        for position, value in enumerate(inputs):
            client.write_input(position, np.ascontiguousarray(value).tobytes())
        run = client.infer(fresh=k == 0 or not stateful)
        ticks.append(run.total)
        init.append(run.init)
        layers.append(client.layer_ticks(info.layer_count) if info.layer_count else ())
        outputs = []
        for position, index in enumerate(graph.outputs):
            tensor = graph.tensors[index]
            raw = client.read_output(position, tensor.nbytes)
            outputs.append(np.frombuffer(raw, DTYPES[tensor.dtype]).reshape(tensor.shape))
        results.append(outputs)
    progress("run", len(samples), len(samples))
    memory = client.memory()
    if memory.guards_damaged:
        raise DeviceError(
            f"{memory.guards_damaged} guard words around the arena were overwritten.",
            "This is a bug in a kernel or in the plan: please report it with the model.",
        )
    return Measured(results, ticks, init, layers, memory, info.tick_hz)


def _difference(want: np.ndarray, got: np.ndarray) -> float:
    if want.size == 0:
        return 0
    if want.dtype.kind == "b":
        return int(np.max(want != got))
    delta = np.abs(want.astype(np.float64) - got.astype(np.float64))
    return float(np.nanmax(delta)) if want.dtype.kind == "f" else int(delta.max())


def percentiles(values: Sequence[int]) -> dict[str, int]:
    """Nearest-rank percentiles, so that every figure is one that was measured."""
    ranked = sorted(values)

    def at(share: float) -> int:
        return ranked[max(0, -(-int(share * len(ranked) * 1000) // 1000) - 1)]

    return {"p50": at(0.50), "p95": at(0.95), "p99": at(0.99), "min": ranked[0], "max": ranked[-1]}


def _report(
    prepared: Prepared, project: Project, samples: Samples, m: Measured, sizes: Any, exact: int, worst: float
) -> dict[str, Any]:
    board, p = project.board, project.prediction
    emulator = board.emulator

    def instructions(ticks: int) -> int:
        assert emulator is not None
        return round(ticks * emulator.ticks_denominator / emulator.ticks_numerator)

    counts = percentiles([instructions(t) for t in m.ticks]) if emulator else None
    latency = None
    if emulator is None and m.tick_hz:
        latency = {k: round(v * 1e6 / m.tick_hz, 1) for k, v in percentiles(m.ticks).items()}
    cycles = None
    if counts is not None:
        cycles = {"p50": round(counts["p50"] * cpi_of(board.core)), "kind": "estimated"}
    arena = p.arena
    static = sizes.static
    stack = m.memory.stack_used
    top1 = accuracy([o[0] for o in m.outputs], samples.labels)
    return {
        "schema": "arenite.bench/1",
        "model": {"path": str(prepared.path), "sha256": prepared.sha256, "macs": prepared.macs},
        "board": {"name": board.name, "core": board.core},
        "samples": {"count": len(samples), "bit_exact": exact, "max_abs_diff": worst, "accuracy": top1},
        "inference": {"instructions": counts, "latency_us": latency, "cycles": cycles},
        "init": {"instructions": max(map(instructions, m.init_ticks)) if emulator else None},
        "memory": {
            "arena": sizes.arena,
            "arena_lower_bound": prepared.plan.lower_bound,
            "arena_status": prepared.plan.status,
            "stack": stack,
            "static": static,
            "ram_total": sizes.arena + stack + static,
            "predicted_arena": arena,
            "predicted_stack": p.stack,
            "predicted_static": p.static,
            "predicted_ram_total": p.ram_total,
        },
        "flash": {
            "weights": sizes.weights,
            "code": sizes.code,
            "total": sizes.weights + sizes.code,
            "predicted_weights": p.weights,
            "predicted_code": p.code,
            "predicted_total": p.flash_total,
        },
        "layers": _layers(project, m, instructions if emulator else None),
        "energy": None,
    }


def _layers(project: Project, m: Measured, instructions: Any) -> list[dict[str, Any]]:
    """One entry per operator of the plan; 0 instructions where none were needed."""
    medians = [int(np.median(column)) for column in zip(*m.layer_ticks, strict=True)]
    measured = iter(medians)
    rows = []
    graph = project.generated.model.main
    for layer in project.generated.layers:
        ticks = next(measured) if layer.call is not None else 0
        rows.append(
            {
                "index": layer.index,
                "op": layer.op.name,
                "macs": layer.macs,
                "instructions": instructions(ticks) if instructions else None,
                "ticks": ticks,
                "kernel": layer.call.kernel if layer.call is not None else None,
                "shape": ", ".join("x".join(map(str, t.shape)) for t in graph.out_tensors(layer.op)),
            }
        )
    return rows
