"""Tests of models on two harts of an emulated machine: outputs, sizes, stacks, the counted speed-up, and faults on the
second hart."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.firmware.generator.model_source import model_sources
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import load_board
from tests.development_models import shared_model

BOARD = load_board("qemu_riscv32_smp2")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("qemu-system-riscv32") is None or shutil.which("riscv64-unknown-elf-gcc") is None,
        reason="needs QEMU and a compiler for RISC-V",
    ),
]


def run(prepared: Prepared, options: BenchConfig, samples: int = 2) -> dict:
    """Run a bench of random samples on two harts and return its JSON result."""
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    return bench(prepared, BOARD, random_samples(tensors, samples), options, lambda *_: None).to_json()


@pytest.mark.parametrize(("name", "min_speedup"), [("kws01", 1.9), ("ad01", 1.9)])
def test_two_cores_are_exact_and_nearly_twice_as_fast(name: str, min_speedup: float) -> None:
    prepared = prepare(shared_model(f"{name}_int8"))
    one_core = run(prepared, BenchConfig(BuildOptions("speed", cores=1), cycles=True))
    both_cores = run(prepared, BenchConfig(BuildOptions("speed", cores=2), cycles=True))
    for result in (one_core, both_cores):
        memory, flash = result["memory"], result["flash"]
        assert result["samples"]["bit_exact"] == 2
        assert (memory["arena"], memory["static"]) == (memory["predicted_arena"], memory["predicted_static"])
        assert flash["total"] == flash["predicted_total"]
        assert memory["stack"] <= memory["predicted_stack"]
    assert one_core["two_cores"] is None
    two_cores = both_cores["two_cores"]
    critical = two_cores["critical_path"]["instructions"]
    assert two_cores["critical_path"]["kind"] == two_cores["speedup"]["kind"] == "estimated"
    # Both cores together run at most 2 % more instructions than one core. The core with more instructions runs about
    # half of them.
    one_core_instructions = one_core["inference"]["instructions"]["p50"]
    assert one_core_instructions <= two_cores["work"]["instructions"] <= 1.02 * one_core_instructions
    assert one_core_instructions / critical >= min_speedup
    assert two_cores["speedup"]["value"] <= two_cores["bound"] + 0.01
    assert both_cores["inference"]["cycles"]["p50"] < 0.55 * one_core["inference"]["cycles"]["p50"]


def test_both_harts_work_after_a_restart(tmp_path: Path) -> None:
    """The request RESTART restarts the board between inferences. The outputs stay the same, so the second hart works
    again."""
    prepared = prepare(shared_model("ad01_int8"))
    project = generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed"))
    samples = random_samples(
        [project.generated.model.main.tensors[project.generated.model.main.inputs[0]]], 1
    )
    with start(BOARD, build(tmp_path / "p")) as machine:
        device = DeviceClient(machine.transport)
        answers = []
        for _ in range(3):
            device.hello()
            device.write_input(0, samples.inputs[0][0].tobytes())
            device.infer()
            answers.append(device.read_output(0, 640))  # ad01 has 640 inputs and 640 outputs
            device.restart()
        assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("health", [False, True])
def test_a_fault_on_the_second_hart_restarts_the_board(health: bool, tmp_path: Path) -> None:
    """The second hart reads an address without memory. The first hart, which waits for it, restarts the board and
    reports the cause."""
    prepared = prepare(shared_model("ad01_int8"))
    project = generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed", health=health))
    model = tmp_path / "p" / "src" / "model.c"
    text = model.read_text()
    half = re.search(r"layer_2_half = \{.*?\.input = (AT\(\d+\))", text, re.S)
    assert half is not None
    broken = text[: half.start(1)] + "(const void *)0x200" + text[half.end(1) :]
    model.write_text(broken)
    with start(BOARD, build(tmp_path / "p")) as machine:
        device = DeviceClient(machine.transport)
        device.hello()
        device.write_input(0, bytes(640))
        with pytest.raises(DeviceError):
            device.infer()
        device.hello()
        assert "fault" in device.memory().started_by
        if health:
            report = device.health()
            assert "without memory" in (report.fault or "") and 0x200 <= report.address < 0x200 + 640
            assert report.pc and report.starts == 2
    assert project.prediction.second_core_stack % 16 == 0


@pytest.mark.parametrize(("missing", "damaged"), [(0, False), (128, True)])
def test_an_overflow_of_the_second_stack_is_detected(missing: int, damaged: bool, tmp_path: Path) -> None:
    """The predicted stack is large enough. With 128 bytes less, the last word of the stack's fill pattern is
    overwritten."""
    prepared = prepare(shared_model("kws01_int8"))
    generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed"))
    features = tmp_path / "p" / "lib" / "agent" / "firmware_features.h"
    header = features.read_text()
    size = int(re.findall(r"AR_SECOND_STACK (\d+)", header)[0])
    features.write_text(header.replace(f"AR_SECOND_STACK {size}", f"AR_SECOND_STACK {size - missing}"))
    with start(BOARD, build(tmp_path / "p")) as machine:
        device = DeviceClient(machine.transport)
        device.hello()
        device.write_input(0, bytes(490))  # the input of kws01 is 49x10
        device.infer()
        assert (device.memory().guards_damaged > 0) == damaged


def test_a_board_without_a_second_core_raises_an_error(tmp_path: Path) -> None:
    prepared = prepare(shared_model("ad01_int8"))
    with pytest.raises(UsageError, match="no second core"):
        generate_project(prepared, load_board("qemu_riscv32"), tmp_path / "p", BuildOptions(cores=2))


def test_a_build_for_one_core_has_no_code_for_two_cores(tmp_path: Path) -> None:
    """Code that is generated for one core of a board with two cores equals the code for a board with one core."""
    prepared = prepare(shared_model("ad01_int8"))
    single_core_board = generate_project(
        prepared, load_board("qemu_riscv32"), tmp_path / "a", BuildOptions("speed")
    )
    one_core = generate_project(prepared, BOARD, tmp_path / "b", BuildOptions("speed", cores=1))
    assert model_sources(single_core_board.generated) == model_sources(one_core.generated)
    assert "ar_fork" not in model_sources(one_core.generated)["model.c"]
    assert not list((tmp_path / "b").glob("lib/*/parallel_*.c"))
    assert replace(single_core_board.prediction, code=one_core.prediction.code) == one_core.prediction
