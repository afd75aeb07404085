"""Warn of a recipe whose model computes much longer than int8."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.errors import AreniteError
from arenite.host.build.board_costs import BoardCosts
from arenite.profiles.boards import Board, load_board

#: More instructions than this, relative to int8, cause a note.
_NOTABLE_RATIO = 1.5

#: The board for the estimate if the user names none: a Cortex-M4F.
_DEFAULT_BOARD = "qemu_mps2_an386"


def recipe_cost_note(
    flatbuffer: bytes,
    recipe: Recipe,
    quantized: QuantizedModel,
    observations: Observations | None,
    boards: Sequence[Board],
) -> str | None:
    """Return a sentence with the estimated instructions and RAM of ``quantized`` and of int8, or None.

    Only recipes with int16 activations are looked at, because other types cost about as much as int8. Without
    ``boards`` the estimate is for a Cortex-M4F.

    Args:
        flatbuffer: the float model.
        quantized: the model, quantized by ``recipe``.
        observations: the observations of the float model.
    """
    types = {recipe.settings.activations, *(rule.settings.get("activations") for rule in recipe.layers)}
    if "int16" not in types or observations is None:
        return None
    board = boards[0] if boards else load_board(_DEFAULT_BOARD)
    costs = BoardCosts(board, ("speed",))
    try:
        plain = quantize(flatbuffer, load_recipe("int8").without_slow_steps(), observations)
        (theirs,), (ours,) = costs(plain.flatbuffer), costs(quantized.flatbuffer)
    except AreniteError:  # one of them does not run on a board, which the conversion itself reports
        return None
    if ours.instructions < _NOTABLE_RATIO * theirs.instructions:
        return None
    place = board.name if boards else "a Cortex-M4F"
    return (
        f"On {place}, the recipe '{recipe.name}' takes an estimated {ours.instructions:,} instructions per inference, "
        f"{ours.instructions / theirs.instructions:.1f} times as many as int8 ({theirs.instructions:,}), and "
        f"{ours.ram:,} B of RAM instead of {theirs.ram:,} B. If int8 loses too much, use int16 only for the layers "
        "that need it: --sensitivity shows which, and docs/recipes.md how."
    )
