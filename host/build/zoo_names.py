"""Tell the name of a zoo model from a file that does not exist."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import UsageError
from arenite.models.manifest import manifest


def refuse_zoo_name(source: str | Path) -> None:
    """Raise ``UsageError`` if ``source`` is no file but the name of a model of the zoo, where a file is needed. The
    hint says how to get the file, or which commands take a language model."""
    name = str(source)
    item = None if Path(name).suffix else manifest().models.get(name)
    if item is None or Path(name).exists():
        return
    if item.is_language_model:
        raise UsageError(
            f"The zoo's {name} is a language model, which is too large for a microcontroller.",
            "Run it on a computer: `arenite fit`, `chat`, `bench` and `serve` take it.",
        )
    raise UsageError(
        f"{name} is a model of the zoo, and there is no file with this name.",
        f"Give the path that `arenite zoo fetch {name}` prints.",
    )
