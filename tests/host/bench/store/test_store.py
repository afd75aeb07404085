"""The result store: round trips, concurrent writers, damaged files and older versions."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.bench.store.location import store_path
from arenite.host.bench.store.origin import Revision, revision
from arenite.host.bench.store.record import store_result
from arenite.host.bench.store.run_rows import BuildMode, describe_mode
from arenite.host.bench.store.schema import APPLICATION, MIGRATIONS, VERSION
from arenite.host.bench.store.store import Store
from tests.host.bench.sample_results import result

REVISION = Revision("/src/net", "c0ffee", True)


def test_a_stored_result_is_read_back(tmp_path: Path) -> None:
    stored_result = result(samples__accuracy=0.75)
    with Store(tmp_path / "new" / "s.sqlite") as store:
        number = store.add(
            stored_result, BuildMode("ram", stream_input=True), "people.npz", REVISION, matrix="m", cell="c"
        )
        run = store.run(number)
    assert run.result == stored_result
    assert (run.model, run.board, run.data) == ("net", "qemu_mps2_an386", "people.npz")
    assert describe_mode(run.mode) == "ram, stream-input"
    figures = run.figures
    assert (figures["revision"], figures["dirty"], figures["repository"]) == ("c0ffee", 1, "/src/net")
    assert (figures["instructions"], figures["accuracy"], figures["ram_total"], figures["compiler"]) == (
        20000,
        0.75,
        4800,
        "GCC: 12.2.1",
    )
    assert (figures["image_sha256"], figures["firmware_sha256"]) == ("01" * 32, "02" * 32)
    assert figures["latency_us"] is None and figures["energy_uj"] is None
    with sqlite3.connect(tmp_path / "new" / "s.sqlite") as database:
        layers = database.execute("SELECT layer, op, instructions FROM layers ORDER BY layer").fetchall()
        assert layers == [(0, "CONV_2D", 15000), (1, "FULLY_CONNECTED", 5000)]
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_runs_are_filtered_by_board_and_model(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        for board in ("a", "b", "a"):
            store.add(result(board__name=board), BuildMode(), "random", None)
        assert [r.id for r in store.runs(board="a")] == [1, 3]
        assert [r.id for r in store.runs(board="a", model="other")] == []
        with pytest.raises(UsageError, match="has no run 9"):
            store.run(9)


WRITER = """
import json, sys
from pathlib import Path
from arenite.host.bench.store.run_rows import BuildMode
from arenite.host.bench.store.store import Store
for k in range(15):
    with Store(Path(sys.argv[1])) as store:
        store.add(json.loads(sys.argv[2]), BuildMode(), sys.argv[3], None)
"""


def test_several_processes_write_at_the_same_time(tmp_path: Path) -> None:
    """The first process creates the file; every process opens it again for each result."""
    path = tmp_path / "s.sqlite"
    result_json = json.dumps(result())
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, result_json, f"w{k}"], stderr=subprocess.PIPE, text=True
        )
        for k in range(5)
    ]
    for writer in writers:
        _, stderr = writer.communicate(timeout=60)
        assert writer.returncode == 0, stderr
    with Store(path) as store:
        runs = store.runs()
    assert len(runs) == 75  # five processes with 15 results each
    assert all(sum(r.data == f"w{k}" for r in runs) == 15 for k in range(5))


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be read as one" * 40, b"\0" * 5000]
)
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"s\.sqlite is damaged") as caught:
        Store(path)
    assert "--store" in caught.value.hint
    assert path.read_bytes() == content


def test_a_torn_store_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for _ in range(30):
            store.add(result(), BuildMode(), "random", None)
    data = path.read_bytes()
    assert len(data) > 3 * 4096
    torn = data[:8192] + b"\x55" * (len(data) - 8192)
    path.write_bytes(torn)
    with pytest.raises(UsageError, match=r"s\.sqlite"), Store(path) as store:
        store.runs()
    assert path.read_bytes() == torn


def test_other_databases_and_later_versions_are_refused(tmp_path: Path) -> None:
    foreign_file, later_file = tmp_path / "other", tmp_path / "later"
    with sqlite3.connect(foreign_file) as database:
        database.execute("CREATE TABLE mine (x)")
    with pytest.raises(UsageError, match="not a store of bench results"):
        Store(foreign_file)
    with sqlite3.connect(foreign_file) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    Store(later_file).close()
    with sqlite3.connect(later_file) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(UsageError, match="later version"):
        Store(later_file)


def test_a_store_of_the_first_version_is_migrated(tmp_path: Path) -> None:
    """A store of version 1 is migrated and keeps its rows."""
    path = tmp_path / "s"
    with sqlite3.connect(path) as database:
        database.executescript(MIGRATIONS[0])
        database.execute(
            "INSERT INTO runs (time, version, model, model_path, model_sha256, board, core, mode, data, samples,"
            " bit_exact, missing, arena, host, result)"
            " VALUES ('t', '0', 'net', 'net.tflite', 'ab', 'b', 'c', '{}', 'random', 3, 3, 0, 77, 'h', '{}')"
        )
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("PRAGMA user_version = 1")
    with Store(path) as store:
        store.add(result(), BuildMode(), "random", None)
        migrated_run, new_run = store.runs()
    assert (
        migrated_run.figures["arena"],
        migrated_run.figures["energy_p25_uj"],
        new_run.figures["arena"],
    ) == (77, None, 4000)
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_runs_can_be_read_without_their_results(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.add(result(), BuildMode(), "random", None)
        (run,) = store.runs(results=False)
        assert run.result == {} and run.figures == store.run(1).figures


def test_reading_creates_no_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist yet"):
        Store(tmp_path / "s", create=False)
    assert not (tmp_path / "s").exists()


def test_a_store_that_cannot_be_written_is_only_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    messages: list[str] = []
    arguments = (result(), BuildMode(), "random", tmp_path / "net.tflite")
    assert store_result(*arguments, tmp_path / "file" / "s.sqlite", messages.append) is None
    assert len(messages) == 1 and "was not stored" in messages[0] and "s.sqlite" in messages[0]
    assert store_result(*arguments, tmp_path / "s.sqlite", messages.append) == 1
    assert len(messages) == 1


def test_the_store_is_the_named_file_or_that_of_the_environment_project_or_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ARENITE_STORE", "/elsewhere/s")
    assert store_path(Path("named")) == Path("named")
    assert store_path() == Path("/elsewhere/s")
    monkeypatch.delenv("ARENITE_STORE")
    assert store_path() == tmp_path / "data" / "arenite" / "bench.sqlite"
    (tmp_path / "project" / ".arenite").mkdir()
    assert store_path() == tmp_path / "project" / ".arenite" / "bench.sqlite"


def test_the_revision_is_that_of_the_models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        author = ("-c", "user.name=n", "-c", "user.email=e@x")
        command = ["git", "-C", str(tmp_path / "r"), *author, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "r").mkdir()
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(tmp_path / "bare")
    model = tmp_path / "r" / "net.tflite"
    model.write_bytes(b"1")
    assert revision(model) is None
    git("init", "-q")
    git("add", "net.tflite")
    git("commit", "-q", "-m", "one")
    clean_revision = revision(model)
    assert clean_revision is not None
    assert clean_revision == Revision(str((tmp_path / "r").resolve()), git("rev-parse", "HEAD"), False)
    model.write_bytes(b"2")
    assert revision(model) == Revision(clean_revision.repository, clean_revision.commit, True)
    monkeypatch.chdir(tmp_path / "r")
    assert revision(tmp_path / "bare" / "x.tflite") == Revision(
        clean_revision.repository, clean_revision.commit, True
    )
