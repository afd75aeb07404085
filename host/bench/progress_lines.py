"""The format in which a bench reports its progress to another program: lines ``@progress STEP DONE TOTAL`` on standard
error."""

from __future__ import annotations

#: The environment variable that enables the progress lines if its value is ``lines``.
LINES_MODE = "ARENITE_PROGRESS"
PROGRESS_PREFIX = "@progress"
