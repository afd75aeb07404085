"""Measure the builds of ``arenite pareto --measure``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arenite.converters.graph.index_limits import index_limits
from arenite.firmware.boards.toolchains import GCC
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.pareto import Build
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import Board


def measure_build(sample_count: int) -> Callable[[Prepared, Board, Build], Build]:
    """Return a function that runs a build on ``sample_count`` random inputs. It returns the build with the measured
    figures in place of the estimated ones, and raises the errors of ``bench``.

    For a build for two cores, the instructions are an estimate: the critical path of the instructions counted on each
    core.
    """

    def measure(prepared: Prepared, board: Board, estimated: Build) -> Build:
        graph = prepared.model.main
        tensors = [graph.tensors[i] for i in graph.inputs]
        build = BuildOptions(estimated.optimise, stream_input=estimated.stream_input, toolchain=GCC)
        config = BenchConfig(build, cycles=board.cores > 1)
        samples = random_samples(tensors, sample_count, index_limits(graph))
        result = bench(prepared, board, samples, config, lambda *_: None)
        if result.two_cores is not None:
            instructions = result.two_cores["critical_path"]["instructions"]
        else:
            # Only emulated boards are measured, and these count instructions.
            assert result.instructions is not None
            instructions = int(result.instructions.p50)
        return replace(
            estimated,
            ram=result.memory.ram_total,
            flash=result.flash.total,
            instructions=instructions,
            kind="measured" if result.two_cores is None else "estimated",
            bit_exact=result.bit_exact,
        )

    return measure
