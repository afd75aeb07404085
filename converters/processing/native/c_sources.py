"""The C sources of pre- and postprocessing, decisions and the anomaly head, by base name."""

from __future__ import annotations

from pathlib import Path

from arenite.c_sources import SourceTree

_CONVERTERS = Path(__file__).parents[2]

#: The host's library contains all of these sources; ``setup.py`` lists the same folders.
PROCESSING = SourceTree(*(_CONVERTERS / part / "c" for part in ("processing", "decision", "anomaly")))
