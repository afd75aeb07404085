"""Write the ESP-IDF project of a model that takes updates, and sign the image of the model, for an ESP32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.firmware.espidf.update_partitions import MODEL, update_partitions
from arenite.firmware.update.esp_project import (
    MODEL_HEADER_BYTES,
    EspProgram,
    esp_program,
    write_esp_program,
)
from arenite.firmware.update.golden import golden_source
from arenite.host.build.prepare import prepare
from arenite.host.build.project import STACK_MARGIN
from arenite.host.update.agent_shape import agent_shape
from arenite.host.update.calibration_record import record_of
from arenite.host.update.golden_samples import golden_samples
from arenite.host.update.image_pair import MIN_STACK_BYTES
from arenite.host.update.keys import read_public_key, require_signing_key
from arenite.host.update.program_choice import choose_goal, program_model
from arenite.host.update.signed_image import ImageProperties, sign_image
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.board import Board


@dataclass(frozen=True)
class EspUpdate:
    """The project of a program without the image of its model, that image, and the goal of the code generator."""

    program: EspProgram
    board: Board
    image: bytes
    optimise: str

    def write(self, folder: Path) -> None:
        """Write the project into ``folder``. Raises ``UsageError`` if the folder has other files."""
        write_esp_program(folder, self.program, self.board, self.image, self.optimise)


def build_esp_update(
    model: Path, board: Board, options: UpdateOptions, on_start: Callable[[str], None] = lambda _: None
) -> EspUpdate:
    """Make the project of the model or image at ``model`` for ``board``, and the signed image of the model.

    ``on_start`` is called with a sentence about what is going to run.

    Raises:
        UsageError: The board is no ESP32, or the key, the version, the file of the self-test or an option is not valid.
        DoesNotFitError: The model does not fit the board or its partition.
        ToolError: A compiler or imgtool is missing or failed.
    """
    slot_bytes = next(p.size for p in update_partitions(board) if p.name == MODEL[0])
    require_signing_key(options.key, allow_test_key=options.allow_test_key)
    properties = ImageProperties(
        options.version, options.counter, board.name, "model", bytes(32), MODEL_HEADER_BYTES
    )
    prepared = prepare(model, removes_channels=False)
    properties = replace(properties, record=record_of(prepared, options.record))
    choice = choose_goal(prepared, board, options.optimise)
    golden = golden_source(golden_samples(prepared, options.golden))
    on_start(
        f"Compiling the constants of {prepared.path.name} for {board.name}, --optimise {choice.optimise}"
    )
    program = esp_program(
        program_model(choice, golden),
        board,
        read_public_key(options.key),
        optimise=choice.optimise,
        stack_bytes=max(choice.verdict.needs.stack + STACK_MARGIN, MIN_STACK_BYTES),
        agent=agent_shape(prepared.model) if options.agent else None,
    )
    image = sign_image(
        program.data.payload,
        replace(properties, abi=program.abi),
        options.key,
        slot_bytes,
        allow_test_key=options.allow_test_key,
    )
    return EspUpdate(program, board, image, choice.optimise)
