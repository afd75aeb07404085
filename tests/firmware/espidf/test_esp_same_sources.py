"""The sources of an ESP32 project run in an emulator of the same kind of core and give LiteRT's bytes."""

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

#: (real board, emulated board that runs its sources).
PAIRS = [
    ("esp32-c3-devkitm-1", "qemu_riscv32"),
    ("esp32-c6-devkitc-1", "qemu_riscv32"),
    ("esp32-p4-evboard", "qemu_riscv32"),
    ("esp32dev", "qemu_xtensa_lx106"),
    ("esp32-s2-saola-1", "qemu_xtensa_lx106"),
    ("esp32-s3-devkitc-1", "qemu_xtensa_lx106"),
]


def sources(project: Path) -> dict[str, bytes]:
    """Return the sources of the model: its layers, constants, kernels and protocol. Omit the ports, and main.c, which
    contains the board's name."""
    files = [*project.glob("src/*.[ch]"), *project.glob("lib/arenite/*"), *project.glob("lib/agent/*")]
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in files
        if path.name != "main.c" and not path.name.startswith("port_")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("real", "emulated"), PAIRS)
@pytest.mark.parametrize("optimise", ["speed", "ram", "flash"])
def test_the_sources_are_the_same_for_both_boards(
    real: str, emulated: str, optimise: str, tmp_path: Path
) -> None:
    prepared = prepare(shared_model("kws01_int8"))
    for name in (real, emulated):
        generate_project(prepared, load_board(name), tmp_path / name, BuildOptions(optimise, cores=1))
    real_sources, emulated_sources = sources(tmp_path / real), sources(tmp_path / emulated)
    assert real_sources == emulated_sources
    assert {"src/model.c", "src/weights.c", "lib/agent/agent.c"} < set(real_sources)
    assert any(name.startswith("lib/arenite/conv_2d") for name in real_sources)


def test_the_sources_for_two_cores_are_the_same(tmp_path: Path) -> None:
    """The sources for both boards differ only in the second core's port and in the size of its stack."""
    prepared = prepare(shared_model("kws01_int8"))
    for name in ("esp32-p4-evboard", "qemu_riscv32_smp2"):
        generate_project(prepared, load_board(name), tmp_path / name, BuildOptions("speed"))
    real_sources, emulated_sources = (
        sources(tmp_path / "esp32-p4-evboard"),
        sources(tmp_path / "qemu_riscv32_smp2"),
    )
    assert b"parallel.h" in real_sources["src/model.c"]
    assert {name for name in real_sources if real_sources[name] != emulated_sources.get(name)} == {
        *("lib/agent/parallel_freertos.c", "lib/agent/mailbox.h", "lib/agent/second_core.h"),
        "lib/agent/firmware_features.h",
    }


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("real", "emulated"), [PAIRS[0], PAIRS[3]])
def test_the_sources_give_the_bytes_of_litert(real: str, emulated: str, tmp_path: Path) -> None:
    """The C files of the ESP32 project, except its ports and main.c, replace those of the project for the emulated
    board."""
    prepared = prepare(shared_model("ad01_int8"))
    generated = generate_project(prepared, load_board(real), tmp_path / real, BuildOptions("speed", cores=1))
    generate_project(prepared, load_board(emulated), tmp_path / emulated, BuildOptions("speed"))
    for name, data in sources(tmp_path / real).items():
        (tmp_path / emulated / name).write_bytes(data)
    reference = Reference(prepared.reference)
    graph = generated.generated.model.main
    rng = np.random.default_rng(0)
    with start(load_board(emulated), direct_build(tmp_path / emulated)) as machine:
        device = DeviceClient(machine.transport)
        device.connect(generated.generated.sha256[:8])
        for _ in range(3):
            inputs = [random_input(graph.tensors[i], rng) for i in graph.inputs]
            expected = reference.run(inputs)
            for index, value in enumerate(inputs):
                device.write_input(index, value.tobytes())
            device.infer()
            assert device.read_output(0, expected[0].nbytes) == expected[0].tobytes()
