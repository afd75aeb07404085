"""The repository of models that a page's server also serves, if the page's address of it is relative to the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath

from arenite.errors import UsageError

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"
#: The files that clients of a repository read.
_FILE = re.compile(rf"metadata/{_NAME}\.json|targets/({_NAME}/)?{_NAME}")


@dataclass(frozen=True)
class ServedRepository:
    """The repository in ``folder``, whose address on the server of the page begins with ``prefix``."""

    folder: Path
    prefix: str  # with slashes at both ends

    def find(self, path: str) -> Path | None:
        """Return the file at the address ``path``, or None if it is no file of the repository. Files are looked up at
        every request, because the publisher changes them."""
        if not path.startswith(self.prefix):
            return None
        name = path[len(self.prefix) :]
        file = self.folder / name
        return file if _FILE.fullmatch(name) and file.is_file() else None


def served_repository(page: Path, address: str) -> ServedRepository:
    """Return the repository at ``address``, which is relative to the page in the folder ``page``. Browsers drop ``..``
    above the top of a server, so ../models of a page at the top is at /models.

    Raises ``UsageError`` if the folder has no repository.
    """
    folder = (page / address).resolve()
    if not (folder / "metadata").is_dir():
        raise UsageError(
            f"The page looks for its repository at {address}, but the folder {folder} has none.",
            "Make it with `arenite update repository init`, or give the https address of a repository to --updates.",
        )
    return ServedRepository(folder, normpath(f"/{address}").rstrip("/") + "/")
