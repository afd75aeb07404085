"""Data whose size is not a matter of choice."""

from __future__ import annotations

from arenite.errors import UsageError


def reject_resolution(name: str, resolution: int | None) -> None:
    """``UsageError`` where a resolution is asked of data that are no pictures."""
    if resolution is not None:
        raise UsageError(
            f"The data '{name}' are no pictures and have no resolution.", "Leave --resolution out."
        )
