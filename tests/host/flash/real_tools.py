"""Provide real uploaders for tests: from the PATH, or installed once into a virtual environment in the cache.

esptool is under the GPL. The tests run it as a program and never import it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.files import cache_directory
from arenite.host.flash.upload import find_program


def need(program: str, monkeypatch: pytest.MonkeyPatch, package: str | None = None) -> None:
    """Put ``program`` on the PATH, or skip the test. ``package`` is its pip package; None for a system program."""
    if find_program(program):
        return
    if package is None:
        pytest.skip(f"{program} is not installed")
    folder = cache_directory() / "flash-tools"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (folder / "bin" / program).is_file():
            _install(folder, package)
    if not (folder / "bin" / program).is_file():
        pytest.skip(f"{package} cannot be installed")
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")


def _install(folder: Path, package: str) -> None:
    """Install a pip package into a virtual environment in ``folder``."""
    if not (folder / "bin").is_dir():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", package]
    subprocess.run(command, capture_output=True, timeout=300)
