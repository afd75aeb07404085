"""Check the options of data sets whose samples have a fixed size."""

from __future__ import annotations

from arenite.errors import UsageError


def reject_resolution(name: str, resolution: int | None) -> None:
    """Raise ``UsageError`` if the user gave a resolution for the data set ``name``, whose samples are not pictures."""
    if resolution is not None:
        raise UsageError(
            f"The data '{name}' are not pictures and have no resolution.", "Remove --resolution."
        )
