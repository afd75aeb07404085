"""Python environments for frameworks that do not go together: made once, kept in the cache.

What each holds is data, in ``environments.toml``. An environment whose making was interrupted has no stamp, and is
made anew.
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
import tempfile
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arenite.converters.importers.pip_install import install
from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory
from arenite.locks import file_lock

_STAMP = "complete.json"

#: How a framework's process is to behave: quiet, deterministic, on the CPU, and not looking at packages of the user.
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

_LAST_LINES = 12


@dataclass(frozen=True)
class EnvironmentSpec:
    """One table of ``environments.toml``."""

    name: str
    modules: tuple[str, ...]
    requires: tuple[str, ...]
    first: tuple[str, ...] = ()
    index: str = ""
    disk_mb: int = 0

    @property
    def key(self) -> str:
        """Tells apart environments with other packages or for another Python."""
        kind = (*self.requires, "|", *self.first, platform.python_version(), sys.platform, platform.machine())
        return hashlib.sha256("\n".join(kind).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Environment:
    """An interpreter with a framework. ``own`` is false when it is the one that runs Arenite."""

    name: str
    python: Path
    own: bool

    def variables(self) -> dict[str, str]:
        """The environment variables of its processes."""
        kept = {k: v for k, v in os.environ.items() if not (self.own and k in ("PYTHONPATH", "PYTHONHOME"))}
        kept.pop("TF_USE_LEGACY_KERAS", None)
        return kept | _VARIABLES

    def start(
        self, script: Path, *args: str, log: Path, pipe_stdout: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start ``script`` with its standard error, and its output too unless ``pipe_stdout``, in the file ``log``.

        With ``pipe_stdout`` standard input and output are pipes. Raises ``ToolError`` when it cannot be started.
        """
        pipe = subprocess.PIPE if pipe_stdout else None
        try:
            with log.open("wb") as stream:
                return subprocess.Popen(
                    [str(self.python), str(script), *args],
                    stdin=pipe or subprocess.DEVNULL,
                    stdout=pipe or stream,
                    stderr=stream,
                    env=self.variables(),
                )
        except OSError as error:
            raise ToolError(
                f"Cannot start {self.python}: {error.strerror or error}.",
                f"Delete {self.python.parent.parent}.",
            ) from error

    def run(
        self,
        script: Path,
        *args: str,
        timeout: float | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> str:
        """Run ``script`` to its end and return what it wrote on standard output.

        ``on_line`` gets each line as it comes. ``timeout`` is in seconds. Raises ``ToolError`` with the last lines of
        standard error when it fails or takes longer.
        """
        with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
            log = Path(folder) / "stderr.txt"
            process = self.start(script, *args, log=log, pipe_stdout=True)
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
        """What a process of this environment that failed has to say."""
        text = log.read_text("utf-8", "replace") if log.exists() else ""
        last = [line for line in text.splitlines() if line.strip()][-_LAST_LINES:]
        how = f"was ended by signal {-returncode}" if returncode < 0 else f"ended with code {returncode}"
        message = f": {last[-1].strip()}" if last else ""
        hint = "The lines before:\n  " + "\n  ".join(last[:-1]) if len(last) > 1 else ""
        if returncode == -signal.SIGKILL:
            hint = "It took too long, or memory ran out."
        return ToolError(f"{script.name} in the environment '{self.name}' {how}{message}.", hint)


def specs() -> dict[str, EnvironmentSpec]:
    """Every environment that Arenite knows, by name."""
    return dict(_specs())


@cache
def _specs() -> Mapping[str, EnvironmentSpec]:
    text = (Path(__file__).parent / "environments.toml").read_text("utf-8")
    made = {}
    for name, table in tomllib.loads(text).items():
        lists = {k: tuple(table.get(k, ())) for k in ("modules", "requires", "first")}
        made[name] = EnvironmentSpec(name, **lists, index=table.get("index", ""), disk_mb=table["disk_mb"])
    return made


def environment(name: str, *, progress: bool = True) -> Environment:
    """The environment called ``name``, made first when it is not there.

    This Python itself is used when it has every module. Two processes that ask at the same time make it once.

    Raises:
        UsageError: no such environment.
        ToolError: it cannot be made: no network, no room, or no version for this Python.
    """
    known = specs()
    if name not in known:
        raise UsageError(f"There is no environment '{name}'.", f"Known: {', '.join(known)}.")
    spec = known[name]
    if all(_importable(m) for m in spec.modules):
        return Environment(name, Path(sys.executable), own=False)
    return make(spec, progress=progress)


def make(spec: EnvironmentSpec, *, progress: bool = True) -> Environment:
    """The environment of ``spec`` below the cache, made first when it is not there. Raises ``ToolError``."""
    folder = directory(spec)
    made = Environment(spec.name, _python(folder), own=True)
    if (folder / _STAMP).is_file() and made.python.exists():
        return made
    try:
        with file_lock(folder.with_suffix(".lock"), lambda: _tell_waiting(spec, progress)):
            if (folder / _STAMP).is_file() and made.python.exists():
                return made
            _make(spec, folder, made, progress)
    except OSError as error:
        raise ToolError(
            f"Cannot make the environment '{spec.name}' in {folder}: {error.strerror or error}.",
            "Set ARENITE_CACHE to a folder with room that can be written.",
        ) from error
    return made


def directory(spec: EnvironmentSpec) -> Path:
    """Where the environment of ``spec`` is, or will be."""
    return cache_directory() / "environments" / f"{spec.name}-{spec.key}"


def _make(spec: EnvironmentSpec, folder: Path, made: Environment, progress: bool) -> None:
    if folder.exists():
        shutil.rmtree(folder)  # left by a maker that was interrupted
    _check_room(spec, folder)
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise ToolError(
            f"Python cannot make a virtual environment: {(done.stderr or done.stdout).strip()[-300:]}.",
            "Install Python's venv module (python3-venv on Debian and Ubuntu).",
        )
    try:
        install(spec.name, made.python, spec.requires, spec.first, spec.index, progress)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    (folder / _STAMP).write_text(json.dumps({"requires": spec.requires, "python": platform.python_version()}))


def _check_room(spec: EnvironmentSpec, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder.parent).free // 1_000_000
    if free < spec.disk_mb:
        raise ToolError(
            f"The environment '{spec.name}' takes {spec.disk_mb:,} MB, but {folder.parent} has {free:,} MB free.",
            "Set ARENITE_CACHE to a folder with more room.",
        )


def _tell_waiting(spec: EnvironmentSpec, progress: bool) -> None:
    if progress:
        print(f"Waiting for another process that makes the environment '{spec.name}' ...", file=sys.stderr)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def versions(env: Environment, packages: Sequence[str]) -> dict[str, str]:
    """The versions of installed ``packages`` in ``env``; those that are not there are left out."""
    code = (
        "import json, sys, importlib.metadata as m\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({p: have[p.lower()] for p in sys.argv[1:] if p.lower() in have}))"
    )
    done = subprocess.run(
        [str(env.python), "-c", code, *packages], capture_output=True, text=True, env=env.variables()
    )
    return json.loads(done.stdout) if done.returncode == 0 else {}
