"""Tests that the lock files hold what ``pyproject.toml`` requires, and that nothing else is installed."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from arenite.converters.importers.make_locks import entries
from tests.supply_chain.project_locks import ALL, CORE, FOLDER, NAMES, ROOT, requirements_of

_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\s*")
_WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def pins(name: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock file. A package has several if they depend on the system."""
    versions: dict[str, set[str]] = {}
    for entry in entries((FOLDER / f"{name}.txt").read_text("utf-8")):
        pin = _PIN.fullmatch(entry)
        assert pin is not None, f"{name}.txt: {entry[:60]} has no version or no hash"
        versions.setdefault(canonicalize_name(pin[1]), set()).add(pin[2])
    return versions


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_file_has_every_requirement(name: str) -> None:
    locked = pins(name)
    for text in requirements_of(name):
        requirement = Requirement(text)
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions, f"{name}.txt lacks {text}: run make locks"
        assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), text


@pytest.mark.parametrize("name", NAMES)
def test_the_lock_file_has_the_dependencies_of_its_packages(name: str) -> None:
    """pip installs a lock file with ``--no-deps``. Packages that are not installed here are not checked."""
    locked = pins(name)
    for package, versions in locked.items():
        try:
            requires = importlib.metadata.requires(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if importlib.metadata.version(package) not in versions:
            continue
        for text in requires:
            requirement = Requirement(text)
            needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            other = canonicalize_name(requirement.name)
            if needed:
                assert other in locked, f"{name}.txt has {package}, which needs {text}: run make locks"


def test_the_same_package_has_the_same_version_in_all_lock_files() -> None:
    everything = pins(ALL)
    for name in NAMES:
        for package, versions in pins(name).items():
            assert versions == everything[package], f"{name}.txt and {ALL}.txt differ in {package}"


def test_requirements_include_extras_of_extras() -> None:
    settings = {
        "build-system": {"requires": ["builder"]},
        "project": {
            "dependencies": ["numpy"],
            "optional-dependencies": {
                "dev": ["arenite[test,demo]", "a"],
                "test": ["arenite[demo]", "b"],
                "demo": ["c"],
            },
        },
    }
    assert requirements_of("dev", settings) == ["a", "b", "builder", "c", "numpy"]
    assert requirements_of("demo", settings) == ["builder", "c", "numpy"]
    assert requirements_of(CORE, settings) == ["numpy"]


@pytest.mark.slow
def test_pip_refuses_a_package_whose_hash_differs(tmp_path: Path) -> None:
    """The form of the lock files makes pip check hashes, also without ``--require-hashes``."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small/pyproject.toml").write_text('[project]\nname = "small"\nversion = "1"\n')
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        ".",
    ]
    subprocess.run([*command, "./small"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "lock.txt").write_text("small==1 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", ".", "--target", "here"]
    refused = subprocess.run(
        [*install, "--requirement", "lock.txt"], cwd=tmp_path, capture_output=True, text=True
    )
    assert refused.returncode != 0 and "DO NOT MATCH THE HASHES" in refused.stderr
    assert not (tmp_path / "here/small-1.dist-info").exists()


@pytest.mark.parametrize("path", [*_WORKFLOWS, ROOT / "pyproject.toml"], ids=lambda path: str(path.name))
def test_workflows_install_only_locked_packages(path: Path) -> None:
    for command in re.findall(r"pip install[^\n\"]*(?:\"[^\n]*)?", path.read_text("utf-8")):
        assert "--require-hashes --no-deps" in command or "--no-deps --no-build-isolation" in command, command
        for lock in re.findall(r"requirements/[\w-]+\.txt", command):
            assert (ROOT / lock).exists()


@pytest.mark.parametrize("path", _WORKFLOWS, ids=lambda path: str(path.name))
def test_actions_are_pinned_to_commits(path: Path) -> None:
    actions = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
    assert actions and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in actions)


def test_setup_sh_installs_locked_packages() -> None:
    script = (ROOT / "setup.sh").read_text("utf-8")
    extras = re.findall(r"^# Usage: ./setup.sh \[([\w|]+)\]", script, re.M)[0].split("|")
    assert {*extras} <= {*NAMES}
    installs = re.findall(r"^ +pip (--[^\n]+)", script, re.M)
    assert [line.split()[0] for line in installs] == ["--upgrade", "--require-hashes", "--no-deps"]
    assert 'pip --require-hashes --no-deps --requirement "$lock"' in script
    assert script.index('if [ -n "${UNLOCKED:-}" ]') < script.index("pip --upgrade")
