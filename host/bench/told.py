"""How a bench that another program runs tells its progress: lines on standard error, ``@progress STEP DONE TOTAL``."""

from __future__ import annotations

#: ``lines`` in the environment asks for such lines.
LINES = "ARENITE_PROGRESS"
MARK = "@progress"
