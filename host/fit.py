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


def verdict(generated: Generated, board: Board, optimise: str, protocol: str = "arenite") -> Verdict:
    """Does the firmware fit the board; if not, by how much, and would ``--optimise flash`` help?"""
    others = []
    if optimise != "flash":
        others.append(("--optimise flash", needs(generated, board, "flash", protocol)))
    return fit(needs(generated, board, optimise, protocol), board, others)


def verdicts(prepared: Prepared, boards: Sequence[Board], optimise: str) -> list[Verdict]:
    """One verdict per board; the model is lowered once."""
    generated = prepared.generate()
    return [verdict(generated, board, optimise) for board in boards]
