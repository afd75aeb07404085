"""Choose the generated code of a program with updates, and refuse what the program cannot have."""

from __future__ import annotations

from dataclasses import replace

from arenite.errors import DoesNotFitError
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.update.graph_hash import graph_hash
from arenite.firmware.update.program import ProgramModel
from arenite.host.build.fit import AUTOMATIC_GOALS, BuildChoice, choose
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board


def choose_code(prepared: Prepared, board: Board, goal: str) -> BuildChoice:
    """Return the code for ``goal``, on one core and in the first memory of the board: elsewhere, an update would not
    find the parts of the model."""
    return choose(prepared, replace(board, ram=board.ram[:1]), BuildOptions(optimise=goal, cores=1))


def goals_of(optimise: str | None) -> tuple[str, ...]:
    """Return the goals of the code generator to try, in this order."""
    return tuple(AUTOMATIC_GOALS) if optimise is None else (optimise,)


def require_fit(choice: BuildChoice, board: Board) -> None:
    """Raise ``DoesNotFitError`` if the model does not fit ``board``."""
    if not choice.verdict.fits:
        path = choice.prepared.path
        raise DoesNotFitError(
            f"{path.name} does not fit {board.name}: {'; '.join(choice.verdict.reasons)}.",
            f"`arenite fit {path} --all` shows the boards that it fits.",
        )


def choose_goal(prepared: Prepared, board: Board, optimise: str | None) -> BuildChoice:
    """Return the code for the first goal with which the model fits, or for ``optimise``. Raises ``DoesNotFitError`` if
    it fits with none."""
    for goal in goals_of(optimise):
        choice = choose_code(prepared, board, goal)
        if choice.verdict.fits:
            break
    require_fit(choice, board)
    return choice


def program_model(choice: BuildChoice, golden: str) -> ProgramModel:
    """Return the generated C of the chosen model. ``golden`` is the C source of its self-test."""
    generated = choice.generated
    sources = {**model_sources(generated), "golden.c": golden}
    return ProgramModel(sources, generated.engine_sources, graph_hash(choice.prepared.source))
