"""Applications for real boards whose model alone does not fit: refused before anything is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import DoesNotFitError
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.prediction import predict
from arenite.host.app.generate import generate_app
from arenite.host.build.library import lower_models
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import sound_model


def _with_memory(board: Board, flash: int, ram: int) -> Board:
    return replace(
        board, flash=(replace(board.flash[0], size=flash),), ram=(replace(board.ram[0], size=ram),)
    )


def test_a_model_that_takes_more_flash_or_ram_than_the_board_has_is_refused(tmp_path: Path) -> None:
    prepared, board, folder = sound_model(tmp_path / "ear.tflite"), load_board("zeroUSB"), tmp_path / "app"
    generated = lower_models({"ear": prepared}, Target.for_core(board.core, "balanced"))[0]
    needs = predict(generated, board, "balanced")
    made = generate_app(prepared, board, tmp_path / "fits")
    ram = needs.arena + needs.stack + 2 * made.settings.room
    small = _with_memory(board, needs.flash_total - 1, ram - 1)
    with pytest.raises(DoesNotFitError, match="model alone does not fit zeroUSB") as error:
        generate_app(prepared, small, folder)
    assert f"weights and kernels need {needs.flash_total:,} bytes of flash" in error.value.problem
    assert f"need {ram:,} bytes of RAM, but the board has {ram - 1:,}" in error.value.problem
    assert "Use " in str(error.value.hint) and not folder.exists()
    generate_app(prepared, _with_memory(board, needs.flash_total, ram), folder)


def test_another_goal_that_fits_is_named(tmp_path: Path) -> None:
    prepared, board = sound_model(tmp_path / "ear.tflite"), load_board("zeroUSB")

    def flash(goal: str) -> int:
        generated = lower_models({"ear": prepared}, Target.for_core(board.core, goal))[0]
        return predict(generated, board, goal).flash_total

    assert flash("flash") < flash("speed")
    with pytest.raises(DoesNotFitError) as error:
        generate_app(prepared, _with_memory(board, flash("flash"), 32768), tmp_path / "app", optimise="speed")
    assert "--optimise " in str(error.value.hint) and "flash, or a larger board" in str(error.value.hint)
