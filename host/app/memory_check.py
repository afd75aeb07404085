"""Refuse an application for a real board whose model alone takes more memory than the board has."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.errors import DoesNotFitError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.prediction import Prediction, predict
from arenite.host.build.library import lower_models
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board


def check_memory(
    lowered: Mapping[str, Generated],
    prepared: Mapping[str, Prepared],
    board: Board,
    optimise: str,
    buffer_bytes: int,
    *,
    rows: bool = False,
) -> None:
    """Raise ``DoesNotFitError`` if models and the sensor's buffer alone do not fit a real board.

    The numbers are those of ``arenite fit MODEL --board``. They are a lower bound: features, decisions and the board's
    framework take more. Models of a cascade share the largest arena. The linker measures applications for emulated
    boards, so these are not checked.

    Args:
        lowered: the models by their names, as they are compiled.
        prepared: the same models, to try other goals.
        board: the board.
        optimise: the goal of the build.
        buffer_bytes: bytes of the buffer for the sensor's samples.
        rows: whether the models take their input row by row.
    """
    if board.emulated:
        return
    flash, ram = _needs([predict(g, board, optimise) for g in lowered.values()], buffer_bytes)
    missing = [
        f"{what} need {needed:,} bytes of {name}, but the board has {there:,}"
        for what, needed, name, there in (
            ("weights and kernels", flash, "flash", board.flash_bytes),
            ("arena, stack and the sensor's buffer", ram, "RAM", board.ram_bytes),
        )
        if needed > there
    ]
    if not missing:
        return
    models = "The model alone does" if len(lowered) == 1 else "The models alone do"
    fitting = [
        goal
        for goal in OPTIMISE_MODES
        if goal != optimise and _fits(prepared, board, goal, buffer_bytes, rows)
    ]
    first = f"Use --optimise {' or '.join(fitting)}" if fitting else "Use a smaller model"
    raise DoesNotFitError(
        f"{models} not fit {board.name}: {' and '.join(missing)}.",
        f"{first}, or a larger board. `arenite fit MODEL --all` lists the boards that the model fits.",
    )


def _needs(predictions: list[Prediction], buffer_bytes: int) -> tuple[int, int]:
    """Return the bytes of flash, and those of RAM."""
    flash = sum(p.weights for p in predictions) + max(p.code for p in predictions)  # kernels may be shared
    return flash, max(p.arena for p in predictions) + max(p.stack for p in predictions) + buffer_bytes


def _fits(
    prepared: Mapping[str, Prepared], board: Board, optimise: str, buffer_bytes: int, rows: bool
) -> bool:
    target = Target.for_core(board.core, optimise, stream_input=rows)
    lowered = lower_models(prepared, target)
    flash, ram = _needs([predict(g, board, optimise) for g in lowered], buffer_bytes)
    return flash <= board.flash_bytes and ram <= board.ram_bytes
