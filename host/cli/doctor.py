"""``arenite doctor``: check the tools that Arenite calls."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from importlib import metadata
from typing import Any

import click

from arenite.host.report.console import print_json, show, table

#: For each tool: its command, the Debian package that contains it, and its purpose.
TOOLS = (
    ("gcc", "gcc", "cycle estimates on emulated boards, fuzzing, tests"),
    ("arm-none-eabi-gcc", "gcc-arm-none-eabi", "Cortex-M firmware"),
    ("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf", "RISC-V firmware"),
    ("xtensa-lx106-elf-gcc", "gcc-xtensa-lx106", "Xtensa firmware"),
    ("qemu-system-arm", "qemu-system-arm", "emulated Cortex-M boards"),
    ("qemu-system-riscv32", "qemu-system-misc", "emulated RISC-V board"),
    ("qemu-system-xtensa", "qemu-system-misc", "emulated Xtensa board"),
    ("verilator", "verilator", "measured cycles of RISC-V cores (boards rtl_*)"),
)
#: For each Python package: its name on PyPI, and the extra of Arenite that installs it ("" if Arenite always installs
#: it).
PACKAGES = (
    ("ai-edge-litert", ""),
    ("pyserial", ""),
    ("pyelftools", ""),
    ("platformio", "build"),
    ("ziglang", "bench"),
    ("unicorn", "bench"),
    ("tflite-micro", "tflm"),
    ("opencv-python-headless", "video"),
    ("simplejpeg", "mjpeg"),
    ("paho-mqtt", "mqtt"),
    ("onnxruntime", "onnxruntime"),
    ("h11", "dashboard"),
    ("prometheus_client", "fleet"),
    ("joulescope", "joulescope"),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def doctor(as_json: bool) -> int:
    """Check compilers, emulators and Python packages, and list the cameras, inference runtimes and sensors of this
    computer.

    The exit code is 3 if a compiler or emulator is missing.
    """
    tools = [_tool(*t) for t in TOOLS]
    packages = [*(_package(*p) for p in PACKAGES), _processing()]
    if as_json:
        print_json(
            {
                "schema": "arenite.doctor/1",
                "tools": tools,
                "packages": packages,
                "uploaders": _uploaders(),
                "camera": _camera(),
                "meters": _meters(),
            }
        )
    else:
        rows = [(t["name"], t["version"] or "missing", t["use"], t["fix"]) for t in tools + packages]
        show(table("Tools", ("name", "version", "used for", "to install"), rows))
        uploaders = [(u["name"], "yes" if u["there"] else "no", u["boards"], u["fix"]) for u in _uploaders()]
        show(table("For arenite flash", ("tool", "installed", "boards", "to install"), uploaders))
        meters = [(m["name"], m["port"], "yes" if m["sure"] else "perhaps", m["what"]) for m in _meters()]
        show(
            table(
                "For arenite energy",
                ("meter", "port", "recognized", "description"),
                meters or [("none", "", "no", "")],
            )
        )
        camera_parts = _camera()
        usable = {True: "yes", False: "no"}
        rows = [("camera", camera["name"], "yes", "") for camera in camera_parts["cameras"]]
        rows += [("runtime", r["name"], usable[r["usable"]], r["note"]) for r in camera_parts["runtimes"]]
        rows += [(s["kind"], s["name"], usable[s["usable"]], s["note"]) for s in camera_parts["sensors"]]
        show(table("For arenite camera", ("kind", "name", "usable", "note"), rows))
    return 0 if all(t["version"] for t in tools) else 3


def _uploaders() -> list[dict[str, Any]]:
    """Return one row per upload tool: whether it is installed, how to install it, and the number of boards that support
    it."""
    from arenite.host.flash.choose_uploader import ANY_BOARD_UPLOADERS, UPLOADERS
    from arenite.profiles.boards import all_boards

    boards = all_boards()
    rows = []
    for tool in UPLOADERS.values():
        fix = tool.missing()
        count = sum(tool.name in (*board.upload_tools, *ANY_BOARD_UPLOADERS) for board in boards)
        rows.append({"name": tool.name, "there": fix is None, "boards": count, "fix": fix or ""})
    return rows


def _meters() -> list[dict[str, Any]]:
    """Return one row per connected meter, and a row for the TCP server of an Otii if it runs."""
    from arenite.host.energy.meter_discovery import find_meters

    return [
        {"name": m.name, "port": m.where, "what": m.description, "serial": m.serial, "sure": m.sure}
        for m in find_meters()
    ]


def _camera() -> dict[str, Any]:
    """Return the cameras, the inference runtimes, and the sensors of power and temperature of this computer."""
    from arenite.host.camera.runtimes.catalogue import available_runtimes
    from arenite.host.camera.sources.v4l2.discovery import list_cameras
    from arenite.host.energy.power_sources import sources

    return {
        "cameras": [{"name": str(camera)} for camera in list_cameras()],
        "runtimes": [{"name": a.name, "usable": a.available, "note": a.reason} for a in available_runtimes()],
        "sensors": sources(),
    }


def _tool(name: str, package: str, use: str) -> dict[str, Any]:
    version = None
    # A tool that is installed but does not start (wrong architecture, missing library) is reported as missing.
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([name, "--version"], capture_output=True, text=True, timeout=20)
        if done.returncode == 0:
            version = (done.stdout.splitlines() or ["?"])[0]
    return {"name": name, "version": version, "use": use, "fix": "" if version else f"apt install {package}"}


def _processing() -> dict[str, Any]:
    """Return a row that says whether the C library for pre- and postprocessing is compiled. Without it, NumPy computes
    the same bytes."""
    from arenite.converters.processing.native import library as native

    compiled = native.library() is not None
    return {
        "name": "preprocessing in C",
        "version": "compiled" if compiled else None,
        "use": "pictures and sound; without it NumPy does the same",
        "fix": native.unavailable_reason(),
    }


def _package(name: str, extra: str) -> dict[str, Any]:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = None
    requirement = f"arenite[{extra}]" if extra else "arenite"
    return {
        "name": name,
        "version": version,
        "use": "Python package",
        "fix": "" if version else f"pip install '{requirement}'",
    }
