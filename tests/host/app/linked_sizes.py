"""Compare the predicted sizes of an application with the linked firmware."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arenite.firmware.sizes.app_prediction import AppPrediction
from arenite.firmware.sizes.app_table import app_table
from arenite.firmware.sizes.measure import compiler_version
from arenite.host.build.elf_sizes import read_elf
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board


def need_the_measured_compiler(board: str) -> None:
    table = app_table(board)
    assert table is not None
    core = load_board(board).core
    if shutil.which("arm-none-eabi-gcc") is None or compiler_version(core) != table.compiler:
        pytest.skip(f"the sizes were measured with {table.compiler}")


def assert_equal(folder: Path, predicted: AppPrediction) -> None:
    elf = read_elf(direct_build(folder))
    assert not predicted.unknown
    assert predicted.arena == elf.arena
    assert predicted.data + predicted.bss == elf.static
    assert predicted.weights == elf.weights
    assert predicted.text + predicted.data == elf.code
    assert predicted.stack <= predicted.stack_reserved == elf.stack_reserved
