"""The C sources of the anomaly head, by base name."""

from __future__ import annotations

from pathlib import Path

from arenite.c_sources import SourceTree

ANOMALY = SourceTree(Path(__file__).parent / "c")
