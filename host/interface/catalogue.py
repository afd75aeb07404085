"""``boards`` lists the known boards, ``zoo`` lists and downloads models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from arenite.models import zoo as zoo_files
from arenite.models.manifest import ZooEntry
from arenite.profiles.boards import Board, all_boards


def boards() -> list[Board]:
    """Return every known board with core, clock and memory sizes in bytes. Emulated boards come first."""
    return sorted(all_boards(), key=lambda board: (not board.emulated, board.name))


class Zoo:
    """The model zoo: real trained models, which are downloaded on demand and checked against their hashes."""

    def __iter__(self) -> Iterator[ZooEntry]:
        return iter(self.list())

    def list(self) -> list[ZooEntry]:
        """Return every model: name, task, size in bytes, license, recorded accuracy."""
        return zoo_files.zoo_entries()

    def fetch(self, name: str, *, progress: bool = False) -> Path:
        """Return the path of a model's file. The file is downloaded first if the cache does not have it.

        Raises:
            UsageError: the zoo has no such model.
            ToolError: the download failed, or its hash is wrong.
        """
        return zoo_files.fetch(name, progress=progress)

    def is_cached(self, name: str) -> bool:
        """Return whether the model is in the cache. Raises ``UsageError`` if the zoo has no such model."""
        return zoo_files.is_cached(zoo_files.zoo_entry(name))


#: The zoo: ``arenite.zoo.list()``, ``arenite.zoo.fetch(name)``.
zoo = Zoo()
