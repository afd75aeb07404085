"""Find the package that certificates need."""

from __future__ import annotations

from importlib.util import find_spec

from arenite.errors import UsageError


def require_cryptography() -> None:
    """Raise ``UsageError`` if the package cryptography is missing. Call this before an import of the modules that need
    it."""
    if find_spec("cryptography") is None:
        raise UsageError(
            "Certificates of a fleet need the package cryptography.",
            "Install it: pip install 'arenite[fleet]'.",
        )
