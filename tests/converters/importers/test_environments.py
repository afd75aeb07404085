"""Environments: made once, whoever asks; made anew after an interruption; clear words when they cannot be made."""

from __future__ import annotations

import subprocess
import sys
import threading
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
from arenite.errors import ToolError, UsageError
from arenite.locks import file_lock

#: Small, of pure Python, and not in Arenite's own environment's dependencies by that version.
_SMALL = EnvironmentSpec("small", ("six",), ("six==1.16.0",))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    return tmp_path


def _script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_an_environment_is_made_once_by_several_makers_and_after_an_interruption(
    cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = directory(_SMALL) / "lib" / "left by an interrupted maker"
    left.mkdir(parents=True)
    made: list[Environment] = []
    makers = [threading.Thread(target=lambda: made.append(make(_SMALL))) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(made) == 2 and made[0] == made[1]
    assert capfd.readouterr().err.count("Made the environment 'small'") == 1
    assert not left.exists()
    assert versions(made[0], ["six", "numpy"]) == {"six": "1.16.0"}
    # It has its own packages, and none of those of the Python that runs Arenite.
    script = _script(cache, "import six, sys\nprint(six.__version__, sys.argv[1:])\nimport numpy\n")
    with pytest.raises(ToolError, match="No module named 'numpy'"):
        made[0].run(script, "a b", "c")
    script.write_text("import six, sys\nprint(six.__version__, sys.argv[1:])\n")
    assert made[0].run(script, "a b", "c") == "1.16.0 ['a b', 'c']\n"
    (directory(_SMALL) / environments._STAMP).unlink()
    assert make(_SMALL, progress=False) == made[0]
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_what_cannot_be_installed_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    spec = EnvironmentSpec("wrong", ("x",), ("arenite-has-no-such-package==1.0",))
    with pytest.raises(ToolError, match="Could not make the environment 'wrong'") as caught:
        make(spec, progress=False)
    assert "arenite-has-no-such-package" in caught.value.problem
    assert caught.value.hint
    assert not directory(spec).exists()


@pytest.mark.slow
def test_an_index_that_cannot_be_reached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="cannot be reached"):
        make(EnvironmentSpec("far", ("x",), ("arenite-has-no-such-package",)), progress=False)


def test_no_room(cache: Path) -> None:
    with pytest.raises(ToolError, match="MB free"):
        make(EnvironmentSpec("huge", ("x",), ("six",), disk_mb=10**12), progress=False)


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ToolError, match="ARENITE_CACHE"):
        make(_SMALL, progress=False)


def test_this_python_is_used_where_it_has_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(environments._specs(), "here", EnvironmentSpec("here", ("numpy", "json"), ("numpy",)))
    assert environment("here") == Environment("here", Path(sys.executable), own=False)


def test_an_unknown_environment() -> None:
    with pytest.raises(UsageError, match="no environment 'caffe'"):
        environment("caffe")
    assert set(specs()) >= {"tensorflow", "torch", "onnx"}


def test_a_key_for_each_set_of_packages() -> None:
    assert _SMALL.key != EnvironmentSpec("small", ("six",), ("six==1.17.0",)).key
    assert _SMALL.key == EnvironmentSpec("other name", (), ("six==1.16.0",)).key


@pytest.fixture
def here() -> Environment:
    return Environment("here", Path(sys.executable), own=False)


def test_a_script_that_fails_says_its_last_lines(here: Environment, tmp_path: Path) -> None:
    script = _script(tmp_path, "import sys\nprint('first', file=sys.stderr)\nraise ValueError('too hot')\n")
    with pytest.raises(
        ToolError, match=r"script\.py .*'here' ended with code 1: ValueError: too hot"
    ) as caught:
        here.run(script)
    assert "first" in caught.value.hint
    script.write_text("import os\nos.kill(os.getpid(), 6)\n")
    with pytest.raises(ToolError, match="signal 6"):
        here.run(script)


@pytest.mark.slow
def test_lines_come_while_the_script_runs_and_it_ends_in_time(here: Environment, tmp_path: Path) -> None:
    script = _script(tmp_path, "import time\nprint('one')\nprint('two')\ntime.sleep(60)\n")
    lines: list[str] = []
    with pytest.raises(ToolError, match="took too long"):
        here.run(script, timeout=1.5, on_line=lines.append)
    assert lines == ["one", "two"]


def test_a_python_that_is_gone(tmp_path: Path) -> None:
    gone = Environment("gone", tmp_path / "bin" / "python", own=True)
    with pytest.raises(ToolError, match="Cannot start"):
        gone.run(_script(tmp_path, ""))


def test_a_lock_is_free_when_its_process_is_killed(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time, pathlib\n"
            "from arenite.locks import locked\n"
            "with locked(pathlib.Path(sys.argv[1])):\n"
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
