"""The zoo's language model for slow tests, which its first use downloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.models import zoo

NAME = "smollm2_135m"


def smollm2() -> Path:
    """Return the path of the file. Skip the test if it cannot be downloaded."""
    try:
        return zoo.fetch(NAME, progress=False)
    except ToolError as error:
        if "Could not download" not in error.problem:
            raise
        pytest.skip(error.problem)
