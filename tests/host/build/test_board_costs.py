"""A recipe search computes the same sizes as ``arenite fit``, and finds an image that fits a board on which plain int8
does not fit."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.search.budget import parse_budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions, search
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.run import BenchConfig as BenchOptions
from arenite.host.bench.run import bench
from arenite.host.bench.samples import random_samples
from arenite.host.build.board_costs import BoardCosts
from arenite.host.build.fit import choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from tests.converters.quantize.trained_models import dataset, samples, wide_classifier
from tests.converters.small_models import conv_net

BOARD = load_board("qemu_netduinoplus2")


def test_the_builds_of_a_search_have_the_sizes_of_fit(tmp_path: Path) -> None:
    flatbuffer = to_flatbuffer(conv_net())
    board_builds = pickle.loads(pickle.dumps(BoardCosts(BOARD, stream_input=True)))(flatbuffer)
    options = [b.options for b in board_builds]
    assert options[:4] == [f"--optimise {m}" for m in ("speed", "balanced", "ram", "flash")]
    path = tmp_path / "model.tflite"
    path.write_bytes(flatbuffer)
    prepared = prepare(path)
    for build in board_builds:
        streamed = build.options.endswith(" --stream-input")
        needs = choose(
            prepared, BOARD, BuildOptions(build.options.split()[1], stream_input=streamed)
        ).verdict.needs
        assert (build.ram, build.flash) == (needs.ram, needs.flash)
        assert build.instructions == pytest.approx(needs.instructions, abs=1)


def test_the_identity_depends_on_board_and_modes() -> None:
    identity = BoardCosts(BOARD).identity
    assert identity == BoardCosts(load_board("qemu_netduinoplus2")).identity
    assert identity != BoardCosts(load_board("qemu_mps2_an386")).identity
    assert identity != BoardCosts(BOARD, modes=("speed",)).identity


@pytest.mark.slow
@pytest.mark.qemu
def test_a_search_finds_an_image_for_a_board_on_which_plain_int8_does_not_fit(tmp_path: Path) -> None:
    """With the largest layer in int4, 1.26 million weights fit on a board with 1 MB of flash. The accuracy does not
    change."""
    pytest.importorskip("optuna", reason="needs optuna")
    model = wide_classifier()
    observations = observe(model, dataset(*samples(40, 3)))
    budget = parse_budget("drop=2%").within(BOARD.ram_bytes, BOARD.flash_bytes)
    search_result = search(
        model,
        load_recipe("int8"),
        observations,
        dataset(*samples(80, 4)),
        BoardCosts(BOARD, modes=("speed", "flash")),
        budget,
        RecipeSearchOptions(trials=2),
    )
    int8_trial = search_result.trials[0]
    assert search_result.base.value > 0.95 and int8_trial.drop < 0.02
    assert all(b.flash > BOARD.flash_bytes for b in int8_trial.builds)
    assert search_result.chosen is not None and search_result.chosen.place in search_result.front
    assert search_result.chosen.build.flash <= BOARD.flash_bytes and search_result.chosen.drop <= 0.02
    image = tmp_path / "chosen.tflite"
    image.write_bytes(search_result.chosen.quantized.flatbuffer)
    prepared = prepare(image)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    options = BenchOptions(BuildOptions(search_result.chosen.build.options.split()[1]), cycles=False)
    result = bench(prepared, BOARD, random_samples(tensors, 3), options, lambda *_: None).to_json()
    assert result["samples"]["bit_exact"] == 3
    assert result["flash"]["total"] == search_result.chosen.build.flash
    assert np.isfinite(search_result.chosen.build.instructions)
