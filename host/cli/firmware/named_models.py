"""Read the arguments ``[NAME=]IMAGE...``, with which a command takes several models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.build.library import named_image
from arenite.host.interface.model import Model, load


def load_named(images: Sequence[str], *, passes: bool) -> dict[str, Model]:
    """Load the models ``images``, each ``IMAGE`` or ``NAME=IMAGE``, and return them by name.

    Raises ``UsageError`` for two models with one name, before any model is loaded.
    """
    paths: dict[str, Path] = {}
    for text in images:
        name, path = named_image(text)
        if name in paths:
            raise UsageError(f"Two models are called '{name}'.", "Name them: NAME=IMAGE.")
        paths[name] = path
    return {name: load(path, passes=passes) for name, path in paths.items()}
