"""Compile a sketch as an Arduino core does."""

from __future__ import annotations

import subprocess
from pathlib import Path

CORE = Path(__file__).parent / "arduino_core"

WARNINGS = ("-Wall", "-Wextra", "-Werror")


def compile_like_an_arduino_core(project: Path, out: Path) -> Path:
    """Compile a project for this computer in the folder ``out``, and return the path of the program. The sources are
    those that PlatformIO compiles for a real board: src, lib/arenite and lib/agent, not lib/board."""
    includes = [f"-I{project / folder}" for folder in ("src", "lib/arenite", "lib/agent")]
    defines = ["-DARDUINO=10819", '-DARENITE_BOARD="stand_in"']
    objects = []
    sources = [*project.glob("src/*.c*"), *project.glob("lib/arenite/*.c"), *project.glob("lib/agent/*.c")]
    for source in [*sources, CORE / "core.cpp"]:
        compiler = ["g++", "-std=c++11"] if source.suffix == ".cpp" else ["gcc", "-std=c99"]
        target = out / f"{source.name}.o"
        command = [
            *compiler,
            "-O2",
            *WARNINGS,
            *includes,
            f"-I{CORE}",
            *defines,
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
