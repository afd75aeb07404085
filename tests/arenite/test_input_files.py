"""Files that are no regular files, too large or too deeply nested are refused with an error before they do harm."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from arenite.array_files import read_array, read_array_names, read_array_shapes, read_arrays
from arenite.input_files import check_is_file, parse_json, parse_literal, parse_toml, read_bytes, read_text

DEEP = "[" * 100_000


def test_text_is_read_with_plain_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("caf\u00e9\r\nb\rc\n".encode())
    assert read_text(tmp_path / "a") == "caf\u00e9\nb\nc\n"
    (tmp_path / "b").write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_text(tmp_path / "b")


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_bytes(tmp_path / "a", 4)


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, words in ((tmp_path / "pipe", "named pipe"), (tmp_path / "link", "device")):
        readers = (read_bytes, read_text, read_array, read_arrays, read_array_names, read_array_shapes)
        for read in (check_is_file, *readers):
            with pytest.raises(OSError, match=words):
                read(path)


def test_a_pipe_of_the_shell_is_read() -> None:
    """A shell passes such a path for ``<(command)``."""
    read_end, write_end = os.pipe()
    os.write(write_end, b"1,2")
    os.close(write_end)
    try:
        assert read_text(f"/dev/fd/{read_end}") == "1,2"
    finally:
        os.close(read_end)


@pytest.mark.parametrize("text", [DEEP, "[" + "9" * 10_000 + "]", f'{{"a": [{10**400}]}}', "no", ""])
def test_json_that_python_cannot_parse_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize(
    "text", [f"a = {DEEP}", "a = " + "9" * 10_000, f"[a]\nb = [[1], [-{10**400}]]", "no"]
)
def test_toml_that_python_cannot_parse_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_toml(text)


@pytest.mark.parametrize("text", [DEEP, f"({10**400},)", "{[]: 1}", "{" * 500, "[].append(1)", "no", ""])
def test_a_literal_that_python_cannot_parse_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_literal(text)


def test_a_literal_causes_no_warning_about_its_syntax() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_literal(r"{0: '\d'}") == {0: r"\d"}


def test_values_are_those_of_the_standard_parsers() -> None:
    assert parse_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    assert parse_toml("[a]\nb = 1") == {"a": {"b": 1}}
