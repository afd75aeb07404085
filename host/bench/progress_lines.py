"""How a bench that another program runs tells its progress: lines on standard error, ``@progress STEP DONE TOTAL``."""

from __future__ import annotations

#: ``lines`` in the environment asks for such lines.
LINES_MODE = "ARENITE_PROGRESS"
PROGRESS_PREFIX = "@progress"
