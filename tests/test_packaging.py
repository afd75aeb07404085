"""Tests that the sdist and the wheel contain every file of the package."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def package_files() -> set[str]:
    """Return the package files that git tracks, as paths below arenite/."""
    links = [link.name for link in (ROOT / "arenite").iterdir() if link.is_symlink()]
    tracked = subprocess.run(
        ["git", "ls-files", "arenite", *links], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return {
        path if path.startswith("arenite/") else f"arenite/{path}"
        for path in tracked
        if not (ROOT / path).is_symlink()
    }


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_sdist_and_wheel_hold_every_file_of_the_package(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(
        ROOT / "arenite", tree / "arenite", ignore=shutil.ignore_patterns("__pycache__", "_native.*", "*.pyc")
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(tree)]
    subprocess.run(build, check=True, capture_output=True)
    files = package_files()
    assert any(path.endswith("/arenite.h") for path in files)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert files <= set(archive.namelist())
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        sdist_files = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    # build makes the wheel from the unpacked sdist, so the sdist's setup.py found its C sources.
    assert files <= sdist_files
