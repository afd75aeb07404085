"""Build a generated library's examples with real frameworks: ``python -m tests.frameworks.build``.

A framework is used if its environment variable is set, and skipped with a reason otherwise:

- ``IDF_PATH``: ESP-IDF, after ``. export.sh``. Built for ESP32-C3.
- ``ZEPHYR_BASE``: Zephyr, in a west workspace. Run in QEMU.
- ``PICO_SDK_PATH``: the Pico SDK. Built for RP2040 and RP2350.
- ``ARDUINO_FQBN``: a board of an installed core; arduino-cli in PATH.
- ``NUTTX_IMAGE``: an ELF file of NuttX for ``mps2-an500``, with its shell and the program ``arenite_models``. Write the
  library for it with ``--library FOLDER`` and add it to NuttX as docs/library.md describes. Run in QEMU.

The outputs of programs that run are compared with LiteRT's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import Prepared
from tests.firmware.library.libraries import three_models, write_library_of

ZEPHYR_BOARD = "qemu_cortex_m3"
NUTTX_MACHINE = "mps2-an500"
PICO_BOARDS = ("pico", "pico2")
#: The time after which an emulated program has certainly printed its outputs.
RUN_SECONDS = 60


def expected_outputs(models: dict[str, Prepared]) -> list[list[int]]:
    """Return LiteRT's values of each output of each model. The input is that of the examples: with N bytes, they are
    N, N - 1, ..., 1 (modulo 256)."""
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
    """Run a command that must succeed, and return its output."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds)
    if result.returncode:
        raise SystemExit(f"{command[0]} failed:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout


def printed_rows(
    command: list[str], count: int, prompt: str = "", typed: str = "", seconds: float = RUN_SECONDS
) -> list[list[int]]:
    """Run a program until it has printed ``count`` lines of integers, then end it.

    Args:
        command: the command, which need not end by itself: an emulator.
        count: number of lines to wait for.
        prompt: text to wait for before ``typed`` is sent.
        typed: line to type once the prompt has appeared; none if empty.
        seconds: time after which the program is ended.

    Returns:
        The lines that contain only integers, in order: fewer than ``count`` if the time was over or the program ended.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,  # so that what a build tool starts is ended with it
    )
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(seconds, _end, [process])
    timer.start()
    text, waiting = "", bool(typed)
    rows: list[list[int]] = []
    try:
        while len(rows) < count and (read := process.stdout.read(4096)):
            text += read.decode(errors="replace")
            if waiting and prompt in text:
                process.stdin.write(f"{typed}\n".encode())
                waiting = False
            complete = text.replace("\r", "\n").rpartition("\n")[0].splitlines()
            rows = [
                [int(word) for word in line.split()]
                for line in complete
                if re.fullmatch(r"\s*-?\d+( -?\d+)*\s*", line)
            ]
        return rows
    finally:
        timer.cancel()
        _end(process)
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)


def compare(program: str, rows: list[list[int]], expected: list[list[int]]) -> None:
    """End this program with an error if ``program`` printed other values than LiteRT computes."""
    if rows != expected:
        raise SystemExit(f"{program} printed {rows}; LiteRT computes {expected}.")


def esp_idf(library: Path, build: Path, expected: list[list[int]]) -> str:
    call("idf.py", "-C", library / "examples/esp_idf", "-B", build, "set-target", "esp32c3", "build")
    return "built for esp32c3, not run"


def pico(library: Path, build: Path, expected: list[list[int]]) -> str:
    for board in PICO_BOARDS:
        call("cmake", "-S", library / "examples/pico", "-B", build / board, f"-DPICO_BOARD={board}")
        call("cmake", "--build", build / board)
    return f"built for {' and '.join(PICO_BOARDS)}, not run"


def zephyr(library: Path, build: Path, expected: list[list[int]]) -> str:
    call("west", "build", "-b", ZEPHYR_BOARD, "-d", build, library / "examples/zephyr")
    rows = printed_rows(["west", "build", "-d", str(build), "-t", "run"], len(expected))
    compare("Zephyr's program", rows, expected)
    return f"built and run on {ZEPHYR_BOARD}: every output equals LiteRT's"


def arduino(library: Path, build: Path, expected: list[list[int]]) -> str:
    board = os.environ["ARDUINO_FQBN"]
    sketch = library / "examples/Inference"
    call("arduino-cli", "compile", "-b", board, "--library", library, "--build-path", build, sketch)
    return f"built for {board}, not run"


def nuttx(library: Path, build: Path, expected: list[list[int]]) -> str:
    image = os.environ["NUTTX_IMAGE"]
    emulator = ["qemu-system-arm", "-M", NUTTX_MACHINE, "-nographic", "-kernel", image]
    rows = printed_rows(emulator, len(expected), prompt="nsh> ", typed="arenite_models")
    compare("NuttX's program", rows, expected)
    return f"run on {NUTTX_MACHINE}: every output equals LiteRT's"


#: Maps a framework to its environment variable, and to the function that builds (and may run) the library's example.
#: The function's arguments are the library, a build folder and the expected outputs; it returns what it did.
FRAMEWORKS: dict[str, tuple[str, Callable[[Path, Path, list[list[int]]], str]]] = {
    "ESP-IDF": ("IDF_PATH", esp_idf),
    "Zephyr": ("ZEPHYR_BASE", zephyr),
    "Pico SDK": ("PICO_SDK_PATH", pico),
    "Arduino": ("ARDUINO_FQBN", arduino),
    "NuttX": ("NUTTX_IMAGE", nuttx),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.frameworks.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--library", type=Path, metavar="FOLDER", help="write the library to FOLDER, and stop"
    )
    output_folder = parser.parse_args(arguments).library
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        models = three_models(folder)
        library = write_library_of(output_folder or folder / "models", models)
        if output_folder:
            print(f"The library is in {output_folder}.")
            return 0
        expected = expected_outputs(models)
        for name, (variable, build) in FRAMEWORKS.items():
            if not os.environ.get(variable):
                print(f"{name}: skipped, because {variable} is not set")
            else:
                print(f"{name}: {build(library, folder / variable.lower(), expected)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
