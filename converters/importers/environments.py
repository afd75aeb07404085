"""Create Python environments for frameworks that cannot be installed together, and keep them in the cache.

``environments.toml`` describes each environment. pip installs the packages of its lock file in ``lockfiles/`` and
checks the SHA-256 hash of every file. The last step of the creation writes a stamp, the file ``complete.json``. An
environment without a stamp was interrupted and is created again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arenite.converters.importers.pip_install import install
from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory
from arenite.locks import file_lock
from arenite.processes import Child, temporary_folder
from arenite.processes import run as run_command
from arenite.sandbox import sandbox_command, sandbox_limits

_STAMP = "complete.json"
LOCK_FOLDER = Path(__file__).parent / "lockfiles"

#: Environment variables that make a framework's process quiet and deterministic, keep it on the CPU and hide the
#: packages in the user's own site-packages folder.
_VARIABLES = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "",
    "KERAS_BACKEND": "tensorflow",
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUTF8": "1",
}

#: The number of lines of standard error that an error message quotes.
_LAST_LINES = 12


@dataclass(frozen=True)
class EnvironmentSpec:
    """One table of ``environments.toml``, with its lock files.

    ``modules`` are the Python modules that the environment must have, ``requires`` the pinned packages that provide
    them. ``lock`` lists every package with its hashes. If there is a ``first_lock`` (smaller builds of some
    packages), pip installs it before ``lock``, on Linux only, and searches the package index ``index`` in addition to
    its own indexes. If that fails for any reason other than a wrong hash, pip installs ``fallback_lock`` together
    with ``lock``. ``max_python`` is the newest Python version that the packages support, "" for no limit. ``disk_mb``
    is the free disk space that the creation needs.
    """

    name: str
    modules: tuple[str, ...]
    requires: tuple[str, ...]
    lock: Path
    first_lock: Path | None = None
    fallback_lock: Path | None = None
    index: str = ""
    max_python: str = ""
    disk_mb: int = 0

    @property
    def key(self) -> str:
        """A digest of the packages, the Python version and the platform; it is part of the folder's name."""
        digest = hashlib.sha256()
        for lock in (self.lock, self.first_lock, self.fallback_lock):
            digest.update((lock.read_bytes() if lock else b"") + b"\0")
        digest.update("\n".join((platform.python_version(), sys.platform, platform.machine())).encode())
        return digest.hexdigest()[:8]


