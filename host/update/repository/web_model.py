"""Read a model for web pages: the folder of a page that ``arenite web --page`` wrote.

The folder has ``model.json``, which describes the model and names its WebAssembly modules with their hashes. A browser
downloads the description and the one module that it can run.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.host.update.repository.file_reader import read_file

#: The file with the description, and the schema of its object.
DESCRIPTION, SCHEMA = "model.json", "arenite.web-model/1"
#: The longest description, and the longest module, in bytes. The page has the same limits.
MAX_DESCRIPTION_BYTES, MAX_MODULE_BYTES = 1_000_000, 2**28
_MODULE = re.compile(r"[a-z0-9-]{1,64}\.wasm")


def read_web_model(folder: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the description of the model in ``folder``, and its modules by their file names.

    Raises ``UsageError`` if the folder has no page, or if a module differs from its description.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise UsageError(
            f"{folder} has no model for web pages: the file {DESCRIPTION} is missing.",
            "Give the folder of a page, which `arenite web IMAGE -o DIR --page SOURCE` writes.",
        )
    description = read_file(path, MAX_DESCRIPTION_BYTES)
    modules = {}
    for name, sha256 in _modules(path, description):
        module = read_file(folder / name, MAX_MODULE_BYTES)
        if hashlib.sha256(module).hexdigest() != sha256:
            raise UsageError(
                f"{folder / name} is not the module that {DESCRIPTION} describes.",
                "Write the page again with `arenite web`.",
            )
        modules[name] = module
    return description, modules


def _modules(path: Path, description: bytes) -> list[tuple[str, str]]:
    """Return the name and the SHA-256 of each module that ``description`` names."""
    try:
        content: Any = json.loads(description)
        files = [(file["name"], file["sha256"]) for file in content["files"]]
        valid = content["schema"] == SCHEMA and len(content["models"]) == 1
    except (ValueError, KeyError, TypeError, RecursionError):
        files, valid = [], False
    if not valid or not files or not all(isinstance(n, str) and _MODULE.fullmatch(n) for n, _ in files):
        raise UsageError(
            f"{path} does not describe a model for web pages.", "Write the page again with `arenite web`."
        )
    return files
