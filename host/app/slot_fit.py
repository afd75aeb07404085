"""Predict the images of an application with updates, and compare them with their slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.firmware.app.update_parts import MANIFEST_ENTRY
from arenite.firmware.boards.cores import core_named
from arenite.firmware.sizes.app_compilation import has_compiler
from arenite.firmware.sizes.app_prediction import AppPrediction
from arenite.firmware.update.layout import update_layout
from arenite.host.app.updates import recorded_signing
from arenite.host.update.image_pair import pair_bytes
from arenite.profiles.board import Board


@dataclass(frozen=True)
class SlotFit:
    """The bytes of the signed images, and those of their slots. With an ECDSA key, the images are at most as long."""

    firmware: int
    model: int
    firmware_slot: int
    model_slot: int

    @property
    def reasons(self) -> list[str]:
        """Why the images do not fit."""
        rows = (
            ("firmware", self.firmware - self.firmware_slot),
            ("model", self.model - self.model_slot),
        )
        return [f"needs {count:,} B more in the slot of the {name}" for name, count in rows if count > 0]

    def to_json(self) -> dict[str, Any]:
        """Return the entry ``slots`` of schema ``arenite.fit/1``."""
        return {
            "firmware": {"needed": self.firmware, "available": self.firmware_slot},
            "model": {"needed": self.model, "available": self.model_slot},
        }


def require_compiler(manifest: Mapping[str, Any], board: Board) -> None:
    """Raise ``ToolError`` if the compiler is missing that the sizes of an application with updates need."""
    if MANIFEST_ENTRY in manifest and not has_compiler(board):
        core = core_named(board.core)
        raise ToolError(
            f"The sizes of an application with updates are those of its compiler, and {core.prefix}gcc is missing.",
            f"Install it: apt install {core.package}",
        )


def slot_fit(
    prediction: AppPrediction, manifest: Mapping[str, Any], board: Board, directory: Path
) -> SlotFit | None:
    """Return the images of the application in ``directory``, whose sizes are ``prediction``; None if it takes no
    updates. The model's image has its constants and weights, that of the firmware everything else.

    Raises ``UsageError`` if the manifest or its key is not valid.
    """
    if MANIFEST_ENTRY not in manifest:
        return None
    p, layout = prediction, update_layout(board)
    payloads = (p.text - p.tables + p.data, p.tables + p.weights)
    firmware, model = pair_bytes(board, recorded_signing(manifest[MANIFEST_ENTRY], directory), payloads)
    return SlotFit(firmware, model, layout.firmware[0].size, layout.model[0].size)
