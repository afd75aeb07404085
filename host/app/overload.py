"""Warn of an application whose windows are predicted to take longer than there is time, and find out what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from arenite.host.app.headroom import Headroom
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
        step: ``hop`` is a multiple of this number of samples.
        longest_hop: the longest hop that the model can have, in samples.
        boards: other boards.
        goals: other goals of --optimise.
    """

    board: Board
    optimise: str
    hop: int
    step: int
    longest_hop: int
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
    longer = range(hop + choices.step, choices.longest_hop + 1, choices.step)[:_MAX_HOPS]
    for other in longer:
        if _fits(other_headroom := predict(board, optimise, other)):
            found.append(f"set hop in {where} to {other} or more ({_slowest(other_headroom)})")
            break
    for goal in choices.goals:
        if _fits(other_headroom := predict(board, goal, hop)):
            found.append(f"use --optimise {goal} ({_slowest(other_headroom)})")
    for other_board in choices.boards:
        if _fits(other_headroom := predict(other_board, optimise, hop)):
            found.append(f"choose {other_board.name} ({_slowest(other_headroom)})")
            break
    if not any(text.startswith("choose") for text in found):
        found.append(f"choose a board that is {headroom.share() / (1 - _MARGIN):.2f} times as fast or faster")
    text = ", or ".join(found)
    return f"{text[0].upper()}{text[1:]}."


def _fits(headroom: Headroom | None) -> bool:
    return headroom is not None and headroom.headroom >= _MARGIN


def _slowest(headroom: Headroom | None) -> str:
    assert headroom is not None
    return f"the slowest window then takes {100 * headroom.share():.1f}%"
