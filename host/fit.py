"""What a prepared model needs on a board, from stored kernel sizes and timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        arena=p.arena,
        static=p.static,
        stack=p.stack,
        weights=p.weights,
        code=p.code,
        exact=p.exact,
        instructions=estimate_instructions(generated, target_of(board).core),
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
    """The build that ``optimise`` asks for; with None the first of ``AUTOMATIC`` that fits the board.

    ``stream_input``: the model takes its input row by row; ``UsageError`` when it cannot.
    When it does not fit, the verdict says what is missing and which mode would help.
    """
    modes = [optimise] if optimise is not None else list(AUTOMATIC)
    tried = [_build(prepared, board, mode, protocol, stream_input) for mode in modes[:1]]
    for mode in modes[1:]:
        if fit(tried[-1][2], board).fits:
            break
        tried.append(_build(prepared, board, mode, protocol, stream_input))
    target, generated, wanted = tried[-1]
    others: list[tuple[str, Needs]] = []
    if optimise is not None and not fit(wanted, board).fits:
        for mode in AUTOMATIC[1:]:
            if mode != optimise:
                others.append(
                    (f"--optimise {mode}", _build(prepared, board, mode, protocol, stream_input)[2])
                )
    return Choice(target.target.optimise, target, generated, fit(wanted, board, others))


def _build(
    prepared: Prepared, board: Board, optimise: str, protocol: str, stream_input: bool
) -> tuple[Prepared, Generated, Needs]:
    target = prepared.retarget(Target.of(board.core, optimise, stream_input))
    generated = target.generated
    return target, generated, needs(generated, board, optimise, protocol)


def verdicts(prepared: Prepared, boards: Sequence[Board], optimise: str | None) -> list[Verdict]:
    """One verdict per board; the model is lowered once per kind of core."""
    return [choose(prepared, board, optimise).verdict for board in boards]