@dataclass(frozen=True)
class Environment:
    """A Python interpreter with a framework. ``own`` is true if the interpreter is in a folder of its own, and false if
    it is the interpreter that runs Arenite."""

    name: str
    python: Path
    own: bool

    def variables(self) -> dict[str, str]:
        """Return the environment variables for processes of this environment."""
        inherited = {
            k: v for k, v in os.environ.items() if not (self.own and k in ("PYTHONPATH", "PYTHONHOME"))
        }
        inherited.pop("TF_USE_LEGACY_KERAS", None)
        return inherited | _VARIABLES

    def start(
        self, script: Path, *args: str, log: Path, pipe_stdout: bool = False, writable: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start ``script``, with its standard error and standard output in the file ``log``, and return the process.

        With ``pipe_stdout`` standard input and output are pipes instead. With ``writable`` the script runs in a sandbox
        and can write to that folder only. Raises ``ToolError`` if the process cannot be started.
        """
        pipe = subprocess.PIPE if pipe_stdout else None
        command, variables = [str(self.python), str(script), *args], self.variables()
        if writable is not None:
            command = sandbox_command(command, writable)
            for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME"):
                variables[name] = str(writable)
        try:
            with log.open("wb") as stream:
                return Child(
                    command,
                    limits=sandbox_limits() if writable is not None else None,
                    stdin=pipe or subprocess.DEVNULL,
                    stdout=pipe or stream,
                    stderr=stream,
                    env=variables,
                )
        except OSError as error:
            raise ToolError(
                f"Cannot start {self.python}: {error.strerror or error}.",
                f"Delete {self.python.parent.parent}; Arenite then creates the environment again.",
            ) from error

    def run(
        self,
        script: Path,
        *args: str,
        timeout: float | None = None,
        on_line: Callable[[str], None] | None = None,
        writable: Path | None = None,
    ) -> str:
        """Run ``script`` to its end and return what it wrote on standard output.

        ``on_line`` is called with each line as soon as it is written. ``timeout`` is in seconds. ``writable`` is as in
        ``start``. Raises ``ToolError`` with the last lines of standard error if the script fails or takes longer.
        """
        with temporary_folder() as folder:
            log = folder / "stderr.txt"
            process = self.start(script, *args, log=log, pipe_stdout=True, writable=writable)
            assert process.stdin is not None and process.stdout is not None
            timer = threading.Timer(timeout or threading.TIMEOUT_MAX, process.kill)
            timer.daemon = True
            timer.start()
            lines = []
            try:
                process.stdin.close()
                for raw in process.stdout:
                    lines.append(raw.decode("utf-8", "replace"))
                    if on_line is not None:
                        on_line(lines[-1].rstrip("\n"))
                process.wait()
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                process.stdout.close()
            if process.returncode != 0:
                raise self.failure(script, process.returncode, log)
        return "".join(lines)

    def failure(self, script: Path, returncode: int, log: Path) -> ToolError:
        """Return the error for a failed process of this environment. The error quotes the last lines of the log."""
        if returncode > 128:  # bubblewrap and shells report a signal this way
            returncode = 128 - returncode
        text = log.read_text("utf-8", "replace") if log.exists() else ""
        last = [line for line in text.splitlines() if line.strip()][-_LAST_LINES:]
        ending = f"was ended by signal {-returncode}" if returncode < 0 else f"ended with code {returncode}"
        message = f": {last[-1].strip()}" if last else ""
        hint = "The lines before this message:\n  " + "\n  ".join(last[:-1]) if len(last) > 1 else ""
        if returncode == -signal.SIGKILL:
            hint = "It ran longer than its time limit, or the memory ran out. Close other programs and try again."
        elif "bad_alloc" in text:
            hint = "It needed more memory than it may take for a source of this size. Give a smaller model."
        return ToolError(f"{script.name} in the environment '{self.name}' {ending}{message}.", hint)


def specs() -> dict[str, EnvironmentSpec]:
    """Return every environment of ``environments.toml``, by name."""
    return dict(_specs())


@cache
def _specs() -> Mapping[str, EnvironmentSpec]:
    text = (Path(__file__).parent / "environments.toml").read_text("utf-8")
    return {name: _spec(name, table) for name, table in tomllib.loads(text).items()}


def _spec(name: str, table: Mapping[str, Any]) -> EnvironmentSpec:
    small_build = "first" in table
    return EnvironmentSpec(
        name,
        modules=tuple(table["modules"]),
        requires=tuple(table["requires"]),
        lock=LOCK_FOLDER / f"{name}.txt",
        first_lock=LOCK_FOLDER / f"{name}.first.txt" if small_build else None,
        fallback_lock=LOCK_FOLDER / f"{name}.fallback.txt" if small_build else None,
        index=table.get("index", ""),
        max_python=table.get("max_python", ""),
        disk_mb=table["disk_mb"],
    )


def environment(name: str, *, progress: bool = True) -> Environment:
    """Return the environment called ``name``, and create it first if it does not exist.

    If the Python that runs Arenite has every module of the environment, that Python is returned. If two processes call
    this function at the same time, only one creates the environment and the other waits.

    Raises:
        UsageError: ``environments.toml`` has no environment of this name.
        ToolError: the environment cannot be created: no network, no disk space, no version for this Python, or a wrong
            hash.
    """
    known = specs()
    if name not in known:
        raise UsageError(
            f"There is no environment '{name}'.", f"Give one of these names: {', '.join(known)}."
        )
    spec = known[name]
    if all(_importable(m) for m in spec.modules):
        return Environment(name, Path(sys.executable), own=False)
    return make(spec, progress=progress)


def make(spec: EnvironmentSpec, *, progress: bool = True) -> Environment:
    """Return the environment of ``spec`` in the cache, and create it if it does not exist. Raises ``ToolError``."""
    folder = directory(spec)
    env = Environment(spec.name, _python(folder), own=True)
    if (folder / _STAMP).is_file() and env.python.exists():
        return env
    try:
        with file_lock(folder.with_suffix(".lock"), lambda: _report_waiting(spec, progress)):
            if (folder / _STAMP).is_file() and env.python.exists():
                return env
            _make(spec, folder, env, progress)
    except OSError as error:
        raise ToolError(
            f"Cannot create the environment '{spec.name}' in {folder}: {error.strerror or error}.",
            "Set ARENITE_CACHE to a writable folder with enough free space.",
        ) from error
    return env


def directory(spec: EnvironmentSpec) -> Path:
    """Return the folder of the environment of ``spec``, whether it exists or not."""
    return cache_directory() / "environments" / f"{spec.name}-{spec.key}"


def _make(spec: EnvironmentSpec, folder: Path, env: Environment, progress: bool) -> None:
    """Create the environment ``env`` in ``folder``, and write its stamp last. Raises ``ToolError``."""
    if folder.exists():
        shutil.rmtree(folder)  # left by a process that was interrupted
    _check_python(spec)
    _check_disk_space(spec, folder)
    venv = run_command(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], capture_output=True, text=True
    )
    if venv.returncode != 0:
        raise ToolError(
            f"Python cannot make a virtual environment: {(venv.stderr or venv.stdout).strip()[-300:]}.",
            "Install Python's venv module (python3-venv on Debian and Ubuntu).",
        )
    try:
        install(
            spec.name,
            env.python,
            spec.lock,
            progress,
            first_lock=spec.first_lock if sys.platform == "linux" else None,
            fallback_lock=spec.fallback_lock,
            index=spec.index,
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    (folder / _STAMP).write_text(json.dumps({"requires": spec.requires, "python": platform.python_version()}))


def _check_python(spec: EnvironmentSpec) -> None:
    """Raise ``ToolError`` if this Python is newer than the packages of ``spec`` support."""
    newest = (
        tuple(int(part) for part in spec.max_python.split(".")) if spec.max_python else sys.version_info[:2]
    )
    if sys.version_info[:2] > newest:
        raise ToolError(
            f"The environment '{spec.name}' needs Python {spec.max_python} or older; "
            f"this is {platform.python_version()}.",
            f"Install Arenite with Python {spec.max_python}.",
        )


def _check_disk_space(spec: EnvironmentSpec, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free // 1_000_000
    if free < spec.disk_mb:
        raise ToolError(
            f"The environment '{spec.name}' takes {spec.disk_mb:,} MB, but {folder.parent} has {free:,} MB free.",
            "Set ARENITE_CACHE to a folder with more free space.",
        )


def _report_waiting(spec: EnvironmentSpec, progress: bool) -> None:
    if progress:
        print(f"Waiting for another process that creates the environment '{spec.name}' ...", file=sys.stderr)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def versions(env: Environment, packages: Sequence[str]) -> dict[str, str]:
    """Return {package: version} for ``packages`` in ``env``. Packages that are not installed are left out."""
    code = (
        "import json, sys, importlib.metadata as m\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({p: have[p.lower()] for p in sys.argv[1:] if p.lower() in have}))"
    )
    run = run_command(
        [str(env.python), "-c", code, *packages], capture_output=True, text=True, env=env.variables()
    )
    return json.loads(run.stdout) if run.returncode == 0 else {}
