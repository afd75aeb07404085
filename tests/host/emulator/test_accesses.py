"""Tests of counting the loads and stores of tensors in the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.firmware.sizes.accesses import accesses_by_layer
from arenite.host.bench.devices.measure import measure
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.accesses import (
    LineAccessCounts,
    accesses_by_tensor,
    arena_addresses,
    count_accesses,
    sum_accesses,
)
from arenite.host.emulator.accesses import _read as read_accesses
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

BOARD = load_board("qemu_mps2_an386")


@pytest.mark.qemu
def test_stores_are_exact_and_loads_agree_with_the_estimate(
    tmp_path: Path,
) -> None:
    prepared = prepare(save(classifier(24, 8), tmp_path / "small.tflite"))
    limit = prepared.plan.arena_bytes // 2
    project = generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed", fast_ram=limit))
    elf = direct_build(tmp_path / "p")
    generated, addresses = project.generated, arena_addresses(elf)
    assert addresses.slow == BOARD.ram[1].origin + 16 and addresses.fast >= BOARD.ram[0].origin + 16
    memories = [(addresses.fast, generated.plan.fast_bytes), (addresses.slow, generated.plan.slow_bytes)]
    code = layer_code(elf, segment_layers(generated))
    samples = random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], 1)
    layers = count_accesses(
        BOARD, elf, code, memories, lambda line: measure(line, generated, samples, False, lambda *_: None)
    )
    assert len(layers) == len(generated.calls)
    graph = generated.model.main
    loaded = estimated = 0.0
    touched_tensors = accesses_by_tensor(generated, addresses, layers)
    for layer, touched, (_, loads, _) in zip(
        generated.calls, touched_tensors, accesses_by_layer(generated), strict=True
    ):
        (output,) = layer.op.outputs
        assert touched[output].stores == graph.tensors[output].nbytes, layer.op.name
        loaded += sum(t.loads for t in touched.values())
        estimated += sum(loads.values())
        for t in loads:
            assert touched[t].loads > 0, layer.op.name
    assert 0.7 < estimated / loaded < 1.4
    # Every load and store in the second memory belongs to a tensor that is planned there.
    slow = sum((sum_accesses(lines, *memories[1]) for lines in layers), LineAccessCounts())
    slow_tensors = {t for t, offset in generated.plan.offsets.items() if offset >= generated.plan.fast_bytes}
    assert (
        slow.total
        == sum(n.total for touched in touched_tensors for t, n in touched.items() if t in slow_tensors)
        > 0
    )


@pytest.mark.parametrize(
    "text", ["", "P 1\nA 20000000 1 2\n", "A 20000000 1 2\n", "P 1\nA x\nE\n", "P 1\nP 2\nE\n", "P 1\nQ\nE\n"]
)
def test_an_incomplete_record_raises_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(text)
    with pytest.raises(ToolError, match="plugin"):
        read_accesses(tmp_path / "out")


def test_an_elf_without_an_arena_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(b"no ELF")
    with pytest.raises(ToolError, match="Cannot read"):
        arena_addresses(tmp_path / "x.elf")
