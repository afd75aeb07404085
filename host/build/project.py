"""Write a prepared model as a firmware project, and predict its sizes before the build."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import DoesNotFitError
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.mlperf_monitor import float_input_count, monitor_bytes
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.project import write_project
from arenite.firmware.sizes.prediction import Prediction, predict
from arenite.host.build.fit import choose
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board, MemoryRegion

#: The number of bytes that are added to the predicted deepest stack if the board has enough RAM. They are for the
#: user's interrupts and a debugger.
STACK_MARGIN = 128


@dataclass(frozen=True)
class Project:
    """A firmware project in ``directory``.

    ``prepared`` is planned for the board's kernels. ``second`` is the second memory that holds a part of the arena, or
    None if the complete arena is in the board's first memory. ``notes`` has sentences on the speed of the second
    memory.
    """

    directory: Path
    board: Board
    prepared: Prepared
    generated: Generated
    prediction: Prediction
    optimise: str
    protocol: str
    second: MemoryRegion | None = None
    notes: tuple[str, ...] = ()

    def arena_regions(self) -> list[dict[str, Any]]:
        """Return the predicted bytes of the arena in each memory."""
        return arena_regions(self.board, self.second, self.prediction.arena, self.prediction.arena_slow)


def arena_regions(board: Board, second: MemoryRegion | None, arena: int, slow: int) -> list[dict[str, Any]]:
    """Return one row per memory with its bytes of the arena. The arena has ``arena`` bytes; ``slow`` of these bytes are
    in the memory ``second``."""
    regions = [{"region": board.ram[0].name, "bytes": arena - slow}]
    return [*regions, {"region": second.name, "bytes": slow}] if second is not None else regions


def generate_project(
    prepared: Prepared,
    board: Board,
    directory: Path,
    options: BuildOptions = DEFAULT_BUILD,
) -> Project:
    """Write the firmware project that runs ``prepared`` on ``board`` into ``directory``.

    Raises ``DoesNotFitError`` with the number of missing bytes if the board is too small, and ``UsageError`` for
    options that exclude each other. In both cases, nothing was written.
    """
    protocol, features = options.protocol, options.features
    features.for_board(board, protocol)  # raises for options that exclude each other, before any work is done
    choice = choose(prepared, board, options)
    prepared, generated, optimise = choice.prepared, choice.generated, choice.optimise
    if not choice.verdict.fits:
        raise DoesNotFitError(
            f"{prepared.path.name} does not fit {board.name}: {'; '.join(choice.verdict.reasons)}.",
            f"`arenite fit {prepared.path} --all` shows the boards that it fits.",
        )
    toolchain = options.toolchain or GCC
    prediction = predict(generated, board, optimise, protocol, features, toolchain)
    features = replace(features, second_core_stack=prediction.second_core_stack)
    room = board.ram_bytes - (prediction.fast_ram - prediction.stack)
    stack = max(min(prediction.stack + STACK_MARGIN, room // 16 * 16), prediction.stack)
    write_project(
        directory,
        model_sources(generated),
        generated.engine_sources,
        board,
        protocol=protocol,
        optimise=optimise,
        stack_bytes=stack,
        stream_input=generated.streamed_input is not None,
        features=features,
        second=choice.second,
        toolchain=toolchain,
        input_bytes=monitor_bytes(generated.model.main),
        float_inputs=float_input_count(generated.model.main),
        manifest={
            "model": {
                "path": str(prepared.path),
                "sha256": prepared.sha256,
                "macs": prepared.source_macs,
                "name": generated.name,
            },
            "image_sha256": generated.sha256.hex(),
            "predicted": asdict(prediction),
        },
    )
    return Project(
        directory,
        board,
        prepared,
        generated,
        prediction,
        optimise,
        protocol,
        choice.second,
        choice.verdict.notes,
    )
