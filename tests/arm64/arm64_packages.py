"""Get Python packages for aarch64: wheels of the package index, and the project's own wheel, cross-compiled here."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from arenite.locks import file_lock
from tests.arm64.arm64_root import cache, run

ROOT = Path(__file__).resolve().parents[2]
#: Distributions that the camera loop imports. The versions are those installed on this computer.
DISTRIBUTIONS = (
    "numpy", "ai-edge-litert", "flatbuffers", "click", "rich", "pygments", "markdown-it-py", "mdurl",
)  # fmt: skip
#: Platform tags that Debian 12 (glibc 2.36) supports.
_PLATFORMS = ("any", *(f"manylinux_2_{glibc}_aarch64" for glibc in (17, 24, 26, 27, 28, 31, 34)))
_PYTHON = "3.11"
#: The end of the file name of the compiled extension.
_SUFFIX = ".cpython-311-aarch64-linux-gnu.so"


def libraries() -> Path:
    """Return a folder with the unpacked wheels of the package index. Raises ``ToolError`` if pip fails."""
    requirements = [f"{name}=={importlib.metadata.version(name)}" for name in DISTRIBUTIONS]
    folder = cache() / f"site-{hashlib.sha256(' '.join(requirements).encode()).hexdigest()[:8]}"
    with file_lock(folder.with_suffix(".lock"), lambda: None):
        if folder.is_dir():
            return folder
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache()) as wheels:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            command += ["--no-deps", "--only-binary=:all:", f"--python-version={_PYTHON}"]
            command += ["--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
            command += [f"--platform={each}" for each in ("manylinux2014_aarch64", *_PLATFORMS)]
            run([*command, "--dest", wheels, *requirements])
            for wheel in Path(wheels).glob("*.whl"):
                unpack(wheel, fresh)
        fresh.rename(folder)
    return folder


def own_wheel(folder: Path) -> Path:
    """Build the project's wheel for aarch64 in ``folder``, from a copy of this tree. Raises ``ToolError`` if pip
    fails."""
    tree = folder / "tree"
    # copytree follows the symbolic links in arenite/, so the copy is a package with real folders.
    shutil.copytree(
        ROOT / "arenite",
        tree / "arenite",
        ignore=shutil.ignore_patterns("__pycache__", "_native.*", "*.pyc"),
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    # Variables that make setuptools build for another machine. The extension does not need Python's headers.
    cross = {
        "CC": "aarch64-linux-gnu-gcc",
        "LDSHARED": "aarch64-linux-gnu-gcc -shared",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "SETUPTOOLS_EXT_SUFFIX": _SUFFIX,
    }
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run([*command, "--wheel-dir", str(folder), str(tree)], cross)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(wheel: Path, folder: Path) -> None:
    """Unpack the files of a wheel into ``folder``."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
