"""Samples of motion are read from NumPy and CSV files, and mistakes name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.motion_files import read_motion
from arenite.errors import UsageError

SAMPLES = np.array([[1, -2], [32767, -32768], [5, 6]], np.int16)


def test_all_formats_give_the_same_samples(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", SAMPLES)
    np.savez(tmp_path / "one.npz", SAMPLES)
    np.savez(tmp_path / "two.npz", samples=SAMPLES, times=np.arange(3))
    np.savetxt(tmp_path / "a.csv", SAMPLES, fmt="%d", delimiter=",")
    (tmp_path / "named.csv").write_text("time,x,y\n0.1,1,-2\n0.2,32767,-32768\n\n0.3,5,6\n")
    for name in ("a.npy", "one.npz", "two.npz", "a.csv", "named.csv"):
        samples = read_motion(tmp_path / name, 2)
        assert samples.dtype == np.int16 and samples.tolist() == SAMPLES.tolist(), name


def test_one_channel_needs_no_second_dimension(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", SAMPLES[:, 0])
    assert read_motion(tmp_path / "a.npy", 1).shape == (3, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3\n", "line 2: there are 1 values, expected 2"),
        ("1,2\n3,4.5\n", "line 2: '3,4.5' are not all integers"),
        ("x,y\n1,40000\n", "line 2: a value is outside the range of int16"),
    ],
)
def test_a_wrong_line_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_motion(tmp_path / "a.csv", 2)


def test_several_arrays_without_the_name_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=SAMPLES, y=SAMPLES)
    with pytest.raises(UsageError, match="has several arrays: x, y"):
        read_motion(tmp_path / "a.npz", 2)


def test_files_that_are_not_what_they_say_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no zip")
    (tmp_path / "a.npy").write_bytes(b"nothing")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe1,2")
    for name in ("a.npz", "a.npy", "a.csv"):
        with pytest.raises(UsageError, match="Cannot read the samples"):
            read_motion(tmp_path / name, 2)
