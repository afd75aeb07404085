"""Choose the goal of the code generator for a project that another build system compiles."""

from __future__ import annotations

from dataclasses import replace

from arenite.errors import DoesNotFitError
from arenite.host.build.fit import AUTOMATIC_GOALS, BuildChoice, choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board


def choose_goal(prepared: Prepared, board: Board, optimise: str | None) -> BuildChoice:
    """Return the code for the first goal with which the model fits, or for ``optimise``. Raises ``DoesNotFitError`` if
    it fits with none."""
    goals = AUTOMATIC_GOALS if optimise is None else (optimise,)
    for goal in goals:
        # A second core or a second memory would put a part of the model elsewhere.
        choice = choose(prepared, replace(board, ram=board.ram[:1]), BuildOptions(optimise=goal, cores=1))
        if choice.verdict.fits:
            return choice
    raise DoesNotFitError(
        f"{prepared.path.name} does not fit {board.name}: {'; '.join(choice.verdict.reasons)}.",
        f"`arenite fit {prepared.path} --all` shows the boards that it fits.",
    )
