"""Which boards take updates, for the messages that refuse another one."""

from __future__ import annotations

from arenite.firmware.update.zephyr_boards import ZEPHYR_UPDATE_BOARDS
from arenite.profiles.boards import all_boards


def update_boards_hint() -> str:
    """Return a sentence that names the boards for which ``arenite update build`` builds something."""
    emulated = [board.name for board in all_boards() if board.emulated and board.update is not None]
    return (
        f"Choose an emulated board ({', '.join(sorted(emulated))}), an ESP32 (esp32dev and others), or "
        f"a board of Zephyr ({', '.join(ZEPHYR_UPDATE_BOARDS)})."
    )
