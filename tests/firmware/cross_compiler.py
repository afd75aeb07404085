"""Compile generated projects of real boards with the cross compiler for the board's core, with warnings as errors.

The frameworks are not needed: ``framework_headers/`` declares the functions that the ports call.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from platformio.project.config import ProjectConfig

from arenite.firmware.boards.cores import nearest_core
from arenite.profiles.boards import Board

DECLARED = Path(__file__).parent / "framework_headers"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wundef")
#: Some cross compilers have no C library. The sources need none: they include only <stdint.h>, a part of the compiler.
BARE = ("-ffreestanding", "-fbuiltin")
_CMAKE_SOURCE = re.compile(r'^\s+"?((?:\.\./)*[\w/]+\.c)"?$', re.MULTILINE)
_CMAKE_FLAGS = re.compile(r"^target_compile_(options|definitions)\(\S+ PRIVATE ([^)]*)\)$", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SETTING = re.compile(r"^(CONFIG_\w+)=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Recipe:
    """How to compile a project: its sources, relative to the project's folder, and the compiler flags.

    The flags are those of the framework and the build files, without those for the core.
    """

    framework: str
    sources: tuple[str, ...]
    flags: tuple[str, ...]


def compilers(board: Board) -> tuple[str, str]:
    """Return the names of the board's C and C++ compilers."""
    prefix = nearest_core(board.core).prefix
    return f"{prefix}gcc", f"{prefix}g++"


def have_compilers(board: Board) -> bool:
    """Return whether the board's C and C++ compilers are installed."""
    return all(shutil.which(name) for name in compilers(board))


def environment(project: Path, name: str) -> dict[str, object]:
    """Return the options of environment ``name`` in platformio.ini, as PlatformIO reads them."""
    return dict(_configuration(str(project / "platformio.ini")).items(env=name))


@cache
def _configuration(path: str) -> ProjectConfig:
    """Return PlatformIO's configuration in the file ``path``, after checking that it is valid."""
    assert ProjectConfig.lint(path) == {"errors": [], "warnings": []}
    return ProjectConfig(path)


def arduino(project: Path, board: Board, env: str) -> Recipe:
    """Return sources and flags of an Arduino environment. PlatformIO compiles ``src`` and all libraries."""
    options = environment(project, env)
    flags = shlex.split(" ".join(options["build_flags"]))  # type: ignore[arg-type]
    flags = [f"-I{project / flag[2:]}" if flag.startswith("-I") else flag for flag in flags]
    macros = ["-DARDUINO=10819"]
    if board.espressif is not None:
        macros += ["-DESP32", "-DESP_PLATFORM", f"-I{DECLARED / 'espidf'}"]
    elif board.mcu.startswith("ESP8266"):
        macros += ["-DESP8266"]
    folders = ("src", "lib/arenite", "lib/agent")
    sources = [path for folder in folders for path in (project / folder).glob("*.c*")]
    names = [str(p.relative_to(project)) for p in sources if p.suffix in (".c", ".cpp")]
    build_flags = [flag for flag in flags if flag.startswith(("-D", "-I", "-O", "-fno-strict"))]
    return Recipe("arduino", tuple(sorted(names)), (*build_flags, *macros, f"-I{DECLARED / 'arduino'}"))


def cmake(project: Path, framework: str) -> Recipe:
    """Return sources and flags in the CMake file of ESP-IDF or Zephyr."""
    folder = project / ("src" if framework == "espidf" else "zephyr")
    text = (folder / "CMakeLists.txt").read_text()
    named = [
        Path(folder, name).resolve().relative_to(project.resolve()) for name in _CMAKE_SOURCE.findall(text)
    ]
    flags = [f"-I{project / name}" for name in ("src", "lib/arenite", "lib/agent")]
    for kind, values in _CMAKE_FLAGS.findall(text):
        flags += [f"-D{value}" if kind == "definitions" else value for value in values.split()]
    settings = "sdkconfig.defaults" if framework == "espidf" else "zephyr/prj.conf"
    flags += [f"-D{name}={value}" for name, value in configuration(project / settings).items()]
    macro = "-DESP_PLATFORM" if framework == "espidf" else "-D__ZEPHYR__"
    return Recipe(framework, tuple(map(str, sorted(named))), (*flags, macro, f"-I{DECLARED / framework}"))


def configuration(path: Path) -> dict[str, str]:
    """Return the macros that Kconfig defines from a settings file, by name: 1 for ``y``, no macro for ``n``."""
    values = dict(_SETTING.findall(path.read_text()))
    return {name: "1" if value == "y" else value for name, value in values.items() if value != "n"}


def compile_project(project: Path, board: Board, recipe: Recipe, passed: Path) -> None:
    """Compile every source that was not compiled before with the same flags and headers.

    ``passed`` is a folder with an empty file for each combination that compiled. Processes may share it.
    """
    core = nearest_core(board.core)
    c, cpp = compilers(board)
    headers_found = sorted(project.glob("src/*.h")) + sorted(project.glob("lib/*/*.h"))
    headers = _digest(str(project), headers_found)
    words = set().union(*(_words(path.read_bytes()) for path in (*headers_found, *DECLARED.rglob("*.h"))))
    pending: dict[str, list[tuple[str, Path]]] = {".c": [], ".cpp": []}
    portable_flags = [flag.replace(str(project), "") for flag in recipe.flags]
    for name in recipe.sources:
        text = (project / name).read_bytes()
        # Ignore macros that the source does not use: most sources are then the same for all boards of a core.
        used_words = words | _words(text)
        relevant_flags = [
            flag for flag in portable_flags if not flag.startswith("-D") or _macro(flag) in used_words
        ]
        key = hashlib.sha256(
            repr((core.architecture, relevant_flags, headers, name)).encode() + text
        ).hexdigest()
        if not (passed / key).exists():
            pending[Path(name).suffix].append((name, passed / key))
    common = [*core.architecture, *WARNINGS, *BARE, *recipe.flags]
    for suffix, sources in pending.items():
        if sources:
            language = [c, "-std=gnu17"] if suffix == ".c" else [cpp, "-std=gnu++17", "-fno-exceptions"]
            objects = project / f"objects{suffix}"
            objects.mkdir(exist_ok=True)
            run([*language, *common, "-c", *(str(project / name) for name, _ in sources)], objects)
            for _, marker in sources:
                marker.touch()


def _words(text: bytes) -> set[bytes]:
    """Return all identifiers in a C source."""
    return set(_WORD.findall(text))


def _macro(flag: str) -> bytes:
    """Return the NAME of a flag ``-DNAME=value``."""
    return flag.removeprefix("-D").partition("=")[0].encode()


def run(command: Sequence[str], cwd: Path | None = None) -> str:
    """Run a command and return its standard output. A failure shows the command's output."""
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, f"{shlex.join(command)}\n{result.stdout}{result.stderr}"
    return result.stdout


def _digest(root: str, paths: Iterable[Path]) -> str:
    """Return the SHA-256 hash of the files' contents and of their paths below ``root``."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path).replace(root, "").encode() + path.read_bytes())
    return digest.hexdigest()
