"""A wheel holds everything: each package is declared, and each kind of data file that a package holds."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS = [ROOT / folder for folder in SETUPTOOLS["package-dir"].values()]


def test_every_package_is_declared() -> None:
    found = {
        "arenite." + ".".join(file.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for file in folder.rglob("__init__.py")
    }
    assert found == set(SETUPTOOLS["packages"])


def test_every_data_file_is_packed() -> None:
    patterns = SETUPTOOLS["package-data"]["*"]
    data = [
        file
        for folder in FOLDERS
        for file in folder.rglob("*")
        if file.is_file()
        and file.suffix != ".pyc"
        and not (file.suffix == ".py" and _in_package(file))
        # What an editable installation compiled; a wheel gets its own.
        and not file.name.startswith("_native.")
    ]
    assert any(file.name == "arenite.h" for file in data)
    assert [str(f) for f in data if not any(fnmatch(f.name, p) for p in patterns)] == []


def _in_package(file: Path) -> bool:
    return (file.parent / "__init__.py").is_file()
