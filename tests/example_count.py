"""How many examples Hypothesis tries: fewer if slow tests do not run."""

from __future__ import annotations

from hypothesis import settings

#: The default of Hypothesis.
FULL = 100


def example_count(full: int) -> int:
    """Return ``full``, or a share of it, at least 10, if the profile of a fast run is loaded (tests/conftest.py)."""
    return min(full, max(10, full * settings().max_examples // FULL))
