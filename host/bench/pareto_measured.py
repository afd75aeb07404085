"""Measured figures for the builds of ``arenite pareto --measure``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.pareto import Build
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import Board


def measure_build(sample_count: int) -> Callable[[Prepared, Board, Build], Build]:
    """A function that benches a build on ``sample_count`` random inputs and returns it with the measured figures.

    The instructions of a build for two cores stay an estimate: the critical path of the instructions counted on each
    core. The function raises what ``bench`` raises.
    """

    def measure(prepared: Prepared, board: Board, estimated: Build) -> Build:
        tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
        options = BenchConfig(estimated.optimise, stream_input=estimated.stream_input, cycles=board.cores > 1)
        result = bench(prepared, board, random_samples(tensors, sample_count), options, lambda *_: None)
        two = result.get("two_cores")
        return replace(
            estimated,
            ram=result["memory"]["ram_total"],
            flash=result["flash"]["total"],
            instructions=two["critical_path"]["instructions"]
            if two
            else result["inference"]["instructions"]["p50"],
            kind="estimated" if two else "measured",
            bit_exact=result["samples"]["bit_exact"] == result["samples"]["count"],
        )

    return measure
