"""The origin of a run: the version of Arenite, the git revision of the model's folder, and the computer."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_GIT_S = 5.0


@dataclass(frozen=True)
class Revision:
    """``dirty``: files that git tracks differ from the revision."""

    repository: str
    commit: str
    dirty: bool


def version() -> str:
    """The version of Arenite, as installed."""
    try:
        return metadata.version("arenite")
    except metadata.PackageNotFoundError:
        return "unknown"


def host() -> str:
    """This computer, as far as figures depend on it: nothing that names its owner."""
    return (
        f"{platform.system()} {platform.release()} {platform.machine()}, Python {platform.python_version()}"
    )


def revision(model: Path) -> Revision | None:
    """The revision of the repository with the model's folder, else of the working folder's; None without
    either, or git."""
    for folder in dict.fromkeys((model.resolve().parent, Path.cwd())):
        top = _git(folder, "rev-parse", "--show-toplevel")
        commit = _git(folder, "rev-parse", "HEAD") if top else None
        if top and commit:
            changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
            return Revision(top, commit, changed is None or bool(changed))
    return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        process = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=_GIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None
