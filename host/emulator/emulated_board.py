"""A running emulated board, whichever program emulates it."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.host.link.transport import Transport
from arenite.profiles.boards import Board


@dataclass
class EmulatedBoard:
    """A running emulated board and the open transport of its serial port."""

    board: Board
    transport: Transport
