"""``shrink`` suggests changes after which a model fits. The tests check them as far as possible without training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.errors import ProfileError
from arenite.host.build.fit import choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.predict import Predictor, int4_weights
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.shrink import FLASH_MARGIN, WIDTHS, data_for, shrink
from arenite.models.architectures import network
from arenite.models.architectures.random_weights import random_model
from arenite.models.architectures.recognize import NetworkSize, recognize_architecture
from arenite.profiles.boards import Board, load_board
from tests.development_models import shared_model

BOARD = "qemu_mps2_an386"


class _Samples:
    """Calibration data: four random pictures of 28x28 grey pixels."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.inputs = [[rng.random((1, 28, 28, 1)).astype(np.float32)] for _ in range(4)]


@pytest.fixture(scope="module")
def floats() -> bytes:
    """Return a float32 model with random weights, as a flatbuffer."""
    return random_model(network("dscnn", (28, 28, 1), 10, 1.0), seed=7)


@pytest.fixture(scope="module")
def prepared(floats: bytes, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path = tmp_path_factory.mktemp("shrink") / "mine.tflite"
    path.write_bytes(quantize(floats, load_recipe("int8"), observe(floats, _Samples())).flatbuffer)
    return prepare(path)


def _board(prepared: Prepared, ram: float = 4.0, flash: float = 4.0) -> Board:
    """Return a board with ``ram`` times the RAM that the model needs in the mode speed, and ``flash`` times the flash
    in the mode flash, which needs the least."""
    board = load_board(BOARD)
    needed = {goal: choose(prepared, board, BuildOptions(goal)).verdict.needs for goal in ("speed", "flash")}
    first = replace(board.ram[0], size=int(needed["speed"].ram * ram))
    code = replace(board.flash[0], size=int(needed["flash"].flash * flash))
    return replace(board, ram=(first, *board.ram[1:]), flash=(code, *board.flash[1:]))


@pytest.mark.slow
def test_a_width_that_is_suggested_fits_and_larger_widths_do_not(prepared: Prepared) -> None:
    board = _board(prepared, flash=0.75)
    result = shrink(prepared, [board])
    assert result.architecture == NetworkSize("dscnn", 1.0, (28, 28, 1), 10)
    assert result.complete
    (width,) = (s for s in result.suggestions if s.kind == "width")
    assert width.prediction.fits
    assert width.prediction.flash <= board.flash_bytes < choose(prepared, board).verdict.needs.flash
    assert "arenite train dscnn --data mnist " in width.commands[0]
    chosen = float(width.commands[0].split("--width ")[1].split()[0])
    assert chosen < 1
    predictor = Predictor(prepared, None, None)
    for larger in (share for share in WIDTHS if share > chosen):
        prediction = predictor.predict_untrained(NetworkSize("dscnn", larger, (28, 28, 1), 10), board)
        assert prediction.flash > (1 - FLASH_MARGIN) * board.flash_bytes


@pytest.mark.slow
def test_a_resolution_is_suggested_where_ram_is_short(prepared: Prepared) -> None:
    board = _board(prepared, ram=0.55)
    result = shrink(prepared, [board])
    (smaller,) = (s for s in result.suggestions if s.kind == "resolution")
    assert smaller.prediction.ram <= board.ram_bytes
    assert "--resolution " in smaller.commands[0]
    assert smaller.prediction.flash > 0


def test_the_prediction_for_an_untrained_network_is_right(prepared: Prepared, floats: bytes) -> None:
    """The prediction for an untrained network with the architecture and size of the model equals the needs of the
    model, because networks with other weights and samples need the same bytes of RAM and weights."""
    board = load_board(BOARD)
    size = recognize_architecture(prepared.source)
    assert size is not None
    predicted = Predictor(prepared, None, None).predict_untrained(size, board)
    needed = choose(prepared, board, BuildOptions("speed")).verdict.needs
    assert predicted.ram == needed.ram
    assert predicted.flash == pytest.approx(needed.flash, abs=64)


def test_int4_weights_halve_the_weights_in_the_file(prepared: Prepared) -> None:
    smaller = int4_weights(prepared.source, load_recipe("w4"))
    for op in smaller.main.ops:
        if op.name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            t = smaller.main.tensors[op.inputs[1]]
            assert t.stored == "int4"
            assert t.data is not None
            assert np.abs(t.data).max() <= 7
    mixed = int4_weights(prepared.source, load_recipe("w4_mixed"))
    kinds = {op.name: mixed.main.tensors[op.inputs[1]].stored for op in mixed.main.ops if len(op.inputs) == 3}
    assert kinds["CONV_2D"] == "int4"
    assert kinds["DEPTHWISE_CONV_2D"] == ""


@pytest.mark.slow
def test_recipes_are_tried_on_the_float_model(prepared: Prepared, floats: bytes) -> None:
    board = load_board(BOARD)
    predictor = Predictor(prepared, floats, None)
    int8 = predictor.predict_recipe(load_recipe("int8"), board)
    needed = choose(prepared, board, BuildOptions("speed")).verdict.needs
    assert int8.ram == needed.ram
    try:
        int4 = predictor.predict_recipe(load_recipe("w4"), board)
    except ProfileError as error:
        pytest.skip(f"the sizes must be measured again: {error.problem}")
    assert int4.flash < int8.flash


@pytest.mark.slow
def test_a_row_by_row_input_is_suggested_first() -> None:
    prepared = prepare(shared_model("vww01_int8"))
    result = shrink(prepared, [load_board("bluepill_f103c8")], seconds=8.0)
    assert result.suggestions[0].kind == "build"
    assert "--stream-input" in result.suggestions[0].commands[0]
    assert result.suggestions[0].prediction.fits


@pytest.mark.slow
def test_no_suggestion_if_nothing_fits(prepared: Prepared) -> None:
    board = _board(prepared, ram=0.05, flash=0.05)
    result = shrink(prepared, [board])
    assert result.suggestions == ()
    assert result.without == (board.name,)
    assert "none of the changes that were tried fits" in result.sentences()[0]


def test_a_search_that_runs_out_of_time_is_incomplete(prepared: Prepared) -> None:
    result = shrink(prepared, [_board(prepared, flash=0.75)], seconds=-1.0)
    assert not result.complete
    assert result.suggestions == ()
    assert any("before every change was tried" in s for s in result.sentences())


@pytest.mark.slow
def test_the_json_has_the_architecture_and_predicted_sizes(prepared: Prepared) -> None:
    content = json.loads(
        json.dumps(shrink(prepared, [_board(prepared, flash=0.75)], source="mine.keras").to_json())
    )
    assert content["schema"] == "arenite.shrink/1"
    assert content["architecture"] == {"name": "dscnn", "width": 1.0, "input_shape": [28, 28, 1]}
    for s in content["suggestions"]:
        assert s["fits"] is True
        assert s["ram"]["kind"] == s["flash"]["kind"] == "predicted"
        assert s["commands"]


@pytest.mark.parametrize(
    ("size", "data"),
    [
        (NetworkSize("resnet8", 1, (28, 28, 1), 10), ("mnist", False)),
        (NetworkSize("resnet8", 1, (20, 20, 1), 10), ("mnist", True)),
        (NetworkSize("dscnn", 1, (49, 10, 1), 12), ("keywords", False)),
        (NetworkSize("dscnn", 1, (50, 1, 6), 4), ("motions", False)),
        (NetworkSize("autoencoder", 1, (96,), 96), ("motion_anomalies", False)),
        (NetworkSize("detector", 1, (96, 96, 1), 10), ("scenes", True)),
        (NetworkSize("mobilenet_v1", 1, (96, 96, 3), 2), ("TRAIN.npz", False)),
    ],
)
def test_the_command_names_matching_data(size: NetworkSize, data: tuple[str, bool]) -> None:
    """The second value of ``data`` says whether the pictures of the data set must be resized."""
    assert data_for(size) == data


@pytest.mark.slow
def test_unknown_architectures_get_no_width(tmp_path: Path) -> None:
    prepared = prepare(shared_model("person_detect_int8"))
    result = shrink(prepared, [load_board("bluepill_f103c8")], seconds=20.0)
    assert result.architecture is None
    assert not any(s.kind in ("width", "resolution") for s in result.suggestions)


@pytest.mark.slow
def test_int8_is_suggested_in_place_of_int16(floats: bytes, tmp_path: Path) -> None:
    observations = observe(floats, _Samples())
    path = tmp_path / "wide.tflite"
    path.write_bytes(quantize(floats, load_recipe("int16x8"), observations).flatbuffer)
    prepared = prepare(path)
    board = _board(prepared, ram=0.7)
    result = shrink(
        prepared, [board], flatbuffer=floats, observations=observations, recipe="int16x8", source="mine.keras"
    )
    first = result.suggestions[0]
    assert (first.kind, first.prediction.fits) == ("recipe", True)
    assert first.commands == (
        f"arenite convert mine.keras --calibration DATA.npz --recipe int8 --board {board.name}",
    )
