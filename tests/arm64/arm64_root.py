"""Make a folder with a small arm64 Debian: Python 3.11 and the libraries that it links, unpacked but not installed.

apt resolves the packages and verifies their signatures with a separate state folder, so that neither the computer's
packages nor its architectures change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory
from arenite.locks import file_lock

SUITE = "bookworm"
PACKAGES = ("python3.11", "libstdc++6")
_SOURCES = (
    "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
    f"http://deb.debian.org/debian {SUITE} main\n"
)
#: The type of the emulated cores. A Raspberry Pi 4 has four cores of this type. LiteRT reads a description of the
#: processor from system files. Without files for the emulated cores, it would read the description of this computer
#: through the emulator, and stop, because an x86 description matches no Arm core.
CPU = "cortex-a72"
_CORE = """processor\t: {core}
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd08
CPU revision\t: 3

"""
_CORES = 4
#: System files that describe each core, below the core's folder.
_CORE_FILES = {
    "topology/physical_package_id": "0",
    "topology/core_id": "{core}",
    "topology/core_siblings_list": "0-3",
    "topology/cluster_cpus_list": "0-3",
    "cpufreq/cpuinfo_max_freq": "1500000",
    "cpufreq/cpuinfo_min_freq": "600000",
    "cache/index2/level": "2",
    "cache/index2/size": "1024K",
    "cache/index2/shared_cpu_list": "0-3",
}
#: Required programs and their Debian packages.
TOOLS = {
    "qemu-aarch64": "qemu-user",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "apt-get": "apt",
    "dpkg": "dpkg",
}
_TIMEOUT_S = 300


def missing_tools() -> list[str]:
    """Return the Debian packages of the missing programs."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def cache() -> Path:
    """Return the folder that keeps the files for arm64."""
    return cache_directory() / "arm64"


def arm64_root() -> Path:
    """Return the folder with the arm64 Debian. Create it first if it does not exist. Raises ``ToolError`` if a required
    program is missing or fails."""
    contents = repr((_SOURCES, PACKAGES, _CORE, _CORES, _CORE_FILES))
    key = hashlib.sha256(contents.encode()).hexdigest()[:8]
    root = cache() / f"root-{key}"
    if root.is_dir():
        return root
    if packages := missing_tools():
        raise ToolError("Programs for arm64 are missing.", f"Install {' '.join(packages)}, or run setup.sh.")
    cache().mkdir(parents=True, exist_ok=True)
    with file_lock(root.with_suffix(".lock"), lambda: None):
        if not root.is_dir():
            _make(root)
    return root


def _make(root: Path) -> None:
    """Download the packages and unpack them into ``root``."""
    apt, unpacked = cache() / "apt", root.with_suffix(".new")
    for folder in (apt, unpacked):
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "archives/partial"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(_SOURCES)
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Dir::State": apt,
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt,
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "-",
    }
    command = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    run([*command, "update"])
    run([*command, "install", "--yes", "--download-only", "--no-install-recommends", *PACKAGES])
    unpacked.mkdir()
    for package in sorted((apt / "archives").glob("*.deb")):
        run(["dpkg", "-x", str(package), str(unpacked)])
    _describe_processor(unpacked)
    shutil.rmtree(apt)
    unpacked.rename(root)


def _describe_processor(root: Path) -> None:
    """Write the files that describe the processor below ``root``. If the emulated program opens an absolute path, the
    emulator first looks for it there."""
    files = {"proc/cpuinfo": "".join(_CORE.format(core=core) for core in range(_CORES))}
    system = "sys/devices/system/cpu"
    files |= {f"{system}/{name}": f"0-{_CORES - 1}\n" for name in ("possible", "present", "online")}
    for core in range(_CORES):
        for name, text in _CORE_FILES.items():
            files[f"{system}/cpu{core}/{name}"] = text.format(core=core) + "\n"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run ``command`` and return its output. Raises ``ToolError`` with the last lines of the output if it fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{command[0]}: {error}.") from error
    if done.returncode != 0:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-12:])
        raise ToolError(f"{Path(command[0]).name} ended with code {done.returncode}:\n  {last}")
    return done.stdout
