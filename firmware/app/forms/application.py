"""What the build files of an application for a real board are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arenite.firmware.app.drivers.driver import Driver
from arenite.firmware.app.forms.folders import INCLUDES, cmake_rows, sources_of
from arenite.firmware.boards.cores import optimise_flags
from arenite.profiles.board import Board


@dataclass(frozen=True)
class Application:
    """An application for a real board.

    Attributes:
        board: the board.
        files: the application's sources by their paths.
        driver: the driver of its sensor.
        optimise: ``speed``, ``ram``, ``flash`` or ``balanced``.
        defines: macros for all sources, each ``NAME=VALUE``.
        stack_bytes: the bytes of stack that the application needs, without those of a framework.
    """

    board: Board
    files: Mapping[str, str]
    driver: Driver
    optimise: str
    defines: Sequence[str]
    stack_bytes: int

    @property
    def options(self) -> str:
        """The compiler's options for the optimization level, and those that the engine needs."""
        return " ".join([*optimise_flags(self.optimise), "-fno-strict-overflow"])

    def macros(self, *more: str) -> list[str]:
        """Return the macros for all sources, and ``more``."""
        return [*self.defines, *self.driver.defines, f"ARENITE_BAUD={self.board.uart.baud}", *more]

    def cmake(self, root: str, *macros: str) -> dict[str, str]:
        """Return the parts of a CMake file by their names in its template. ``root`` leads from its folder to the
        application's, and ``macros`` are further macros."""
        return {
            "sources": cmake_rows(sources_of(self.files), root),
            "includes": " ".join(f"{root}{folder}" for folder in INCLUDES),
            "options": self.options,
            "defines": " ".join(self.macros(*macros)),
        }

    def stack(self, more: int, multiple: int) -> int:
        """Return the bytes of a stack with ``more`` bytes for a framework, rounded up to a multiple."""
        return -(-(self.stack_bytes + more) // multiple) * multiple
