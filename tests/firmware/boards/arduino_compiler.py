"""Compiles a sketch as an Arduino core does."""

from __future__ import annotations

import subprocess
from pathlib import Path

CORE = Path(__file__).parent / "arduino_core"

WARNINGS = ("-Wall", "-Wextra", "-Werror")


def compile_as_arduino_core_would(project: Path, out: Path) -> Path:
    """The sources that PlatformIO gives to a real board: src, lib/arenite and lib/agent, but not lib/board."""
    include = [f"-I{project / folder}" for folder in ("src", "lib/arenite", "lib/agent")]
    define = ["-DARDUINO=10819", '-DARENITE_BOARD="stand_in"']
    objects = []
    sources = [*project.glob("src/*.c*"), *project.glob("lib/arenite/*.c"), *project.glob("lib/agent/*.c")]
    for source in [*sources, CORE / "core.cpp"]:
        compiler = ["g++", "-std=c++11"] if source.suffix == ".cpp" else ["gcc", "-std=c99"]
        target = out / f"{source.name}.o"
        command = [
            *compiler,
            "-O2",
            *WARNINGS,
            *include,
            f"-I{CORE}",
            *define,
            "-c",
            str(source),
            "-o",
            str(target),
        ]
        subprocess.run(command, check=True)
        objects.append(str(target))
    program = out / "device"
    subprocess.run(["g++", "-o", str(program), *objects], check=True)
    return program
