"""Skip tests of exact sizes if they were measured with another version of the compiler."""

from __future__ import annotations

import json
import shutil

import pytest

from arenite.firmware.boards import cores
from arenite.firmware.sizes.measure import compiler_version
from arenite.firmware.sizes.targets import SIZES, target_of
from arenite.profiles.boards import Board


def need_the_same_compiler(board: Board) -> None:
    """Skip the test if the installed compiler is not the version with which the sizes were measured."""
    if shutil.which(f"{cores.core_named(board.core).prefix}gcc") is None:
        pytest.skip(f"no compiler for {board.core}: see `arenite doctor`")
    stored = json.loads((SIZES / f"{target_of(board).name}.json").read_text())["compiler"]
    installed = compiler_version(board.core)
    if stored != installed:
        pytest.skip(f"sizes were measured with {stored}, installed is {installed}")
