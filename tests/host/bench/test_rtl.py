"""Firmware on simulated cores: every output byte is right, instructions equal QEMU's, and cycles are plausible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import ToolError, UsageError
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.emulator.rtl.cores import rtl_core
from arenite.host.emulator.rtl.machine import WaitStates, start_rtl
from arenite.host.emulator.rtl.simulator import simulator
from arenite.profiles.boards import load_board
from tests.host.emulator.rtl.verilator import needs_verilator
from tests.host.small_graphs import classifier, save

pytestmark = [pytest.mark.slow, pytest.mark.qemu, needs_verilator]
#: The maximum number of cycles around a layer.
CALL_CYCLES = 80


def run(
    prepared: Prepared, board: str, *, count: int = 2, timing: str = "", **options: Any
) -> tuple[dict[str, Any], list[str]]:
    """Bench ``count`` random samples. Return the result as JSON, and each progress message as text. ``timing`` is the
    timing table for an estimate, or "" for that of the board's core."""
    steps: list[str] = []
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    result = bench(
        prepared,
        replace(load_board(board), timing=timing),
        random_samples(tensors, count),
        BenchConfig(**options),
        lambda step, done, total: steps.append(f"{step} {done}/{total}"),
    ).to_json()
    return result, steps


@pytest.mark.parametrize(
    ("board", "optimise"),
    [("rtl_cv32e40p", "speed"), ("rtl_ibex", "ram"), ("rtl_ibex_small", "speed")],
)
def test_a_small_model_on_a_simulated_core(board: str, optimise: str, tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    build = BuildOptions(optimise)
    emulated, _ = run(prepared, "qemu_riscv32", build=build, cycles=False)
    simulated, steps = run(prepared, board, build=build)
    assert simulated["samples"]["bit_exact"] == 2
    assert simulated["build"]["firmware_sha256"] == emulated["build"]["firmware_sha256"]
    assert simulated["inference"]["instructions"] == emulated["inference"]["instructions"]
    assert "simulate 1000/1000" in steps
    cycles, layers = simulated["inference"]["cycles"], simulated["layers"]
    assert cycles["kind"] == "measured"
    for layer, other in zip(layers, emulated["layers"], strict=True):
        assert layer["instructions"] == other["instructions"]
        assert layer["instructions"] <= layer["cycles"] <= 3 * layer["instructions"]
    # Both samples take nearly the same time, so the medians of the layers add up to nearly that of the inference.
    assert sum(layer["cycles"] for layer in layers) == pytest.approx(cycles["p50"], rel=0.02)


@pytest.mark.parametrize("board", ["rtl_cv32e40p", "rtl_ibex", "rtl_ibex_small"])
def test_the_estimate_is_near_the_measured_cycles(board: str, tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    build = BuildOptions("speed")
    timing = load_board(board).timing
    estimated, _ = run(prepared, "qemu_riscv32", count=1, timing=timing, build=build, cycles=True)
    measured, _ = run(prepared, board, count=1, build=build)
    totals = [r["inference"]["cycles"]["p50"] for r in (estimated, measured)]
    assert totals[0] == pytest.approx(totals[1], rel=0.01)
    for m, e in zip(measured["layers"], estimated["layers"], strict=True):
        # The estimate has neither the call of the layer nor the reads of the counter around it.
        assert 0 <= m["cycles"] - e["cycles"] <= CALL_CYCLES + 0.01 * m["cycles"]


def test_wait_states_cost_cycles_and_no_instructions(tmp_path: Path) -> None:
    prepared = prepare(save(classifier(), tmp_path / "m.tflite"))
    waits = [WaitStates(), WaitStates(flash=1), WaitStates(flash=3), WaitStates(flash=3, ram=2)]
    results = [run(prepared, "rtl_ibex", waits=w)[0] for w in waits]
    assert {r["samples"]["bit_exact"] for r in results} == {2}
    assert len({r["inference"]["instructions"]["p50"] for r in results}) == 1
    cycles = [r["inference"]["cycles"]["p50"] for r in results]
    assert cycles == sorted(set(cycles))
    facts = results[-1]["build"]["rtl"]
    assert (facts["core"], facts["flash_wait"], facts["ram_wait"]) == ("ibex", 3, 2)


def test_a_file_that_is_not_a_firmware_does_not_start(tmp_path: Path) -> None:
    program = simulator(rtl_core("cv32e40p"))
    assert simulator(rtl_core("cv32e40p")) == program  # built once
    elf = tmp_path / "firmware.elf"
    board, log = load_board("rtl_cv32e40p"), tmp_path / "simulation.log"
    with pytest.raises(UsageError, match="does not exist"), start_rtl(program, board, elf, log, WaitStates()):
        pass
    elf.write_text("text")
    with pytest.raises(ToolError, match="not an ELF file"), start_rtl(program, board, elf, log, WaitStates()):
        pass
