"""Compile C sources to a WebAssembly module with the clang and the linker of PyPI's package ``ziglang``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arenite.errors import ToolError
from arenite.firmware.boards.cores import WEBASSEMBLY_STACK_BYTES
from arenite.firmware.boards.toolchains import ZIG, compiler_environment, zig_program
from arenite.processes import run

_FLAGS = (
    "-std=c99",
    "-ffreestanding",
    "-fbuiltin",
    "-Wall",
    "-Wextra",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-strict-overflow",
    "-mbulk-memory",
    "-g0",
)
#: The options for SIMD by core.
SIMD_FLAGS = {
    "wasm32": (),
    "wasm32-simd": ("-msimd128",),
    "wasm32-relaxed": ("-msimd128", "-mrelaxed-simd"),
}
#: Seconds after which a compiler that does not end is stopped.
_LIMIT_S = 600.0
#: The number of compilers that run at the same time.
_JOBS = 4


def zig() -> Path:
    """Return the path of the program ``zig``. Raises ``ToolError`` if the package ``ziglang`` is not installed."""
    program = zig_program()
    if program is None:
        raise ToolError(
            "The compiler for WebAssembly is not installed.", "Install it: pip install 'arenite[web]'"
        )
    return program


def compile_module(
    folder: Path, sources: Sequence[Path], flags: Sequence[str], memory_bytes: int, output: Path
) -> None:
    """Compile ``sources`` to objects in ``folder``, and link them to the module ``output``.

    The module imports nothing. Its memory has ``memory_bytes``, a multiple of 64 KiB, and does not grow. Raises
    ``ToolError`` if the compiler or the linker fails.
    """
    program = str(zig())
    command = [program, "cc", "-target", "wasm32-freestanding", *_FLAGS, *flags, "-c"]
    objects = [folder / f"{number}.o" for number in range(len(sources))]

    def compile_one(source: Path, target: Path) -> None:
        _run([*command, str(source), "-o", str(target)], source.name)

    with ThreadPoolExecutor(_JOBS) as pool:
        list(pool.map(compile_one, sources, objects))
    _run(
        [
            program,
            "wasm-ld",
            "--no-entry",
            "--stack-first",
            "--gc-sections",
            "--strip-all",
            "-z",
            f"stack-size={WEBASSEMBLY_STACK_BYTES}",
            f"--initial-memory={memory_bytes}",
            f"--max-memory={memory_bytes}",
            "--export=__heap_base",
            *map(str, objects),
            "-o",
            str(output),
        ],
        "the module",
    )


def _run(command: list[str], subject: str) -> None:
    """Run a command of the compiler, which keeps compiled files in Arenite's cache folder."""
    environment = compiler_environment(ZIG)
    try:
        result = run(command, capture_output=True, text=True, env=environment, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"The compiler did not finish {subject} within {_LIMIT_S:.0f} s.",
            "Try again when the computer is less busy.",
        ) from error
    except OSError as error:
        raise ToolError(
            f"The compiler for WebAssembly cannot run: {error.strerror or error}.",
            "Install the package ziglang again: pip install --force-reinstall ziglang",
        ) from error
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
        raise ToolError(
            f"The compiler for WebAssembly failed on {subject}: {(lines or ['no message'])[0]}",
            "Report this with the model's operators (arenite inspect), and the version of ziglang.",
        )
