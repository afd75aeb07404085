"""Warn of a recipe with which a model takes much longer than with the recipe int8."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.errors import AreniteError
from arenite.host.build.board_costs import BoardCosts
from arenite.profiles.boards import Board, load_board

#: A recipe gets a note if its instructions divided by those of int8 are at least this ratio.
_NOTABLE_RATIO = 1.5

#: The board for the estimate if the user names none: a Cortex-M4F.
_DEFAULT_BOARD = "qemu_mps2_an386"


def cost_board(boards: Sequence[Board]) -> Board:
    """Return the board for estimates: the first of ``boards``, which the user named, or a Cortex-M4F."""
    return boards[0] if boards else load_board(_DEFAULT_BOARD)


def recipe_cost_note(
    flatbuffer: bytes,
    recipe: Recipe,
    quantized: QuantizedModel,
    observations: Observations | None,
    boards: Sequence[Board],
) -> str | None:
    """Return a sentence with the estimated instructions and RAM of ``quantized`` and of int8, or None.

    The result is None if the difference is small. It is also None for recipes without int16 activations, because other
    types take about as many instructions as int8.

    Args:
        flatbuffer: the float model.
        recipe: the recipe with which the model was quantized.
        quantized: the quantized model.
        observations: the calibration statistics of the float model.
        boards: the boards that the user named. The estimate is for the first board, or for a Cortex-M4F if there is
            none.
    """
    types = {recipe.settings.activations, *(rule.settings.get("activations") for rule in recipe.layers)}
    if "int16" not in types or observations is None:
        return None
    board = cost_board(boards)
    costs = BoardCosts(board, ("speed",))
    try:
        int8_model = quantize(flatbuffer, load_recipe("int8").without_slow_steps(), observations)
        (int8_cost,), (cost,) = costs(int8_model.flatbuffer), costs(quantized.flatbuffer)
    except AreniteError:  # one of the two models does not run on a board, which the conversion itself reports
        return None
    if cost.instructions < _NOTABLE_RATIO * int8_cost.instructions:
        return None
    place = board.name if boards else "a Cortex-M4F"
    return (
        f"On {place}, the recipe '{recipe.name}' takes an estimated {cost.instructions:,} instructions per inference, "
        f"{cost.instructions / int8_cost.instructions:.1f} times as many as int8 ({int8_cost.instructions:,}), and "
        f"{cost.ram:,} B of RAM instead of {int8_cost.ram:,} B. If int8 loses too much, --auto finds "
        "the layers that need int16."
    )
