"""The very sources of an ESP32's project run here, in an emulator of its kind of core, and give LiteRT's bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.host.bench.reference import Reference
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import load_board
from tests.development_models import shared_model
from tests.fuzz.comparison import random_input

#: A real board, and the emulated one that runs its sources.
PAIRS = [
    ("esp32-c3-devkitm-1", "qemu_riscv32"),
    ("esp32-c6-devkitc-1", "qemu_riscv32"),
    ("esp32-p4-evboard", "qemu_riscv32"),
    ("esp32dev", "qemu_xtensa_lx106"),
    ("esp32-s2-saola-1", "qemu_xtensa_lx106"),
    ("esp32-s3-devkitc-1", "qemu_xtensa_lx106"),
]


def sources(project: Path) -> dict[str, bytes]:
    """What is the model's: its layers, its constants, the kernels, the protocol. Not main.c, which has the board's
    name, and not the ports."""
    files = [*project.glob("src/*.[ch]"), *project.glob("lib/arenite/*"), *project.glob("lib/agent/*")]
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in files
        if path.name != "main.c" and not path.name.startswith("port_")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("real", "emulated"), PAIRS)
@pytest.mark.parametrize("optimise", ["speed", "ram", "flash"])
def test_they_are_the_same_bytes(real: str, emulated: str, optimise: str, tmp_path: Path) -> None:
    prepared = prepare(shared_model("kws01_int8"))
    for name in (real, emulated):
        generate_project(prepared, load_board(name), tmp_path / name, BuildOptions(optimise, cores=1))
    ours, theirs = sources(tmp_path / real), sources(tmp_path / emulated)
    assert ours == theirs
    assert {"src/model.c", "src/weights.c", "lib/agent/agent.c"} < set(ours)
    assert any(name.startswith("lib/arenite/conv_2d") for name in ours)


def test_so_are_those_for_two_cores(tmp_path: Path) -> None:
    """But for the port of the second core, and what the features say of its stack."""
    prepared = prepare(shared_model("kws01_int8"))
    for name in ("esp32-p4-evboard", "qemu_riscv32_smp2"):
        generate_project(prepared, load_board(name), tmp_path / name, BuildOptions("speed"))
    ours, theirs = sources(tmp_path / "esp32-p4-evboard"), sources(tmp_path / "qemu_riscv32_smp2")
    assert b"parallel.h" in ours["src/model.c"]
    assert {name for name in ours if ours[name] != theirs.get(name)} == {
        *("lib/agent/parallel_freertos.c", "lib/agent/mailbox.h", "lib/agent/second_core.h"),
        "lib/agent/firmware_features.h",
    }


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("real", "emulated"), [PAIRS[0], PAIRS[3]])
def test_and_they_give_the_bytes_of_litert(real: str, emulated: str, tmp_path: Path) -> None:
    """Every C file that the ESP32's project shares with the emulated board is taken from the ESP32's project."""
    prepared = prepare(shared_model("ad01_int8"))
    made = generate_project(prepared, load_board(real), tmp_path / real, BuildOptions("speed", cores=1))
    generate_project(prepared, load_board(emulated), tmp_path / emulated, BuildOptions("speed"))
    for name, data in sources(tmp_path / real).items():
        (tmp_path / emulated / name).write_bytes(data)
    reference = Reference(prepared.reference)
    graph = made.generated.model.main
    rng = np.random.default_rng(0)
    with start(load_board(emulated), direct_build(tmp_path / emulated)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(made.generated.sha256[:8])
        for _ in range(3):
            inputs = [random_input(graph.tensors[i], rng) for i in graph.inputs]
            expected = reference.run(inputs)
            for index, value in enumerate(inputs):
                device.write_input(index, value.tobytes())
            device.infer()
            assert device.read_output(0, expected[0].nbytes) == expected[0].tobytes()
