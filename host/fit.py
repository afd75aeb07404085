"""What a prepared model needs on a board, from stored kernel sizes and timing."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.fit import Needs, Verdict, fit
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.generator.generate import Generated
from arenite.firmware.sizes.predict import predict
from arenite.firmware.sizes.targets import target_of
from arenite.firmware.sizes.timing import estimate_instructions
from arenite.host.prepare import Prepared
from arenite.profiles.boards import Board


def needs(generated: Generated, board: Board, optimise: str) -> Needs:
    """Bytes and estimated instructions of the firmware with the arenite protocol."""
    p = predict(generated, board, optimise)
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


def verdicts(prepared: Prepared, boards: Sequence[Board], optimise: str) -> list[Verdict]:
    """One verdict per board; the model is lowered once."""
    generated = prepared.generate()
    found = []
    for board in boards:
        chosen = needs(generated, board, optimise)
        others = [("--optimise flash", needs(generated, board, "flash"))] if optimise != "flash" else []
        found.append(fit(chosen, board, others))
    return found
