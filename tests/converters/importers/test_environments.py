"""An environment is a folder with the Python packages of a framework. It is created once, and created again if the
creation was interrupted. Failures have clear messages."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.importers import environments
from arenite.converters.importers.environments import (
    Environment,
    EnvironmentSpec,
    directory,
    environment,
    make,
    specs,
    versions,
)
from arenite.converters.importers.make_locks import entries, partition
from arenite.converters.importers.pip_install import HashError
from arenite.errors import ToolError, UsageError
from arenite.locks import file_lock

#: A small package in pure Python. Arenite's own environment does not need this version.
_SIX = "six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254\n"
_SMALL = EnvironmentSpec("small", ("six",), ("six==1.16.0",), Path(__file__).with_name("small_lock.txt"))
_WRONG_HASH = "--hash=sha256:" + "0" * 64


def _spec(
    folder: Path, lock: str, *, first: str = "", fallback: str = "", disk_mb: int = 0
) -> EnvironmentSpec:
    """Return an environment spec whose lock files have the given texts and are in ``folder``.

    pip installs ``first`` before ``lock``, or ``fallback`` if ``first`` does not exist for this computer.
    """
    paths = []
    for name, text in (("lock", lock), ("first", first), ("fallback", fallback)):
        paths.append(folder / f"{name}.txt" if text else None)
        if text:
            (folder / f"{name}.txt").write_text(text)
    assert paths[0] is not None
    return EnvironmentSpec(
        "own", ("six",), (), paths[0], paths[1], paths[2], index="http://127.0.0.1:9/simple", disk_mb=disk_mb
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache folder."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    return tmp_path


def _script(tmp_path: Path, text: str) -> Path:
    """Write a Python script and return its path."""
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_two_threads_create_an_environment_once_and_again_after_an_interruption(
    cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    leftover = directory(_SMALL) / "lib" / "left by an interrupted process"
    leftover.mkdir(parents=True)
    created: list[Environment] = []
    threads = [threading.Thread(target=lambda: created.append(make(_SMALL))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(created) == 2 and created[0] == created[1]
    assert capfd.readouterr().err.count("Created the environment 'small'") == 1
    assert not leftover.exists()
    assert versions(created[0], ["six", "numpy"]) == {"six": "1.16.0"}
    # The environment has its own packages and none of the Python that runs Arenite.
    script = _script(cache, "import six, sys\nprint(six.__version__, sys.argv[1:])\nimport numpy\n")
    with pytest.raises(ToolError, match="No module named 'numpy'"):
        created[0].run(script, "a b", "c")
    script.write_text("import six, sys\nprint(six.__version__, sys.argv[1:])\n")
    assert created[0].run(script, "a b", "c") == "1.16.0 ['a b', 'c']\n"
    (directory(_SMALL) / environments._STAMP).unlink()
    assert make(_SMALL, progress=False) == created[0]
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_failed_installation_leaves_no_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    spec = _spec(cache, f"arenite-has-no-such-package==1.0 {_WRONG_HASH}")
    with pytest.raises(ToolError, match="Could not create the environment 'own'") as caught:
        make(spec, progress=False)
    assert "arenite-has-no-such-package" in caught.value.problem
    assert caught.value.hint
    assert not directory(spec).exists()


@pytest.mark.slow
def test_an_unreachable_package_index_is_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="cannot be reached"):
        make(_spec(cache, f"arenite-has-no-such-package==1.0 {_WRONG_HASH}"), progress=False)


def test_too_little_disk_space_is_an_error(cache: Path) -> None:
    with pytest.raises(ToolError, match="MB free"):
        make(_spec(cache, _SIX, disk_mb=10**12), progress=False)


def test_a_cache_folder_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ToolError, match="ARENITE_CACHE"):
        make(_SMALL, progress=False)


def test_the_running_python_is_used_if_it_has_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        environments._specs(), "here", EnvironmentSpec("here", ("numpy", "json"), ("numpy",), _SMALL.lock)
    )
    assert environment("here") == Environment("here", Path(sys.executable), own=False)


def test_an_unknown_environment_is_an_error() -> None:
    with pytest.raises(UsageError, match="no environment 'caffe'"):
        environment("caffe")
    assert set(specs()) >= {"tensorflow", "torch", "onnx"}


def test_each_set_of_packages_has_its_own_key(tmp_path: Path) -> None:
    assert _SMALL.key == replace(_SMALL, name="other name", modules=()).key
    assert _SMALL.key == _spec(tmp_path, _SMALL.lock.read_text()).key
    keys = {_SMALL.key, _spec(tmp_path, _SIX + "# 2").key, _spec(tmp_path, _SIX, fallback=_SIX).key}
    assert len(keys) == 3


@pytest.mark.slow
def test_a_file_with_another_hash_is_refused(cache: Path) -> None:
    spec = _spec(cache, f"six==1.16.0 {_WRONG_HASH}")
    with pytest.raises(HashError, match=r"six==1\.16\.0 .* 'own' is not the one in the lock file") as caught:
        make(spec, progress=False)
    assert _SIX.rpartition(":")[2].strip() in caught.value.problem
    assert "mirror" in caught.value.hint
    assert not directory(spec).exists()


def test_a_package_without_a_hash_is_refused(cache: Path) -> None:
    with pytest.raises(ToolError, match="Could not create the environment"):
        make(_spec(cache, "six==1.16.0"), progress=False)


@pytest.mark.skipif(sys.platform != "linux", reason="small builds are tried on Linux only")
@pytest.mark.slow
def test_the_fallback_replaces_a_missing_small_build_but_not_one_with_a_wrong_hash(cache: Path) -> None:
    attrs = "attrs==25.3.0 --hash=sha256:427318ce031701fea540783410126f03899a97ffc6f61596ad581ac2e40e3bc3"
    lock = "iniconfig==2.0.0 --hash=sha256:b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374"
    missing = f"six==1.16.0+small {_WRONG_HASH}"
    created = make(_spec(cache, lock, first=missing, fallback=_SIX), progress=False)
    assert versions(created, ["six", "iniconfig"]) == {"six": "1.16.0", "iniconfig": "2.0.0"}
    created = make(_spec(cache, lock, first=_SIX, fallback=attrs), progress=False)
    assert versions(created, ["six", "iniconfig", "attrs"]) == {"six": "1.16.0", "iniconfig": "2.0.0"}
    with pytest.raises(HashError):
        make(_spec(cache, lock, first=f"six==1.16.0 {_WRONG_HASH}", fallback=_SIX), progress=False)


def test_a_python_that_is_too_new_is_an_error(cache: Path) -> None:
    with pytest.raises(ToolError, match=r"'small' needs Python 3\.10 or older; this is 3\."):
        make(replace(_SMALL, max_python="3.10"), progress=False)
    assert not directory(_SMALL).exists()


@pytest.mark.parametrize("name", sorted(specs()))
def test_lock_files_pin_everything_that_is_required_with_hashes(name: str) -> None:
    spec = specs()[name]
    texts = [path.read_text("utf-8") for path in (spec.lock, spec.first_lock, spec.fallback_lock) if path]
    pins = []
    for entry in [entry for text in texts for entry in entries(text)]:
        assert re.match(r"[a-z0-9-]+==\S+ ( *;[^\\]+)?(\\\n    --hash=sha256:[0-9a-f]{64}\s*)+$", entry), (
            entry
        )
        pins.append(entry.split()[0])
    assert len(pins) > 30
    normal = {requirement.replace("_", "-").lower() for requirement in spec.requires}
    assert normal <= set(pins)


def test_the_small_build_of_torch_needs_no_cuda_packages() -> None:
    spec = specs()["torch"]
    assert spec.first_lock is not None and spec.fallback_lock is not None
    assert [entry.split()[0] for entry in entries(spec.first_lock.read_text())] == ["torch==2.13.0+cpu"]
    names = {entry.split("==")[0] for entry in entries(spec.lock.read_text())}
    assert not {name for name in names if name.startswith(("nvidia", "cuda", "torch=", "triton"))}
    assert {"torch", "triton", "nvidia-cudnn-cu13"} <= {
        entry.split("==")[0] for entry in entries(spec.fallback_lock.read_text())
    }


def test_a_lock_is_split_into_packages_that_are_always_needed_and_packages_of_the_fallback() -> None:
    lock = "# comment\na==1 \\\n    --hash=sha256:00\nnvidia-x==2 ; sys_platform == 'linux' \\\n    --hash=sha256:01\n"
    assert [entry.split()[0] for entry in entries(lock)] == ["a==1", "nvidia-x==2"]
    always, fallback = partition(lock, ["nvidia-*"])
    assert always == "a==1 \\\n    --hash=sha256:00\n"
    assert fallback == "nvidia-x==2 ; sys_platform == 'linux' \\\n    --hash=sha256:01\n"


@pytest.fixture
def this_python() -> Environment:
    """Return the running Python as an environment."""
    return Environment("here", Path(sys.executable), own=False)


def test_the_error_of_a_failed_script_contains_its_last_lines(
    this_python: Environment, tmp_path: Path
) -> None:
    script = _script(tmp_path, "import sys\nprint('first', file=sys.stderr)\nraise ValueError('too hot')\n")
    with pytest.raises(
        ToolError, match=r"script\.py .*'here' ended with code 1: ValueError: too hot"
    ) as caught:
        this_python.run(script)
    assert "first" in caught.value.hint
    script.write_text("import os\nos.kill(os.getpid(), 6)\n")
    with pytest.raises(ToolError, match="signal 6"):
        this_python.run(script)


@pytest.mark.slow
def test_lines_arrive_while_the_script_runs_and_the_timeout_ends_it(
    this_python: Environment, tmp_path: Path
) -> None:
    script = _script(tmp_path, "import time\nprint('one')\nprint('two')\ntime.sleep(60)\n")
    lines: list[str] = []
    with pytest.raises(ToolError, match="longer than its time limit"):
        this_python.run(script, timeout=15, on_line=lines.append)  # a busy computer starts Python late
    assert lines == ["one", "two"]


def test_an_environment_without_its_python_is_an_error(tmp_path: Path) -> None:
    missing = Environment("gone", tmp_path / "bin" / "python", own=True)
    with pytest.raises(ToolError, match="Cannot start"):
        missing.run(_script(tmp_path, ""))


def test_killing_a_process_frees_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time, pathlib\n"
            "from arenite.locks import file_lock\n"
            "with file_lock(pathlib.Path(sys.argv[1])):\n"
            "    print('held', flush=True)\n"
            "    time.sleep(60)\n",
            str(lock),
        ],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    waited: list[bool] = []

    def waiting() -> None:
        waited.append(True)
        holder.kill()

    with file_lock(lock, waiting):
        assert waited == [True]
    holder.wait()
    holder.stdout.close()
