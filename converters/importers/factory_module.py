"""Find the module of a source ``module:function`` before PyTorch starts, which takes up to a minute."""

from __future__ import annotations

import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from arenite.converters.importers.environments import directory, specs
from arenite.errors import UsageError

#: Text with which a module can define names that its source does not contain.
_HIDDEN_NAMES = re.compile(r"import\s*\(?\s*\*|__getattr__|\b(?:globals|setattr|vars|exec)\b")

#: The part of a requirement such as ``torch==2.9`` that names the package.
_PACKAGE = re.compile(r"[\w.-]+")


def check_factory(source: str) -> None:
    """Raise ``UsageError`` if the module of ``source`` (module:function) does not exist, or cannot have the function.

    The module is not imported. A module that is in doubt is accepted, because the process that imports it reports
    every error.
    """
    name, _, function = source.partition(":")
    top = name.split(".")[0]
    if top in sys.stdlib_module_names or top in _packages():
        return
    spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path, *_installed()])
    if spec is None:
        raise UsageError(
            f"There is no module '{name}' in this folder.",
            "Start Arenite in the folder that contains the module.",
        )
    path = Path.cwd().joinpath(*name.split(".")).with_suffix(".py")
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):  # a package, or a compiled module
        return
    if not re.search(rf"\b{re.escape(function)}\b", text) and not _HIDDEN_NAMES.search(text):
        raise UsageError(f"The module '{name}' has no function '{function}'.", "Check the name.")


def _packages() -> set[str]:
    """Return the names of the packages that the environment for PyTorch is made of."""
    matches = (_PACKAGE.match(requirement) for requirement in specs()["torch"].requires)
    return {match.group().replace("-", "_") for match in matches if match}


def _installed() -> list[str]:
    """Return the folders with the packages of the environment for PyTorch, or an empty list if it is not created."""
    folder = directory(specs()["torch"])
    return [
        str(path) for pattern in ("lib/*/site-packages", "Lib/site-packages") for path in folder.glob(pattern)
    ]
