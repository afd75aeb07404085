"""The predicted sizes of a cascade equal the linked firmware, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arenite.errors import UsageError
from arenite.firmware.sizes.app_prediction import predict_app
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.fit_app import fit_app
from arenite.host.app.generate import generate_app
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import load_board
from benchmarks.app_sizes import app_boards
from tests.host.app.cascade.cascade_models import GATE, motion_pair, sound_pair
from tests.host.app.linked_sizes import assert_equal, need_the_measured_compiler
from tests.host.app.sound_models import MICRO, RATE, SOUND, STEP, sound_model

BOARDS = [board.name for board in app_boards()]
M4F = load_board("qemu_mps2_an386")


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("sound", [SOUND, MICRO], ids=["audio", "micro"])
def test_predictions_of_sound_equal_the_linked_firmware(
    sound: dict[str, Any], is_shared: bool, board: str, tmp_path: Path
) -> None:
    need_the_measured_compiler(board)
    # The name of one model is the beginning of the other's.
    models = sound_pair(
        tmp_path, is_shared, GATE if is_shared else None, sound, 3, (12, 17), "word", "word_of_the_day"
    )
    generate_cascade(*models, load_board(board), tmp_path / "app", optimise="flash" if is_shared else "speed")
    assert_equal(tmp_path / "app", predict_app(tmp_path / "app"))


@pytest.mark.slow
@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
def test_predictions_of_motion_equal_the_linked_firmware(is_shared: bool, tmp_path: Path) -> None:
    need_the_measured_compiler(M4F.name)
    models = motion_pair(tmp_path, is_shared, has_gate=not is_shared, every=2)
    generate_cascade(*models, M4F, tmp_path / "app", sensor="imu")
    assert_equal(tmp_path / "app", predict_app(tmp_path / "app"))


def fit(models: tuple[Prepared, Prepared], where: Path, has_large: bool = True) -> Any:
    return fit_app(models[0].path, where, models[1].path if has_large else None).to_json()["app"]


def test_a_folder_and_a_file_are_predicted_with_both_models(tmp_path: Path) -> None:
    models = sound_pair(tmp_path)
    application = generate_cascade(*models, M4F, tmp_path / "app")
    of_folder = fit(models, tmp_path / "app")
    assert of_folder["exact"] and of_folder["fits"] and of_folder["cascade"]["path"] == str(models[1].path)
    assert of_folder["inference_ms"]["value"] == round(1000 * application.inference_s, 3)
    (tmp_path / "app.toml").write_text(f'board = "{M4F.name}"\nhop = {6 * STEP}\n')
    of_file = fit(models, tmp_path / "app.toml")
    assert of_file["hop_ms"] == 1000 * 6 * STEP / RATE
    assert {**of_file["ram"], **of_file["flash"]} == {**of_folder["ram"], **of_folder["flash"]}
    alone = fit(models, tmp_path / "app.toml", has_large=False)
    assert alone["cascade"] is None
    assert alone["ram"]["arena"] <= of_file["ram"]["arena"]
    assert alone["flash"]["weights"] < of_file["flash"]["weights"]


def test_the_models_must_be_those_of_the_folder(tmp_path: Path) -> None:
    models = sound_pair(tmp_path)
    generate_cascade(*models, M4F, tmp_path / "app")
    with pytest.raises(UsageError, match="is a cascade") as error:
        fit(models, tmp_path / "app", has_large=False)
    assert f"--cascade {models[1].path}" in str(error.value.hint)
    other = sound_model(tmp_path / "other.tflite")
    with pytest.raises(UsageError, match="another large model"):
        fit((models[0], other), tmp_path / "app")
    generate_app(models[0], M4F, tmp_path / "single")
    with pytest.raises(UsageError, match="is no cascade"):
        fit(models, tmp_path / "single")
