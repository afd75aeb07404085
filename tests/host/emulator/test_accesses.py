"""Loads and stores of tensors, counted in the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.firmware.sizes.accesses import per_layer
from arenite.host.bench.devices.measure import measure
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.accesses import (
    LineAccessCounts,
    arena_addresses,
    by_tensor,
    count_accesses,
    in_region,
)
from arenite.host.emulator.accesses import _read as read_accesses
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.small_graphs import classifier, save

BOARD = load_board("qemu_mps2_an386")


@pytest.mark.qemu
def test_every_byte_of_an_output_is_stored_once_and_inputs_are_loaded_about_as_estimated(
    tmp_path: Path,
) -> None:
    prepared = prepare(save(classifier(24, 8), tmp_path / "small.tflite"))
    limit = prepared.plan.arena_bytes // 2
    project = generate_project(prepared, BOARD, tmp_path / "p", BuildOptions("speed", fast_ram=limit))
    elf = direct_build(tmp_path / "p")
    generated, places = project.generated, arena_addresses(elf)
    assert places.slow == BOARD.ram[1].origin + 16 and places.fast >= BOARD.ram[0].origin + 16
    memories = [(places.fast, generated.plan.fast_bytes), (places.slow, generated.plan.slow_bytes)]
    code = layer_code(elf, segment_layers(generated))
    one = random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], 1)
    layers = count_accesses(
        BOARD, elf, code, memories, lambda line: measure(line, generated, one, False, lambda *_: None)
    )
    assert len(layers) == len(generated.calls)
    graph = generated.model.main
    loaded = estimated = 0.0
    found = by_tensor(generated, places, layers)
    for layer, touched, (_, loads, _) in zip(generated.calls, found, per_layer(generated), strict=True):
        (output,) = layer.op.outputs
        assert touched[output].stores == graph.tensors[output].nbytes, layer.op.name
        loaded += sum(t.loads for t in touched.values())
        estimated += sum(loads.values())
        for t in loads:
            assert touched[t].loads > 0, layer.op.name
    assert 0.7 < estimated / loaded < 1.4
    # What is watched is the second memory: every load and store there belongs to a tensor that lies there.
    slow = sum((in_region(lines, *memories[1]) for lines in layers), LineAccessCounts())
    there = {t for t, offset in generated.plan.offsets.items() if offset >= generated.plan.fast_bytes}
    assert slow.total == sum(n.total for touched in found for t, n in touched.items() if t in there) > 0


@pytest.mark.parametrize(
    "text", ["", "P 1\nA 20000000 1 2\n", "A 20000000 1 2\n", "P 1\nA x\nE\n", "P 1\nP 2\nE\n", "P 1\nQ\nE\n"]
)
def test_a_record_that_is_not_whole_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(text)
    with pytest.raises(ToolError, match="plugin"):
        read_accesses(tmp_path / "out")


def test_an_elf_without_an_arena_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(b"no ELF")
    with pytest.raises(ToolError, match="Cannot read"):
        arena_addresses(tmp_path / "x.elf")
