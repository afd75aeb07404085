"""Find and read the C sources of firmware by base name."""

from __future__ import annotations

from pathlib import Path

from arenite.c_sources import SourceTree

#: Kernels and the headers that they share.
ENGINE = SourceTree(Path(__file__).parent / "engine")
#: Start-up code, ports and the serial agent.
BOARDS = SourceTree(Path(__file__).parent / "boards")
