"""The C sources of pre- and postprocessing, by base name."""

from __future__ import annotations

from pathlib import Path

from arenite.c_sources import SourceTree

PROCESSING = SourceTree(Path(__file__).parents[1] / "c")
