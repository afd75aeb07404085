"""Tests of the parsing of the options for processors and windows."""

from __future__ import annotations

import pytest

from arenite.errors import UsageError
from arenite.host.camera.frames.frame import CropWindow
from arenite.host.camera.option_parsing import parse_processors, parse_window


def test_lists_of_processors_are_parsed() -> None:
    assert parse_processors("2") == (2,)
    assert parse_processors("0,2-4, 3") == (0, 2, 3, 4)
    for text in ("", "a", "3-1", "-1", "1,"):
        with pytest.raises(UsageError):
            parse_processors(text)


def test_windows_are_parsed() -> None:
    assert parse_window("1,2,30,40") == CropWindow(1, 2, 30, 40)
    for text in ("1,2,3", "a,b,c,d", "0,0,0,4", "-1,0,4,4"):
        with pytest.raises(UsageError):
            parse_window(text)
