"""Run Python programs on aarch64 with qemu-user, Debian's Python, and the wheels for aarch64."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.arm64.arm64_packages import libraries, own_wheel, unpack
from tests.arm64.arm64_root import CPU, arm64_root, cache, run


@dataclass(frozen=True)
class Machine:
    """An emulated aarch64 machine with its Python packages.

    ``root`` is the folder with the machine's files, ``path`` its PYTHONPATH, and ``wheel`` the file name of the
    project's wheel. ``seconds`` has the duration of each step that prepared the machine.
    """

    root: Path
    path: tuple[Path, ...]
    wheel: str
    seconds: dict[str, float]

    def python(self, *arguments: str) -> str:
        """Run a Python program and return its standard output. Raises ``ToolError`` if it fails."""
        environment = {
            "PYTHONPATH": ":".join(map(str, self.path)),
            "PYTHONHOME": "/usr",
            "PYTHONNOUSERSITE": "1",
            "PYTHONPYCACHEPREFIX": str(cache() / "pyc"),
            "PYTHONFAULTHANDLER": "1",
            # Use the C library of the wheel, even if this computer's environment selects another one.
            "ARENITE_PROCESSING": "",
        }
        interpreter = str(self.root / "usr/bin/python3.11")
        return run(["qemu-aarch64", "-cpu", CPU, "-L", str(self.root), interpreter, *arguments], environment)


@contextmanager
def machine() -> Iterator[Machine]:
    """Yield a machine with the project's wheel, which is built from this tree and deleted at the end. Raises
    ``ToolError`` if a step fails."""
    seconds: dict[str, float] = {}

    def timed(name: str, step):  # type: ignore[no-untyped-def]
        start = time.monotonic()
        result = step()
        seconds[name] = round(time.monotonic() - start, 1)
        return result

    root: Path = timed("root", arm64_root)
    site: Path = timed("packages", libraries)
    with tempfile.TemporaryDirectory(prefix="arenite-arm64-") as folder:
        wheel: Path = timed("wheel", lambda: own_wheel(Path(folder)))
        own = Path(folder) / "site"
        unpack(wheel, own)
        yield Machine(root, (own, site), wheel.name, seconds)
