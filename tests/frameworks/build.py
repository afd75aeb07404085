"""Build a generated library's examples with real frameworks: ``python -m tests.frameworks.build``.

A framework is built if its environment variable names a checkout, and skipped with a reason otherwise:
``IDF_PATH`` (ESP-IDF, after ``. export.sh``), ``ZEPHYR_BASE`` (in a west workspace), ``PICO_SDK_PATH``, and
``ARDUINO_FQBN`` (a board of an installed core; arduino-cli in PATH). Zephyr's program runs in QEMU, and its outputs are
compared with LiteRT's. NuttX has to be configured by hand, as docs/library.md describes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared
from tests.firmware.library.libraries import three_models, write_library_of

ZEPHYR_BOARD = "qemu_cortex_m3"


def expected_outputs(models: dict[str, Prepared]) -> list[list[int]]:
    """Return LiteRT's output values for each model. The input is that of the examples: each byte of the input is the
    number of bytes from there to the end."""
    rows = []
    for prepared in models.values():
        graph = prepared.model.main
        inputs = []
        for tensor in (graph.tensors[i] for i in graph.inputs):
            data = np.arange(tensor.nbytes, 0, -1).astype(np.uint8)
            inputs.append(data.view(tensor.dtype).reshape(tensor.shape))
        outputs = Reference(prepared.reference).run(inputs, reset=True)
        rows += [[int(value) for value in output.flat] for output in outputs]
    return rows


def call(*command: str | Path, seconds: int = 1800) -> str:
    """Run a command and return its output. A command that exceeds ``seconds`` is ended; that is how QEMU stops."""
    try:
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        return output.decode(errors="replace") if isinstance(output, bytes) else output
    if result.returncode:
        raise SystemExit(f"{command[0]} failed:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


def esp_idf(library: Path, build: Path, expected: list[list[int]]) -> str:
    call("idf.py", "-C", library / "examples/esp_idf", "-B", build, "set-target", "esp32c3", "build")
    return "built for esp32c3, not run"


def pico(library: Path, build: Path, expected: list[list[int]]) -> str:
    call("cmake", "-S", library / "examples/pico", "-B", build)
    call("cmake", "--build", build)
    return "built, not run"


def zephyr(library: Path, build: Path, expected: list[list[int]]) -> str:
    call("west", "build", "-b", ZEPHYR_BOARD, "-d", build, library / "examples/zephyr")
    text = call("west", "build", "-d", build, "-t", "run", seconds=30)
    lines = [line.strip() for line in text.splitlines() if re.fullmatch(r"(-?\d+ ?)+", line.strip())]
    rows = [[int(word) for word in line.split()] for line in lines]
    if rows[-len(expected) :] != expected:
        raise SystemExit(f"Zephyr printed {rows}; LiteRT computes {expected}.")
    return f"built and run on {ZEPHYR_BOARD}: every output equals LiteRT's"


def arduino(library: Path, build: Path, expected: list[list[int]]) -> str:
    board = os.environ["ARDUINO_FQBN"]
    sketch = library / "examples/Inference"
    call("arduino-cli", "compile", "-b", board, "--library", library, "--build-path", build, sketch)
    return f"built for {board}, not run"


FRAMEWORKS: dict[str, tuple[str, Callable[[Path, Path, list[list[int]]], str]]] = {
    "ESP-IDF": ("IDF_PATH", esp_idf),
    "Zephyr": ("ZEPHYR_BASE", zephyr),
    "Pico SDK": ("PICO_SDK_PATH", pico),
    "Arduino": ("ARDUINO_FQBN", arduino),
}


def main() -> int:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        models = three_models(folder)
        library = write_library_of(folder / "models", models)
        expected = expected_outputs(models)
        for name, (variable, build) in FRAMEWORKS.items():
            if not os.environ.get(variable):
                print(f"{name}: skipped, because {variable} is not set")
            else:
                print(f"{name}: {build(library, folder / variable.lower(), expected)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
