"""Count the instructions of layers that run row by row, in random networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.sizes.layer_work import layer_work
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.profiles.board import Board
from benchmarks.app_instructions.random_networks import random_network

#: Instructions of a row that the firmware of a bench takes more than an application, because it counts the time of each
#: layer. They are counted in the disassembly, and equal on Cortex-M3, M4 and M7.
ROW_CALL = 20


def measure_rows(board: Board, seed: int, folder: Path) -> list[tuple[str, Mapping[str, float], float]]:
    """Return (kernel, work, instructions) of the streamed layers of a random network on ``board``."""
    path = folder / f"network{seed}.tflite"
    path.write_bytes(to_flatbuffer(random_network(seed)))
    prepared, options = prepare(path), BuildOptions(optimise="balanced", stream_input=True)
    inputs = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    result = bench(
        prepared, board, random_samples(inputs, 1), BenchConfig(build=options, cycles=False), lambda *_: None
    )
    generated = generate_project(prepared, board, folder / f"network{seed}", options).generated
    rows: list[tuple[str, Mapping[str, float], float]] = []
    for layer, row in zip(generated.layers, result.layers, strict=True):
        work = layer_work(generated, layer) if layer.streamed else None
        if work is not None and layer.call is not None:
            rows.append((layer.call.kernel, work, float(row["instructions"]) - ROW_CALL * work["call"]))
    return rows
