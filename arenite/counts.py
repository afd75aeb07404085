"""Counts in sentences."""

from __future__ import annotations


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return the count with the noun in the singular or plural: "1 tensor", "3,000 tensors". ``plural`` is that of a
    noun that gets more than an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
