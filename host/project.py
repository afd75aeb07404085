"""A prepared model as a firmware project on disk, with what is known of it before the build."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from arenite.converters.errors import DoesNotFitError
from arenite.firmware.generator.generate import Generated
from arenite.firmware.generator.project import write_project
from arenite.firmware.sizes.predict import Prediction, predict
from arenite.host.fit import choose
from arenite.host.prepare import Prepared
from arenite.profiles.boards import Board

#: Reserved beyond the predicted deepest stack where the board has room: for interrupts of user code, and a debugger.
STACK_MARGIN = 128


@dataclass(frozen=True)
class Project:
    directory: Path
    board: Board
    prepared: Prepared  # planned for the board's kernels
    generated: Generated
    prediction: Prediction
    optimise: str
    protocol: str


def generate_project(
    prepared: Prepared,
    board: Board,
    directory: Path,
    *,
    optimise: str | None = None,
    protocol: str = "arenite",
    stream_input: bool = False,
) -> Project:
    """Write the project. With no ``optimise`` it is the fastest that fits the board; ``stream_input``: the model takes
    its input row by row.

    When the board is too small, raises ``DoesNotFitError`` with the number of missing bytes before it writes anything.
    """
    choice = choose(prepared, board, optimise, protocol, stream_input=stream_input)
    prepared, generated, optimise = choice.prepared, choice.generated, choice.optimise
    if not choice.verdict.fits:
        raise DoesNotFitError(
            f"{prepared.path.name} does not fit {board.name}: {'; '.join(choice.verdict.reasons)}.",
            f"`arenite fit {prepared.path} --all` shows the boards that it fits.",
        )
    prediction = predict(generated, board, optimise, protocol)
    room = board.ram_bytes - prediction.arena - prediction.static
    stack = max(min(prediction.stack + STACK_MARGIN, room // 16 * 16), prediction.stack)
    write_project(
        directory,
        generated.sources(),
        generated.engine_sources,
        board,
        protocol=protocol,
        optimise=optimise,
        stack_bytes=stack,
        stream_input=generated.pushed is not None,
        input_bytes=sum(generated.model.main.tensors[i].nbytes for i in generated.model.main.inputs),
        manifest={
            "model": {"path": str(prepared.path), "sha256": prepared.sha256, "macs": prepared.source_macs},
            "image_sha256": generated.sha256.hex(),
            "predicted": asdict(prediction),
        },
    )
    return Project(directory, board, prepared, generated, prediction, optimise, protocol)
