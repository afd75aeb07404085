"""Write the Zephyr application of a model that MCUboot and mcumgr of Zephyr update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.firmware.update.golden import golden_source
from arenite.firmware.update.zephyr_project import (
    ZephyrSigning,
    require_zephyr_updates,
    write_zephyr_program,
    zephyr_program,
)
from arenite.host.build.prepare import prepare
from arenite.host.build.project import STACK_MARGIN
from arenite.host.update.golden_samples import golden_samples
from arenite.host.update.keys import read_public_key, require_signing_key
from arenite.host.update.program_choice import choose_goal, program_model
from arenite.host.update.signed_image import KINDS, TLV_BOARD, TLV_KIND, ImageProperties
from arenite.host.update.update_build import UpdateOptions
from arenite.profiles.board import Board


@dataclass(frozen=True)
class ZephyrUpdate:
    """The files of an application by path, and the goal of the code generator."""

    files: Mapping[str, str]
    board: Board
    optimise: str

    def write(self, folder: Path) -> None:
        """Write the application into ``folder``. Raises ``UsageError`` if the folder has other files."""
        write_zephyr_program(folder, self.files, self.board, self.optimise)


def build_zephyr_update(model: Path, board: Board, options: UpdateOptions) -> ZephyrUpdate:
    """Make the application of the model or image at ``model`` for ``board``.

    Raises:
        UsageError: Zephyr has no partitions for two images on the board, or the key, the version, the file of the
            self-test or an option is not valid.
        DoesNotFitError: The model does not fit the board.
    """
    require_zephyr_updates(board)
    _refuse_options(board, options)
    require_signing_key(options.key, allow_test_key=options.allow_test_key)
    properties = ImageProperties(options.version, 0, board.name, "firmware")
    prepared = prepare(model, removes_channels=False)
    choice = choose_goal(prepared, board, options.optimise)
    golden = golden_source(golden_samples(prepared, options.golden))
    signing = ZephyrSigning(
        options.key.resolve(),
        len(read_public_key(options.key)),
        properties.version if "+" in properties.version else f"{properties.version}+0",
        {TLV_BOARD: board.name.encode(), TLV_KIND: bytes([KINDS["firmware"]])},
    )
    files = zephyr_program(
        program_model(choice, golden),
        board,
        signing,
        optimise=choice.optimise,
        stack_bytes=choice.verdict.needs.stack + STACK_MARGIN,
    )
    return ZephyrUpdate(files, board, choice.optimise)


def _refuse_options(board: Board, options: UpdateOptions) -> None:
    """Raise ``UsageError`` for options that need parts of Arenite's boot loader."""
    if options.model_only:
        raise UsageError(
            f"--model-only is not for {board.name}: the model is a part of the image that MCUboot replaces.",
            "Leave out --model-only, and push the whole image (docs/update-zephyr.md).",
        )
    if options.counter:
        raise UsageError(
            f"--counter is not for {board.name}: MCUboot does not compare security counters there.",
            "Leave out --counter.",
        )
    if options.record is not None:
        raise UsageError(
            f"--reference is not for {board.name}: the model is a part of the image that Zephyr signs.",
            "Leave out --reference, and name the file in the release (docs/fleet.md).",
        )
    if options.agent:
        raise UsageError(
            f"--agent is not for {board.name}: applications of Zephyr have no agent of a fleet.",
            "Leave out --agent.",
        )
