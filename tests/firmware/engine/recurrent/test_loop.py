"""A recurrent layer that runs as a loop has the code and the tables of one step only. It executes about as many
instructions as a copy of the operators for each step."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.converters.graph.loop import LOOP
from arenite.converters.tflite.image import parse_image
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.prediction import predict
from arenite.firmware.sizes.timing import estimate_instructions
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare_image
from arenite.profiles.boards import load_board
from tests.converters.passes.loops.recurrent_models import CELLS, GATES, RecurrentNet, quantized

BOARD = load_board("qemu_mps2_an386")


def prepared(cell: str, *, steps: int = 32, units: int = 24, passes: bool = True) -> Prepared:
    """Return a network with a recurrent layer. Without ``passes``, each step has its own copy of the operators."""
    n = RecurrentNet(cell)
    hidden = n.recurrent(n.steps_of(n.input((1, steps, 6), "float32")), units)
    model = quantized(n.model([n.dense(hidden[-1], 5)]))
    image = parse_image(to_flatbuffer(model))
    return prepare_image(image, Path(f"{cell}.tflite"), passes=passes)


@pytest.mark.parametrize(("cell", "optimise"), [*((c, "balanced") for c in CELLS), ("rnn", "flash")])
@pytest.mark.slow
def test_flash_and_instructions_do_not_grow_with_the_steps(cell: str, optimise: str) -> None:
    target = Target.for_core(BOARD.core, optimise)
    loop, copies = (prepared(cell, passes=p).retarget(target).generated for p in (True, False))
    rolled, unrolled = (predict(g, BOARD, optimise) for g in (loop, copies))
    assert rolled.code < 12 * 1024 and rolled.ram_total < unrolled.ram_total
    assert rolled.flash_total < 0.6 * unrolled.flash_total
    longer = prepared(cell, steps=48).retarget(target).generated
    # Only the numbers of steps and the copied bytes of the sequence differ.
    assert abs(predict(longer, BOARD, optimise).code - rolled.code) <= 8
    # 48 steps take 1.5 times the instructions of 32 steps.
    estimates = [estimate_instructions(g, BOARD.core, optimise) for g in (loop, copies, longer)]
    assert 0.8 < estimates[0] / estimates[1] < 1.25
    assert estimates[2] / estimates[0] == pytest.approx(1.5, rel=0.1)


@pytest.mark.slow
def test_the_generated_code_has_every_layer_of_the_body_once() -> None:
    model = prepared("gru")
    text = model_sources(model.generated)["model.c"]
    (layer,) = (layer for layer in model.generated.layers if layer.op.name == LOOP)
    assert layer.call is not None
    for k in range(len(layer.call.body)):
        assert text.count(f"static void layer_{layer.index}_{k}(void)") == 1
    assert layer.macs == 32 * 24 * GATES["gru"] * (6 + 24)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.slow
def test_the_image_of_a_long_loop_contains_a_while_operator() -> None:
    images = []
    for steps in (136, 200):
        model = prepared("lstm", steps=steps)
        again = prepare_image(parse_image(model.image), Path("again.tflite"))
        without_passes = prepare_image(parse_image(model.image), Path("again.tflite"), passes=False)
        assert again.image == model.image and again.plan.arena_bytes == model.plan.arena_bytes
        for p in (model, again, without_passes):
            assert [op.name for op in p.model.main.ops] == [LOOP, "FULLY_CONNECTED"]
        assert [op.name for op in parse_image(model.image).model.main.ops].count("WHILE") == 1
        images.append(model.image)
    assert abs(len(images[0]) - len(images[1])) <= 16


@pytest.mark.slow
@pytest.mark.qemu
def test_a_long_loop_on_an_emulated_board() -> None:
    """The reference is the image in LiteRT, which runs WHILE."""
    model = prepare_image(parse_image(prepared("gru", steps=200).image), Path("long.tflite"))
    tensors = [model.model.main.tensors[i] for i in model.model.main.inputs]
    result = bench(model, BOARD, random_samples(tensors, 2, {}), BenchConfig(BuildOptions()), print).to_json()
    assert result["samples"]["bit_exact"] == 2
    assert result["flash"]["total"] == result["flash"]["predicted_total"]


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("cell", CELLS)
def test_a_loop_on_an_emulated_board(cell: str) -> None:
    results = []
    for passes in (True, False):
        model = prepared(cell, passes=passes)
        tensors = [model.model.main.tensors[i] for i in model.model.main.inputs]
        result = bench(
            model, BOARD, random_samples(tensors, 2, {}), BenchConfig(BuildOptions()), print
        ).to_json()
        assert result["samples"]["bit_exact"] == 2
        assert result["flash"]["total"] == result["flash"]["predicted_total"]
        assert result["memory"]["stack"] <= result["memory"]["predicted_stack"]
        results.append(result)
    loop, copies = results
    assert loop["flash"]["code"] <= 12 * 1024
    instructions = [r["inference"]["instructions"]["p50"] for r in (loop, copies)]
    assert instructions[0] <= 1.1 * instructions[1]
