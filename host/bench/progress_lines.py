"""The format in which a bench reports its progress to another program: lines ``@progress STEP DONE TOTAL`` on standard
error."""

from __future__ import annotations

#: The environment variable that enables these lines with the value ``lines``.
LINES_MODE = "ARENITE_PROGRESS"
PROGRESS_PREFIX = "@progress"
