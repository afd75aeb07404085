"""Run a step in TensorFlow or torch, in the Python that runs Arenite or in a virtual environment in Arenite's
cache."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.importers import environments
from arenite.processes import temporary_folder

_SCRIPT = Path(__file__).parent / "framework_child.py"


class Frameworks:
    """The processes of frameworks. Each process is started when it is first needed and then reused, because starting
    it takes much longer than a step.

    With ``make``, a framework that is not installed is downloaded.
    """

    def __init__(self, *, make: bool = False) -> None:
        self._make = make
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder())
        self._running: dict[str, tuple[environments.Environment, subprocess.Popen[bytes]]] = {}

    def __enter__(self) -> Frameworks:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (p for _, p in self._running.values()):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
        self._stack.close()

    def available(self, framework: str) -> bool:
        """Return whether ``framework`` can run steps: it is installed, or ``make`` is set."""
        spec = environments.specs()[framework]
        is_importable = all(environments._importable(module) for module in spec.modules)
        return self._make or is_importable or (environments.directory(spec) / "complete.json").is_file()

    def run(self, framework: str, job: Mapping[str, Any], value: np.ndarray) -> tuple[np.ndarray, str]:
        """Return the result of ``job`` (see ``framework_child.py``) for ``value``, and the framework's name and
        version.

        Raises ``ToolError`` if the framework fails.
        """
        log = self._folder / f"{framework}.txt"
        if framework not in self._running:
            env = environments.environment(framework)
            self._running[framework] = env, env.start(_SCRIPT, framework, log=log, pipe_stdout=True)
        env, process = self._running[framework]
        input_path, output_path = (self._folder / f"{framework}-{side}.npy" for side in ("in", "out"))
        np.save(input_path, value)
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(
                json.dumps({**job, "in": str(input_path), "out": str(output_path)}).encode() + b"\n"
            )
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = b""
        if not answer.startswith(b"version "):
            process.kill()
            raise env.failure(_SCRIPT, process.wait(), log)
        return np.load(output_path), f"{framework} {answer.split()[1].decode()}"
