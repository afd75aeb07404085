"""Label files of Audacity, and CSV and TSV files."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.tune.label_files import LabelledSpan, label_file_of, read_label_file

SPANS = [LabelledSpan(0.5, 1.25, "yes"), LabelledSpan(2.0, 2.5, "no")]


@pytest.mark.parametrize(
    "text",
    [
        "0.500000\t1.250000\tyes\n2.0\t2.5\tno\n",
        "0.5\t1.25\tyes\n\\\t100.0\t4000.0\n2.0\t2.5\tno\n",  # Audacity's line of frequencies
        "start,end,label\n2,2.5,no\n0.5,1.25,yes\n",
        "label;onset;duration\nyes;0.5;0.75\nno;2;0.5\n",
        "Start_s\tEnd_s\tConfidence\tClass\r\n0.5\t1.25\t0.9\tyes\r\n\r\n2\t2.5\t1\tno\r\n",
        "\ufeffbegin,end,event\n0.5,1.25,yes\n2,2.5,no\n",
        "0.5, 1.25, yes\n2, 2.5, no",
    ],
)
def test_formats(text: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, "utf-8")
    assert read_label_file(path) == SPANS


def test_a_label_of_audacity_may_begin_with_a_quotation_mark(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text('0.5\t1.25\t"yes, she said\n2.0\t2.5\tno\n')
    assert [span.label for span in read_label_file(path)] == ['"yes, she said', "no"]
    path.write_text('start\tend\tlabel\n0.5\t1.25\t"a ""tone"""\n2.0\t2.5\tno\n')  # of a spreadsheet
    assert [span.label for span in read_label_file(path)] == ['a "tone"', "no"]


def test_an_empty_file_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("\n")
    assert read_label_file(path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start,label\n1,yes\n", "has the columns start, label, and lacks end"),
        ("a,b,c\n1,2,3\n", "lacks start, label, end"),
        ("1,2,yes\n3,4\n", "line 2: has 2 columns, expected 3"),
        ("1,x,yes\n", "line 1: is 'x', expected a time in seconds"),
        ("start,end,label\n-1,2,yes\n", "line 2: is '-1', expected a time"),
        ("1,nan,yes\n", "is 'nan', expected a time"),
        (f"1,2,{'x' * 200_000}\n", "Cannot read the labels .*: field larger than field limit"),
        ("2,1,yes\n", "ends at 1 s, before its start at 2 s"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_label_file(path)


def test_the_label_file_has_the_name_of_the_recording(tmp_path: Path) -> None:
    assert label_file_of(tmp_path / "a.wav") is None
    (tmp_path / "a.txt").write_text("")
    assert label_file_of(tmp_path / "a.wav") == tmp_path / "a.txt"
    (tmp_path / "a.csv").write_text("")
    assert label_file_of(tmp_path / "a.wav") == tmp_path / "a.csv"
