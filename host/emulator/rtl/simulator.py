"""Build the simulator of a core with Verilator, and keep it in the cache.

The name of the file in the cache has a hash of all that determines the program: the wheel with the sources of the core,
the test bench, the settings, and the versions of Verilator and of the C++ compiler.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory, cache_error
from arenite.host.emulator.rtl.cores import RtlCore
from arenite.models.download import download_package
from arenite.models.named_package import identify_package
from arenite.processes import run, temporary_folder

TESTBENCH = Path(__file__).parent / "testbench"
VERILATOR = "verilator"
_INSTALL = "Install it: apt install verilator g++ make"
_COMMON = ("memory_port.sv", "memory.sv")
_FLAGS = (
    *("--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"),
    *("--top-module", "board", "-CFLAGS", "-std=c++17", "-MAKEFLAGS", "OPT_FAST=-O2"),
)


def require_verilator() -> None:
    """Raise ``ToolError`` if Verilator or the programs that it calls are not installed."""
    for program, title in ((VERILATOR, "Verilator"), ("g++", "The C++ compiler g++"), ("make", "make")):
        if shutil.which(program) is None:
            raise ToolError(
                f"{title} is not installed, which boards called rtl_* need to simulate their core.", _INSTALL
            )


def verilator_version() -> str:
    """Return the version of Verilator, such as "5.006". Raises ``ToolError`` if it is not installed."""
    words = _version_of(VERILATOR).split()
    return words[1] if len(words) > 1 else "unknown"


def _version_of(program: str) -> str:
    """Return the first line that ``program --version`` prints. Raises ``ToolError`` if it does not run."""
    try:
        process = run([program, "--version"], capture_output=True, text=True, timeout=60)
    except OSError as error:
        raise ToolError(f"Cannot run {program}: {error.strerror}.", _INSTALL) from error
    return str(process.stdout).partition("\n")[0]


def simulator(core: RtlCore, progress: Callable[[str, int, int], None] = lambda *_: None) -> Path:
    """Return the path of the program that simulates ``core``. If it is not in the cache, build it (about 30 seconds of
    processor time), and call ``progress("simulator", done, 1)`` before and after.

    Raises:
        ToolError: Verilator is not installed or fails, or the wheel cannot be downloaded.
        UsageError: the file that the core's variable names is not the pinned wheel.
    """
    require_verilator()
    program = cache_directory() / "rtl" / f"{core.name}-{_digest(core)}"
    if program.is_file():
        return program
    progress("simulator", 0, 1)
    with temporary_folder("arenite-rtl-") as folder, _wheel(core) as wheel:
        _unpack(core, wheel, folder)
        _verilate(core, folder)
        _store(folder / "out" / "simulator", program)
    progress("simulator", 1, 1)
    return program


def _digest(core: RtlCore) -> str:
    digest = hashlib.sha256()
    for text in (core.package.sha256, core.top, repr(core.sources), repr(core.include), repr(core.defines)):
        digest.update(text.encode() + b"\0")
    for text in (*_FLAGS, _version_of(VERILATOR), _version_of("g++")):
        digest.update(text.encode() + b"\0")
    for path in sorted(TESTBENCH.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _wheel(core: RtlCore) -> Iterator[Path]:
    """Yield the path of the core's wheel: the file that the core's variable names, or a download."""
    named = os.environ.get(core.variable)
    if named:
        path = Path(named).expanduser()
        identify_package(path, (core.package,), core.variable, "wheel")
        yield path
        return
    try:
        with download_package(core.package, cache_directory()) as path:
            yield path
    except OSError as error:
        raise cache_error(error) from error


def _unpack(core: RtlCore, wheel: Path, folder: Path) -> None:
    """Write the files of ``core.folders`` below ``folder``. Only the names of a pinned wheel are used as paths."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".sv", ".svh")) and name.startswith(tuple(f"{f}/" for f in core.folders)):
                archive.extract(name, folder)


def _verilate(core: RtlCore, folder: Path) -> None:
    """Build ``folder``/out/simulator from the sources in ``folder``. Raises ``ToolError`` if Verilator fails."""
    command = [
        *(VERILATOR, *_FLAGS, "-j", str(min(os.cpu_count() or 1, 4))),
        *("--Mdir", str(folder / "out"), "-o", "simulator"),
        *(f"+define+{name}={value}" for name, value in core.defines),
        *(f"+incdir+{path}" for path in core.include),
        str(TESTBENCH / "quiet.vlt"),
        *core.sources,
        *(str(TESTBENCH / name) for name in (*_COMMON, core.top, "main.cpp")),
    ]
    process = run(command, capture_output=True, text=True, cwd=folder)
    if process.returncode:
        lines = (process.stderr + process.stdout).splitlines()
        message = next(
            (line for line in lines if "rror" in line), lines[0] if lines else "it printed no message"
        )
        raise ToolError(
            f"Verilator could not build the simulator of {core.name}: {message.strip()[:300]}",
            "Arenite was tested with Verilator 5.006, the version of Debian 12.",
        )


def _store(built: Path, program: Path) -> None:
    """Move the program ``built`` into the cache in one step. Raises ``ToolError`` if the cache cannot be written."""
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        temporary = program.with_name(f".{program.name}.{os.getpid()}")
        shutil.copyfile(built, temporary)
        temporary.chmod(0o755)
        os.replace(temporary, program)
    except OSError as error:
        raise cache_error(error) from error
