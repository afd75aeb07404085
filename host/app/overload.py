"""Warn of an application whose windows are predicted to take longer than there is time, and find out what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from arenite.host.app.headroom import Headroom
from arenite.host.app.slow_inference import hop_advice
from arenite.profiles.board import Board

#: Predicts the headroom on a board, for a goal of --optimise and a hop in samples; None if costs were not measured.
Predictor = Callable[[Board, str, int], Headroom | None]

#: The headroom that an advised setting has at least: the relative error that a prediction may have.
_MARGIN = 0.02
#: The most hops that are tried.
_MAX_HOPS = 100


@dataclass(frozen=True)
class Choices:
    """The settings of an application, and what may be chosen instead.

    Attributes:
        board: the board.
        optimise: the goal of --optimise.
        hop: samples from one window to the next.
        hops: the hops that the application can have, in samples.
        boards: other boards.
        goals: other goals of --optimise.
    """

    board: Board
    optimise: str
    hop: int
    hops: range
    boards: Iterable[Board]
    goals: Iterable[str]


def overload_warnings(
    headroom: Headroom | None, choices: Choices, predict: Predictor, where: str = "[decision]"
) -> tuple[str, ...]:
    """Return a warning if the slowest window is predicted to take all of its time or more, with settings that are
    predicted to leave time. ``where`` names the record that has the hop."""
    if headroom is None or headroom.share() < 1:
        return ()
    milliseconds = 1000 * headroom.hop_s
    result = "windows will be late and samples lost" if headroom.duty >= 1 else "single windows may be late"
    return (
        f"On {choices.board.name} a window is {headroom.kind} to take {headroom.duty * milliseconds:,.1f} ms, "
        f"{100 * headroom.duty:.1f}% of the {milliseconds:,.1f} ms to the next one, and the slowest "
        f"{100 * headroom.share():.1f}%: {result}. {_advice(headroom, choices, predict, where)}",
    )


def _advice(headroom: Headroom, choices: Choices, predict: Predictor, where: str) -> str:
    """Return the sentence that says what to try."""
    board, optimise, hop = choices.board, choices.optimise, choices.hop
    found = []
    longer = [other for other in choices.hops if other > hop]
    for other in longer[:_MAX_HOPS]:
        if _fits(other_headroom := predict(board, optimise, other)):
            found.append(f"{hop_advice(where, other, choices.hops)} ({_slowest(other_headroom)})")
            break
    goals = {
        goal: predicted for goal in choices.goals if (predicted := predict(board, goal, hop)) is not None
    }
    fitting_goals = [goal for goal in goals if _fits(goals[goal])]
    for goal in fitting_goals:
        found.append(f"use --optimise {goal} ({_slowest(goals[goal])})")
    for other_board in choices.boards:
        if _fits(other_headroom := predict(other_board, optimise, hop)):
            found.append(f"choose {other_board.name} ({_slowest(other_headroom)})")
            break
    if not any(text.startswith("choose") for text in found):
        found.append(f"choose a board that is {headroom.share() / (1 - _MARGIN):.2f} times as fast or faster")
    text = ", or ".join(found)
    fastest = min(goals, key=lambda goal: goals[goal].share(), default=None)
    if not fitting_goals and fastest is not None and goals[fastest].share() < headroom.share() - _MARGIN:
        text += f"; --optimise {fastest} alone is not enough, but faster ({_slowest(goals[fastest])})"
    return f"{text[0].upper()}{text[1:]}."


def _fits(headroom: Headroom | None) -> bool:
    return headroom is not None and headroom.headroom >= _MARGIN


def _slowest(headroom: Headroom | None) -> str:
    assert headroom is not None
    return f"the slowest window then takes {100 * headroom.share():.1f}%"
