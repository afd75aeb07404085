"""The journal of a bench run restores the stored answers of the same run, and ignores incomplete lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.bench.devices.journal import DeviceAnswer, Journal, data_hash, project_hash
from arenite.host.bench.samples import Samples

KEY = {"image": "00", "board": "b"}
ANSWERS = {
    0: DeviceAnswer(b"\0\xff", 7),
    3: DeviceAnswer(b"", 0, 5, (1, 2**31), "/dev/tty A-"),
    12: DeviceAnswer(b"abc", 2**40),
}


def write(folder: Path) -> Path:
    """Write a journal with ``ANSWERS`` and return its path."""
    with Journal(folder, KEY) as journal:
        for index, answer in ANSWERS.items():
            journal.add(index, answer)
        return journal.path


def test_stored_answers_are_restored(tmp_path: Path) -> None:
    write(tmp_path)
    with Journal(tmp_path, dict(reversed(KEY.items()))) as journal:
        assert journal.answers == ANSWERS
    with Journal(tmp_path, {**KEY, "board": "c"}) as other_board:
        assert other_board.answers == {}
    with Journal(tmp_path, KEY, resume=False) as fresh:
        assert fresh.answers == {}
    # The new run has deleted the stored answers.
    with Journal(tmp_path, KEY) as journal:
        assert journal.answers == {}


@given(cut=st.integers(0, 160), noise=st.binary(max_size=12))
def test_a_damaged_end_loses_only_the_damaged_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = write(folder)
    data = path.read_bytes().decode()
    torn = data.encode()[: len(data) - cut] + noise
    path.write_bytes(torn)
    head, *lines = data.split("\n")[:-1]
    remaining_lines = torn.decode("ascii", "replace").split("\n")
    complete = {
        int(line.split()[0]) for line in lines if line in remaining_lines and remaining_lines[0] == head
    }
    with Journal(folder, KEY) as journal:
        assert journal.answers == {k: ANSWERS[k] for k in complete}
        journal.add(99, DeviceAnswer(b"z", 1))
    with Journal(folder, KEY) as journal:  # a repaired journal accepts further answers
        assert set(journal.answers) == complete | {99}


def test_a_changed_digit_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path)
    # 616263 is the third answer, "abc", in hexadecimal.
    path.write_bytes(path.read_bytes().replace(b"616263", b"616264"))
    with Journal(tmp_path, KEY) as journal:
        assert set(journal.answers) == {0, 3}


def test_a_complete_run_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write(tmp_path)
    with Journal(tmp_path, KEY) as journal:
        journal.discard()
    assert not path.exists()
    with Journal(tmp_path, KEY) as journal:
        assert journal.answers == {}


def test_two_equal_runs_cannot_write_at_the_same_time(tmp_path: Path) -> None:
    with Journal(tmp_path, KEY), pytest.raises(UsageError, match="Another run"):
        Journal(tmp_path, KEY)
    Journal(tmp_path, KEY).close()


def test_a_folder_that_cannot_be_created_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="Cannot keep a journal"):
        Journal(tmp_path / "file" / "runs", KEY)


def test_the_data_hash_depends_on_bytes_and_shape() -> None:
    def hash_of(*values: np.ndarray) -> str:
        return data_hash(Samples([list(values)], None))

    flat, square = np.arange(4, dtype=np.int8), np.arange(4, dtype=np.int8).reshape(2, 2)
    assert hash_of(flat) == hash_of(flat.copy())
    others = hash_of(square), hash_of(flat.astype(np.uint8)), hash_of(flat, flat), hash_of(flat[::-1])
    assert len({hash_of(flat), *others}) == 5


def test_the_project_hash_depends_on_the_sources(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "main.c").write_text("int main(void);")
    assert project_hash(tmp_path / "a") == project_hash(tmp_path / "b")
    (tmp_path / "a" / ".pio").mkdir()
    (tmp_path / "a" / ".pio" / "x.c").write_text("made by the build")
    assert project_hash(tmp_path / "a") == project_hash(tmp_path / "b")
    (tmp_path / "b" / "src" / "main.c").write_text("int main(int n);")
    assert project_hash(tmp_path / "a") != project_hash(tmp_path / "b")
