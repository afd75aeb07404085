"""Arenite: from a trained model to measured, bit-exact firmware, and a camera loop for edge boards."""

from pathlib import Path

if (Path(__file__).parent / "host").is_file():
    raise ImportError(
        "This checkout of Arenite has no symbolic links: arenite/host is a plain file. "
        "Run `git config core.symlinks true`, then `git checkout -- arenite` "
        "(on Windows with developer mode switched on)."
    )
