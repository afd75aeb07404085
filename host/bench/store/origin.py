"""Find out where a run comes from: the version of Arenite, the git revision of the model's folder, and the computer."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_GIT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Revision:
    """A git revision. ``repository`` is the path of the work tree. ``dirty`` is true if files that git tracks differ
    from the revision."""

    repository: str
    commit: str
    dirty: bool


def version() -> str:
    """Return the installed version of Arenite."""
    try:
        return metadata.version("arenite")
    except metadata.PackageNotFoundError:
        return "unknown"


def host() -> str:
    """Return operating system, processor type and Python version as text. Figures may depend on them. They do not
    identify the computer's owner."""
    return (
        f"{platform.system()} {platform.release()} {platform.machine()}, Python {platform.python_version()}"
    )


def revision(model: Path) -> Revision | None:
    """Return the git revision of the model's folder, or else of the working folder. Returns None if neither is in a
    repository, or git is not installed."""
    for folder in dict.fromkeys((model.resolve().parent, Path.cwd())):
        repository = _git(folder, "rev-parse", "--show-toplevel")
        commit = _git(folder, "rev-parse", "HEAD") if repository else None
        if repository and commit:
            status = _git(folder, "status", "--porcelain", "--untracked-files=no")
            return Revision(repository, commit, status is None or bool(status))
    return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        process = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None
