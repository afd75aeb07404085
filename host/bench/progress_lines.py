"""The progress of a bench that another program started: lines on standard error, ``@progress STEP DONE
TOTAL``."""

from __future__ import annotations

#: The value ``lines`` of this environment variable turns the lines on.
LINES_MODE = "ARENITE_PROGRESS"
PROGRESS_PREFIX = "@progress"
