"""Make the lock files of the environments in ``environments.toml``.

Run ``python -m arenite.converters.importers.make_locks [NAME ...]`` after a change to ``environments.toml``. It needs
uv (``pip install uv``) and the network. A lock file lists every package that an environment needs on Linux and macOS,
for every Python version that Arenite supports, with the SHA-256 hashes of all files of the package's version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from arenite.converters.importers.environments import LOCK_FOLDER
from arenite.errors import ToolError, UsageError
from arenite.files import write_atomic

_OLDEST_PYTHON = "3.11"
_HEADER = "# Made by `make locks` from environments.toml. Do not edit.\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def resolve(requires: Sequence[str], *options: str) -> str:
    """Return the text of a requirements file with the packages ``requires``, all their dependencies and all hashes.

    ``options`` are additional options of ``uv pip compile``, which resolves the versions. Raises ``ToolError`` if uv is
    missing or finds no set of versions.
    """
    uv = shutil.which("uv")
    if uv is None:
        raise ToolError("The lock files are made with uv, which is not installed.", "Run `pip install uv`.")
    command = [
        uv,
        "pip",
        "compile",
        "-",
        "--universal",
        f"--python-version={_OLDEST_PYTHON}",
        "--generate-hashes",
    ]
    run = subprocess.run(
        [*command, "--quiet", "--no-header", "--no-annotate", *options],
        input="\n".join(requires),
        capture_output=True,
        text=True,
    )
    if run.returncode != 0:
        raise ToolError(
            f"uv found no versions for {', '.join(requires)}: {run.stderr.strip()}",
            "Change the versions in environments.toml.",
        )
    return run.stdout


def entries(lock: str) -> list[str]:
    """Return the requirements in the text of a requirements file. Each includes the lines of its hashes."""
    return [entry for entry in re.split(r"\n(?=[^\s#])", "\n" + lock.strip() + "\n") if _NAME.match(entry)]


def partition(lock: str, replaces: Sequence[str]) -> tuple[str, str]:
    """Split the text of a requirements file into two texts.

    An environment may have a smaller build of some packages (key ``first`` in environments.toml). ``replaces`` has
    patterns (with ``*``) of the names of packages that this build makes unnecessary. The first text has the packages
    that match no pattern, which are always installed. The second text has those that match one, the fallback, which are
    installed only if the smaller build is not available.
    """
    always: list[str] = []
    fallback: list[str] = []
    for entry in entries(lock):
        name = _NAME.match(entry)
        assert name is not None
        covered = any(fnmatch(name[0].lower(), pattern) for pattern in replaces)
        (fallback if covered else always).append(entry.rstrip() + "\n")
    return "".join(always), "".join(fallback)


def _still_valid(path: Path, requires: Sequence[str]) -> bool:
    """Return whether the lock file at ``path`` holds exactly the pins in ``requires``."""
    pins = {entry.split()[0] for entry in entries(path.read_text("utf-8"))} if path.exists() else set()
    return pins == set(requires)


def make(name: str, table: Mapping[str, Any]) -> list[Path]:
    """Write the lock files of the environment ``name`` and return their paths. Raises ``ToolError``."""
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        overrides = Path(folder) / "overrides.txt"
        overrides.write_text("\n".join(table.get("overrides", ())))
        lock = resolve(table["requires"], f"--overrides={overrides}")
    always, fallback = partition(lock, table.get("replaces", ()))
    files = {f"{name}.txt": always}
    if "first" in table:
        files[f"{name}.fallback.txt"] = fallback
        try:
            files[f"{name}.first.txt"] = resolve(
                table["first"], "--no-deps", f"--default-index={table['index']}"
            )
        except ToolError:
            if not _still_valid(LOCK_FOLDER / f"{name}.first.txt", table["first"]):
                raise
            print(
                f"{table['index']} gave no answer; {name}.first.txt is kept, because it has the same versions.",
                file=sys.stderr,
            )
    for file_name, text in files.items():
        write_atomic(LOCK_FOLDER / file_name, (_HEADER + text).encode())
    return [LOCK_FOLDER / file_name for file_name in files]


def main(names: Sequence[str]) -> None:
    """Make the lock files of the environments ``names``, or of all environments if ``names`` is empty.

    Raises ``UsageError`` for an unknown name, and ``ToolError`` as ``make`` does.
    """
    tables = tomllib.loads((LOCK_FOLDER.parent / "environments.toml").read_text("utf-8"))
    for name in names or tables:
        if name not in tables:
            raise UsageError(
                f"There is no environment '{name}'.", f"Give one of these names: {', '.join(tables)}."
            )
        for path in make(name, tables[name]):
            print(path)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ToolError, UsageError) as error:
        sys.exit(str(error))
