"""Make the lock files in ``requirements/``: ``python -m tests.supply_chain.project_locks``.

``setup.sh`` and the workflows install the packages of these files, and pip refuses every other file. A lock file lists
every package that an extra of ``pyproject.toml`` needs on Linux and macOS, for every Python version that Arenite
supports, with the SHA-256 hashes of all files of the package's version. It needs uv and the network.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from arenite.converters.importers.make_locks import entries, resolve
from arenite.errors import ToolError
from arenite.files import write_atomic

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "requirements"
#: The name of the lock file of the package without extras. The other files have the names of their extras.
CORE = "core"
#: The name of the lock file of the packages that only build a wheel.
BUILD = "build-system"
#: The lock file of everything, which decides the versions in the other files.
ALL = "dev"
NAMES = (ALL, BUILD, CORE, "bench", "demo", "camera", "test", "docs", "release")
#: Versions that uv would choose wrongly: LiteRT needs this package, and uv ignores that 1.3.1 excludes Python 3.11.
_OVERRIDES = ("backports.strenum==1.2.8",)
_HEADER = "# Made by `make locks` from pyproject.toml. Do not edit.\n"


def project() -> dict[str, Any]:
    """Return the contents of ``pyproject.toml``."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def requirements_of(name: str, settings: dict[str, Any] | None = None) -> list[str]:
    """Return the requirements that the lock file ``name`` locks. Those of an extra include those of the package itself,
    and those of its build, which ``pip install --no-build-isolation`` needs."""
    settings = project() if settings is None else settings
    requirements = [*(settings["build-system"]["requires"] if name != CORE else ())]
    if name != BUILD:
        requirements += settings["project"]["dependencies"]
    pending, seen = [name] if name not in (BUILD, CORE) else [], set[str]()
    while pending:
        extra = pending.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in settings["project"]["optional-dependencies"][extra]:
            if requirement.startswith("arenite["):
                pending += requirement.removeprefix("arenite[").removesuffix("]").split(",")
            else:
                requirements.append(requirement)
    return sorted(set(requirements))


def main() -> None:
    """Write all lock files. Raises ``ToolError`` if uv is missing or finds no set of versions."""
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        overrides, versions = Path(folder) / "overrides.txt", Path(folder) / "versions.txt"
        overrides.write_text("\n".join(_OVERRIDES))
        versions.touch()
        for name in NAMES:
            path = FOLDER / f"{name}.txt"
            lock = resolve(requirements_of(name), f"--overrides={overrides}", f"--constraints={versions}")
            if name == ALL:
                versions.write_text("\n".join(entry.partition(" \\\n")[0] for entry in entries(lock)))
            write_atomic(path, (_HEADER + lock).encode())
            print(path)


if __name__ == "__main__":
    try:
        main()
    except ToolError as error:
        sys.exit(str(error))
