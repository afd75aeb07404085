"""Build a generated project with PlatformIO, or without PlatformIO with the same compiler commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from pathlib import Path
from typing import Any

from arenite.errors import DoesNotFitError, ToolError, UsageError
from arenite.firmware.app.forms.choice import app_commands
from arenite.firmware.boards.toolchains import (
    ZIG,
    compile_command,
    compiler_environment,
    is_compiler_installed,
    link_command,
    zig_runtime,
)
from arenite.firmware.generator.output_folder import MANIFEST
from arenite.firmware.platformio.frameworks import build_commands
from arenite.input_files import parse_json, read_text
from arenite.processes import run as run_command
from arenite.profiles.boards import load_board

#: Names of flash regions in linker scripts: FLASH, rom, ESP-IDF's irom0_0_seg and drom0_0_seg.
_FLASH_REGION = re.compile(r"flash|rom", re.IGNORECASE)
_OVERFLOW = re.compile(r"region `?'?(\w+)'? overflowed by (\d+) bytes")
#: The linker's message if a section does not fit its region and the linker script sets the section's address. The
#: address in the message is the end of the section.
_OUTSIDE = re.compile(r"address 0x([0-9a-f]+) of .* is not within region `?'?(\w+)")
_REGION = re.compile(r"^ +(\w+) \(\w+\) : ORIGIN = (0x[0-9a-f]+), LENGTH = (\d+)$", re.MULTILINE)
_NO_NETWORK = re.compile(r"^(?:HTTPClientError|InternetConnectionError)", re.MULTILINE)
_COMPILER_ERROR = re.compile(r"^.*(?:error:|undefined reference|cannot find|Error:).*$", re.MULTILINE)


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the contents of a project's ``arenite.json``. Raises UsageError if ``directory`` is not a project."""
    try:
        manifest = parse_json(read_text(Path(directory) / MANIFEST))
    except FileNotFoundError as error:
        raise UsageError(
            f"{directory} does not contain {MANIFEST}."
            if Path(directory).exists()
            else f"{directory} does not exist.",
            "Give the folder that `arenite app` or `arenite firmware` wrote.",
        ) from error
    except ValueError as error:
        raise UsageError(f"{directory}/{MANIFEST} is damaged.", "Generate the project again.") from error
    if not isinstance(manifest, dict) or not all(
        isinstance(manifest.get(k), str) for k in ("board", "protocol")
    ):
        raise UsageError(
            f"{directory}/{MANIFEST} is not the manifest of a project.", "Generate the project again."
        )
    return manifest


def built_elsewhere(directory: Path, manifest: dict[str, Any]) -> UsageError | None:
    """Return the error that names the commands of a framework, if only its own tools build the application in
    ``directory``; None if ``build`` builds the project."""
    if manifest.get("build") is None and manifest["protocol"] == "update":
        return UsageError(
            f"{directory} is a project with updates, which ESP-IDF builds.",
            f"Run `idf.py -C {directory} build`, and then `arenite update factory`.",
        )
    is_app = manifest.get("build") is None and manifest["protocol"] == "app"
    if not is_app or (Path(directory) / "platformio.ini").is_file():
        return None
    steps = " && ".join(app_commands(load_board(manifest["board"]), manifest["project"], str(directory)))
    return UsageError(
        f"{directory} is an application that the tools of its framework build.", f"Run `{steps}`."
    )


def _goals(regions: Iterable[str]) -> str:
    """Return the command-line option --optimise with the goals that save memory in these regions of a linker script."""
    in_flash = [bool(_FLASH_REGION.search(region)) for region in regions]
    if all(in_flash):
        return "--optimise flash"
    return "--optimise ram or flash" if any(in_flash) else "--optimise ram"


#: How to see more of a build that PlatformIO ran.
_PLATFORMIO_HINT = "Build again with `pio run -v` to see every command."


def explain_failure(
    output: str, board: str, script: str = "", hint: str = _PLATFORMIO_HINT
) -> DoesNotFitError | ToolError:
    """Return an error that explains the ``output`` of a failed build. ``script`` is the text of the linker script, and
    ``hint`` says what to try if the compiler found an error in the program."""
    missing_bytes = {region: int(count) for region, count in _OVERFLOW.findall(output)}
    ends = {name: int(origin, 16) + int(length) for name, origin, length in _REGION.findall(script)}
    for address, region in _OUTSIDE.findall(output):
        if region in ends:
            missing_bytes[region] = max(int(address, 16) - ends[region], missing_bytes.get(region, 0))
    if missing_bytes:
        parts = " and ".join(
            f"{count:,} bytes of {region}" for region, count in sorted(missing_bytes.items())
        )
        return DoesNotFitError(
            f"The firmware does not fit {board}: it needs {parts} more.",
            f"Try {_goals(missing_bytes)}, or a larger board.",
        )
    if _NO_NETWORK.search(output):
        return ToolError(
            f"PlatformIO could not download the packages for {board}.",
            "Connect this computer to the network, and build again.",
        )
    match = _COMPILER_ERROR.search(output)
    line = match.group().strip() if match else (output.strip().splitlines() or ["no output"])[-1]
    return ToolError(f"The build for {board} failed: {line}", hint)


def _linker_script(directory: Path) -> str:
    """Return the text of the project's linker script. It is empty for a real board, whose script is in the
    framework."""
    path = directory / "lib/board/link.ld"
    return path.read_text("utf-8") if path.is_file() else ""


def _require_compiler(build: dict[str, Any]) -> None:
    if not is_compiler_installed(build["compiler"]):
        install = build.get("install") or f"apt install {build['package']}"
        raise ToolError(f"The compiler {build['compiler']} is missing.", f"Install it: {install}")


