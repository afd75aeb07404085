"""``arenite doctor``: are the tools there that Arenite calls?"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from importlib import metadata

import click

from arenite.host.cli.output import print_json, show, table

#: Command, the Debian package that has it, and what it is for.
TOOLS = (
    ("gcc", "gcc", "cycle estimates on emulated boards, fuzzing, tests"),
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi", "Cortex-M firmware"),
    ("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf", "RISC-V firmware"),
    ("xtensa-lx106-elf-gcc", "gcc-xtensa-lx106", "Xtensa firmware"),
    ("qemu-system-arm", "qemu-system-arm", "emulated Cortex-M boards"),
    ("qemu-system-riscv32", "qemu-system-misc", "emulated RISC-V board"),
    ("qemu-system-xtensa", "qemu-system-misc", "emulated Xtensa board"),
)
#: Distribution, and the extra that installs it ("" for the core install).
PACKAGES = (
    ("ai-edge-litert", ""),
    ("pyserial", ""),
    ("pyelftools", ""),
    ("platformio", "build"),
    ("tflite-micro", "tflm"),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def doctor(as_json: bool) -> int:
    """Check compilers, emulators and Python packages; exit code 3 when a tool is missing."""
    tools = [_tool(*t) for t in TOOLS]
    packages = [*(_package(*p) for p in PACKAGES), _processing()]
    if as_json:
        print_json({"schema": "arenite.doctor/1", "tools": tools, "packages": packages})
    else:
        rows = [(t["name"], t["version"] or "missing", t["use"], t["fix"]) for t in tools + packages]
        show(table("Tools", ("name", "version", "for", "to install"), rows))
    return 0 if all(t["version"] for t in tools) else 3


def _tool(name: str, package: str, use: str) -> dict:
    version = None
    # A tool that is there but does not start (a wrong architecture, a lost library) is as good as missing.
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=20)
        if done.returncode == 0:
            version = (done.stdout.splitlines() or ["?"])[0]
    return {"name": name, "version": version, "use": use, "fix": "" if version else f"apt install {package}"}


def _processing() -> dict:
    """The C library of pre- and postprocessing: without it NumPy gives the same bytes."""
    from arenite.converters.processing import native

    there = native.library() is not None
    return {
        "name": "preprocessing in C",
        "version": "compiled" if there else None,
        "use": "pictures and sound; without it NumPy does the same",
        "fix": native.reason(),
    }


def _package(name: str, extra: str) -> dict:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = None
    wanted = f"arenite[{extra}]" if extra else "arenite"
    return {
        "name": name,
        "version": version,
        "use": "Python package",
        "fix": "" if version else f"pip install '{wanted}'",
    }
