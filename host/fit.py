"""What a prepared model needs on a board, from stored kernel sizes and timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arenite.converters.errors import UsageError
from arenite.converters.fit import Needs, Verdict, fit
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.generator.generate import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.predict import predict
from arenite.firmware.sizes.targets import target_of
from arenite.firmware.sizes.timing import estimate_instructions
from arenite.host.prepare import Prepared
from arenite.profiles.boards import Board


def needs(generated: Generated, board: Board, optimise: str, protocol: str = "arenite") -> Needs:
    """Bytes and estimated instructions of the firmware that serves the model by ``protocol``."""
    p = predict(generated, board, optimise, protocol)
    return Needs(
        optimise=optimise,
        arena=p.arena,
        static=p.static,
        stack=p.stack,
        weights=p.weights,
        code=p.code,
        exact=p.exact,
        instructions=estimate_instructions(generated, target_of(board).core, optimise),
        cycles_per_instruction=cpi_of(board.core),
    )


#: Tried in this order when the user names no goal: the fastest first, then what gives up speed for memory.
AUTOMATIC = ("speed", "balanced", "ram", "flash")


@dataclass(frozen=True)
class Choice:
    """A way to build a model for a board: how it is optimised, and the verdict on it."""

    optimise: str
    prepared: Prepared
    generated: Generated
    verdict: Verdict


def choose(
    prepared: Prepared,
    board: Board,
    optimise: str | None,
    protocol: str = "arenite",
    *,
    stream_input: bool = False,
) -> Choice:
    """The build that ``optimise`` asks for; with None the first of ``AUTOMATIC`` that fits the board, and where none
    does the one that misses the fewest bytes.

    ``stream_input``: the model takes its input row by row; ``UsageError`` when it cannot.
    When it does not fit, the verdict says what is missing and what would help.
    """
    tried: dict[str, Choice] = {}

    def build(mode: str) -> Choice:
        if mode not in tried:
            tried[mode] = _build(prepared, board, mode, protocol, stream_input)
        return tried[mode]

    for mode in AUTOMATIC if optimise is None else (optimise,):
        if build(mode).verdict.fits:
            return build(mode)
    chosen = min(tried.values(), key=lambda choice: choice.verdict.missing)
    others = [
        (f"--optimise {mode}", build(mode).verdict.needs) for mode in AUTOMATIC if mode != chosen.optimise
    ]
    if not stream_input:
        others += _streamed(prepared, board, protocol)
    return replace(chosen, verdict=fit(chosen.verdict.needs, board, others))


def _streamed(prepared: Prepared, board: Board, protocol: str) -> list[tuple[str, Needs]]:
    """What a build that takes its input row by row needs; nothing where the model or the protocol cannot."""
    if protocol != "arenite":
        return []
    try:
        return [
            ("--optimise ram --stream-input", _build(prepared, board, "ram", protocol, True).verdict.needs)
        ]
    except UsageError:
        return []


def _build(prepared: Prepared, board: Board, optimise: str, protocol: str, stream_input: bool) -> Choice:
    planned = prepared.retarget(Target.of(board.core, optimise, stream_input))
    wanted = needs(planned.generated, board, optimise, protocol)
    return Choice(optimise, planned, planned.generated, fit(wanted, board))


def verdicts(
    prepared: Prepared, boards: Sequence[Board], optimise: str | None, *, stream_input: bool = False
) -> list[Verdict]:
    """One verdict per board; the model is lowered once per kind of core."""
    return [choose(prepared, board, optimise, stream_input=stream_input).verdict for board in boards]
