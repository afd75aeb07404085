"""The compiler commands of a firmware for each toolchain: gcc, or the clang in PyPI's package ziglang.

Both build the same sources for an emulated board. The code that they generate has different sizes, so each toolchain
has its own size tables (firmware/sizes).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from arenite.errors import ToolError, UsageError
from arenite.files import cache_directory
from arenite.firmware.boards import cores
from arenite.firmware.boards.cores import Core

GCC, ZIG = "gcc", "zig"
TOOLCHAINS = (GCC, ZIG)

#: For each core that zig builds for: the target's name, the CPU with its features, and the linker's emulation.
#: ``-relax`` keeps the linker from shortening RISC-V code, because fit predicts sizes to the byte.
_ZIG_TARGETS = {
    "cortex-m0": ("thumb-freestanding-eabi", "cortex_m0", "armelf"),
    "cortex-m3": ("thumb-freestanding-eabi", "cortex_m3", "armelf"),
    "cortex-m4f": ("thumb-freestanding-eabihf", "cortex_m4", "armelf"),
    "cortex-m7": ("thumb-freestanding-eabihf", "cortex_m7-fp64", "armelf"),
    "cortex-m33": ("thumb-freestanding-eabihf", "cortex_m33+dsp", "armelf"),
    "rv32imc": ("riscv32-freestanding-none", "generic_rv32+m+c-relax", "elf32lriscv"),
}
ZIG_CORES = tuple(_ZIG_TARGETS)

#: Flags for gcc that are left out for zig: clang does not know the first one, ``_ZIG_FLAGS`` replaces the second one.
_GCC_ONLY = ("-fno-merge-constants", "-fstack-usage")
_ZIG_FLAGS = (
    "-fstack-size-section",  # because zig does not hand over the files that -fstack-usage writes
    "-ffp-contract=off",  # gcc's default with -std=c99; a fused multiply-add would be rounded once instead of twice
    "-fno-unwind-tables",
    "-fomit-frame-pointer",  # the assembly for Thumb-1 needs r7
    "-fno-sanitize=undefined",
    "-g0",
)
_ZIG_LINK_FLAGS = (
    "-Bstatic",
    "--gc-sections",
    "--build-id=none",
    "-O0",  # do not merge strings of different files, as in gcc's builds
    "--entry=ar_start",
)
#: Tables for unwinding the stack name these functions. The linker script discards the tables, but the linker would keep
#: the functions of the runtime library.
_ARM_LINK_FLAGS = ("--defsym=__aeabi_unwind_cpp_pr0=0", "--defsym=__aeabi_unwind_cpp_pr1=0")
#: Flags with which zig compiles its runtime library.
_RUNTIME_FLAGS = ("-O", "ReleaseSmall", "-fstrip", "-ffunction-sections", "-fdata-sections")
_INSTALL_ZIG = "pip install 'arenite[bench]'"


@dataclass(frozen=True)
class CompilerFlags:
    """The compiler of a project and its flags.

    ``compiler`` is the name of a program, or ``zig``. ``install`` is the command that installs it. ``support`` are the
    flags for everything but kernels and model, ``libraries`` the last arguments of the linker.
    """

    compiler: str
    install: str
    flags: tuple[str, ...]
    support: tuple[str, ...]
    link_flags: tuple[str, ...]
    libraries: tuple[str, ...]


def compiler_flags(core: Core, toolchain: str) -> CompilerFlags:
    """Return the flags that build for ``core``. Raises ``UsageError`` if the toolchain does not support the core."""
    if toolchain == GCC:
        return CompilerFlags(
            f"{core.prefix}gcc",
            f"apt install {core.package}",
            (*core.architecture, *cores.COMMON_FLAGS),
            cores.SUPPORT_OPTIMISE,
            (*core.architecture, *cores.LINK_FLAGS),
            cores.LINK_LIBRARIES,
        )
    require_core(core.name, toolchain)
    target, cpu, emulation = _ZIG_TARGETS[core.name]
    abi = tuple(flag for flag in core.architecture if flag.startswith("-mabi="))
    return CompilerFlags(
        ZIG,
        _INSTALL_ZIG,
        (
            *("-target", target, f"-mcpu={cpu}", *abi),
            *(flag for flag in cores.COMMON_FLAGS if flag not in _GCC_ONLY),
            *_ZIG_FLAGS,
        ),
        ("-Os", "-fno-builtin"),  # see SUPPORT_OPTIMISE
        ("-m", emulation, *_ZIG_LINK_FLAGS, *(_ARM_LINK_FLAGS if emulation == "armelf" else ())),
        (),
    )


def require_core(core: str, toolchain: str) -> None:
    """Raise ``UsageError`` if ``toolchain`` does not exist or does not build for ``core``."""
    if toolchain not in TOOLCHAINS:
        raise UsageError(f"'{toolchain}' is not a toolchain.", f"Choose one of {', '.join(TOOLCHAINS)}.")
    if toolchain == ZIG and core not in _ZIG_TARGETS:
        raise UsageError(
            f"--toolchain zig does not build for the core {core}.",
            f"Use --toolchain gcc, or a board with one of the cores {', '.join(ZIG_CORES)}.",
        )


def is_installed(core: Core, toolchain: str) -> bool:
    """Return whether the compiler of ``toolchain`` for ``core`` is on this computer."""
    if toolchain == ZIG:
        return zig_program() is not None
    return shutil.which(f"{core.prefix}gcc") is not None


def is_compiler_installed(compiler: str) -> bool:
    """Return whether the compiler that a project names is on this computer."""
    return zig_program() is not None if compiler == ZIG else shutil.which(compiler) is not None


def compile_command(compiler: str) -> list[str]:
    """Return the first words of a command that compiles. ``compiler`` is that of ``CompilerFlags``."""
    return [str(_zig()), "cc"] if compiler == ZIG else [compiler]


def link_command(compiler: str) -> list[str]:
    """Return the first words of a command that links."""
    return [str(_zig()), "ld.lld"] if compiler == ZIG else [compiler]


def compiler_environment(compiler: str) -> dict[str, str] | None:
    """Return the environment variables of the compiler's processes, or None if they need no others than this process.
    zig keeps compiled files in Arenite's cache folder, unless the user's variables name another."""
    if compiler != ZIG:
        return None
    cache = str(cache_directory() / "zig")
    return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache, **os.environ}


def zig_program() -> Path | None:
    """Return the path of the program zig in the package ziglang, or None if it is not installed."""
    package = util.find_spec("ziglang")
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    programs = (Path(folder) / name for folder in folders for name in ("zig", "zig.exe"))
    return next((program for program in programs if program.is_file()), None)


def _zig() -> Path:
    """Return the path of the program zig. Raises ``ToolError`` if it is not installed."""
    program = zig_program()
    if program is None:
        raise ToolError("The compiler zig is not installed.", f"Install it: {_INSTALL_ZIG}")
    return program


def zig_runtime(flags: Sequence[str], run: Callable[..., Any] = subprocess.run) -> Path:
    """Return the library with the functions that clang's code calls, such as the division of 64-bit integers.

    zig compiles it for the target in the compiler's ``flags`` when it is first needed, and it stays in the cache.
    ``run`` runs a command as ``subprocess.run`` does.

    Raises:
        ToolError: zig is not installed or failed.
    """
    start = list(flags).index("-target")
    target = [*flags[start : start + 3], *_RUNTIME_FLAGS]
    source = _zig().parent / "lib" / "compiler_rt.zig"
    # Another version of zig has another path, or files with another time.
    key = repr((target, str(source), source.stat().st_mtime_ns if source.is_file() else 0))
    folder = cache_directory() / "zig-runtime"
    library = folder / f"compiler_rt-{hashlib.sha256(key.encode()).hexdigest()[:16]}.a"
    if library.is_file():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    temporary = library.with_suffix(f".{id(key)}.tmp")
    command = [
        str(_zig()),
        "build-lib",
        str(source),
        *target,
        "--name",
        "compiler_rt",
        f"-femit-bin={temporary}",
    ]
    process = run(command, capture_output=True, text=True, env=compiler_environment(ZIG))
    if process.returncode:
        line = (process.stderr.strip().splitlines() or ["no output"])[0]
        raise ToolError(
            f"zig failed to build its runtime library: {line}",
            "Check that the disk has 100 MB of free space.",
        )
    temporary.replace(library)
    return library