def _build_recipe(directory: Path) -> tuple[dict[str, Any], str]:
    manifest = read_manifest(directory)
    build = manifest.get("build")
    if build is None:
        raise UsageError(
            f"{manifest['board']} is a real board: PlatformIO builds its firmware with its Arduino core.",
            f"Run `pio run -d {directory}`. It downloads the platform if it is missing.",
        )
    _require_compiler(build)
    return build, manifest["board"]


def direct_build(directory: Path, *, jobs: int = 2, flags: tuple[str, ...] = ()) -> Path:
    """Compile and link with the same commands as PlatformIO, but without it. Tests and fuzzing use this function.

    In a directory that was built before, only the sources in ``src`` and changed files are compiled. After a change of
    a header in ``lib`` or of a flag, all files are compiled.

    Args:
        directory: a project for an emulated board.
        jobs: the number of compilers that run in parallel.
        flags: options that are added to every compiler command.

    Returns:
        The path of the ELF.

    Raises:
        ToolError: the compiler is missing or failed.
        DoesNotFitError: the firmware does not fit the board.
        UsageError: ``directory`` is not a project, or its board is real.
    """
    directory = Path(directory)
    build, board = _build_recipe(directory)
    output = directory / ".pio" / "build" / "direct"
    environment = compiler_environment(build["compiler"])

    def run(command: list[str]) -> None:
        process = run_command(command, cwd=directory, capture_output=True, text=True, env=environment)
        if process.returncode:
            hint = (
                f"Correct it if it is in src/. In {directory}, this shows all messages: {shlex.join(command)}"
            )
            raise explain_failure(process.stderr + process.stdout, board, _linker_script(directory), hint)

    compiler = compile_command(build["compiler"])
    libraries = list(build["libraries"])
    if build["compiler"] == ZIG:
        libraries.append(str(zig_runtime(build["flags"], run_command)))
    headers = max((h.stat().st_mtime_ns for h in directory.glob("lib/*/*.h")), default=0)

    def compile_unit(unit: dict[str, Any]) -> str:
        source = directory / unit["source"]
        target = (output / f"{unit['source']}.o").relative_to(directory)
        command = [*compiler, *build["flags"], *unit["flags"], *flags, "-c", "-o", str(target)]
        command.append(unit["source"])
        object_file, command_file = directory / target, directory / f"{target}.command"
        newest = max(headers, source.stat().st_mtime_ns)
        same_command = command_file.is_file() and command_file.read_text() == " ".join(command)
        in_src = unit["source"].startswith("src/")  # model sources include each other's headers
        if in_src or not (same_command and object_file.is_file() and object_file.stat().st_mtime_ns > newest):
            object_file.parent.mkdir(parents=True, exist_ok=True)
            run(command)
            command_file.write_text(" ".join(command))
        return str(target)

    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(compile_unit, build["units"]))
    elf = output / "firmware.elf"
    run(
        [
            *link_command(build["compiler"]),
            *build["link_flags"],
            "-o",
            str(elf.relative_to(directory)),
            *objects,
            *libraries,
        ]
    )
    return elf


def build(
    directory: Path, *, timeout_s: float = 300.0, on_start: Callable[[str], None] = lambda _: None
) -> Path:
    """Build with PlatformIO. A build for an emulated board needs no network.

    With zig, for an application without ``platformio.ini``, or if PlatformIO is not installed, the firmware of an
    emulated board is built by the same compiler commands without PlatformIO. ``on_start`` is called with a sentence
    about what is going to run.

    Returns:
        The path of the ELF.

    Raises:
        ToolError: PlatformIO or the compiler is missing or failed.
        DoesNotFitError: the firmware does not fit the board.
        UsageError: ``directory`` is not a project, or PlatformIO does not support its board.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    board = manifest["board"]
    if manifest.get("build") is not None:
        _require_compiler(manifest["build"])
        is_for_platformio = (directory / "platformio.ini").is_file() and manifest["build"]["compiler"] != ZIG
        if not is_for_platformio or util.find_spec("platformio") is None:
            on_start(f"Building with {manifest['build']['compiler']}")
            return direct_build(directory)
    elif (error := built_elsewhere(directory, manifest)) is not None:
        raise error
    elif load_board(board).platformio is None:
        steps = " or ".join(build_commands(load_board(board), str(directory)))
        raise UsageError(
            f"PlatformIO does not support {board}; Zephyr builds its firmware.", f"Run `{steps}`."
        )
    is_local = manifest.get("build") is not None
    more = "" if is_local else f"; the first build for a board downloads its tools, within {timeout_s:.0f} s"
    on_start(f"Building with PlatformIO{more}")
    command = [
        sys.executable,
        "-m",
        "platformio",
        "run",
        "--project-dir",
        str(directory),
        "--environment",
        board,
    ]
    environment = os.environ | {
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "0",
        "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "3650",
        "PLATFORMIO_SETTING_CHECK_PRUNE_SYSTEM_THRESHOLD": "0",
        "PLATFORMIO_NO_ANSI": "1",
    }
    try:
        process = run_command(command, env=environment, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"PlatformIO did not finish within {timeout_s:.0f} s.",
            "Check the network connection, and build again.",
        ) from error
    output = process.stdout + process.stderr
    if "No module named platformio" in output:
        raise ToolError("PlatformIO is missing.", "Install it: pip install 'arenite[build]'")
    elf = Path(directory, ".pio", "build", board, "firmware.elf")
    if process.returncode:
        raise explain_failure(output, board, _linker_script(directory))
    if not elf.is_file():
        raise ToolError(f"PlatformIO reported success but did not write {elf}.")
    return elf
