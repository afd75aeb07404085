"""Tests of the table [update] of board profiles, and of the addresses that follow from it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from arenite.errors import ProfileError, UsageError
from arenite.firmware.update.layout import Area, update_layout
from arenite.profiles.boards import BOARD_DIRECTORY, all_boards, load_board, parse_board

PROFILE = (BOARD_DIRECTORY / "qemu_microbit.toml").read_text("utf-8")


def test_areas_of_every_board_are_disjoint_and_aligned() -> None:
    names = set()
    for board in all_boards():
        if board.update is None:
            continue
        names.add(board.name)
        layout = update_layout(board)
        areas = [layout.loader, layout.state, *layout.firmware, *layout.model, layout.scratch]
        ordered = sorted(areas, key=lambda area: area.origin)
        assert all(a.end <= b.origin for a, b in pairwise(ordered)), board.name
        assert all(a.origin % layout.page_bytes == a.size % layout.page_bytes == 0 for a in areas), board.name
        assert layout.loader.origin == board.flash[0].origin
        # A vector table of up to 128 entries needs this alignment.
        assert (layout.firmware[0].origin + layout.firmware_header_bytes) % 512 == 0, board.name
    assert names >= {"qemu_microbit", "qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"}


def test_layout_of_the_microbit_fills_its_flash() -> None:
    layout = update_layout(load_board("qemu_microbit"))
    assert layout.loader == Area(0, 28 * 1024)
    assert layout.state == Area(0x7000, 4 * 1024)
    assert layout.firmware == (Area(0x8000, 56 * 1024), Area(0x16000, 56 * 1024))
    assert layout.model == (Area(0x24000, 54 * 1024), Area(0x31800, 54 * 1024))
    assert layout.scratch == Area(0x3F000, 4 * 1024)
    assert (layout.page_bytes, layout.unit_bytes) == (1024, 4)


def test_areas_of_a_memory_in_two_banks_do_not_cross_them() -> None:
    layout, second_bank = update_layout(load_board("nucleo_h743zi")), 0x08100000
    for area in (layout.state, *layout.firmware, *layout.model, layout.scratch):
        assert area.end <= second_bank or area.origin >= second_bank


def test_real_boards_name_their_driver_and_emulated_ones_do_not() -> None:
    boards = [board for board in all_boards() if board.update is not None]
    assert sum(not board.emulated for board in boards) == 22
    assert all(
        (board.update.family is None) == board.emulated for board in boards if board.update is not None
    )


def test_board_without_the_table_is_refused() -> None:
    with pytest.raises(UsageError, match="qemu_riscv32 has no boot loader for updates"):
        update_layout(load_board("qemu_riscv32"))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("unit_bytes = 4", "unit_bytes = 3", "'unit_bytes' must be a power of two up to 32, but is 3"),
        ("unit_bytes = 4", "unit_bytes = 64", "'unit_bytes' must be a power of two up to 32, but is 64"),
        ("page_bytes = 1024", "page_bytes = 0", "'page_bytes' must be a positive multiple"),
        ("page_bytes = 1024", "page_bytes = 1023", "'page_bytes' must be a positive multiple"),
        ("state_bytes = 4096", "state_bytes = 1024", "'state_bytes' must be at least 2 pages .2048 bytes."),
        ("model_bytes = 55296", "model_bytes = 55297", "'model_bytes' must be a positive multiple"),
        ("scratch_bytes = 4096", "scratch_bytes = 0", "'scratch_bytes' must be a positive multiple"),
        ("scratch_bytes = 4096", "scratch_bytes = 5120", "from 0x7000 to 0x40400 are not in one memory"),
        ("origin = 0x7000", "origin = 0x6C00", "are not in one memory"),
        ("loader_bytes = 28672", "loader_bytes = 263168", "'loader_bytes' is 263168, but FLASH has 262144"),
        ("loader_bytes = 28672\n", "", "has no field 'loader_bytes'"),
        ("loader_bytes", "lodaer_bytes", "has no field 'loader_bytes'"),
        ("scratch_bytes = 4096", "scratch_bytes = 4096\nslots = 2", "has an unknown field 'slots'"),
        ("scratch_bytes = 4096", 'scratch_bytes = 4096\nfamily = "nrf53"', "'family' is 'nrf53'"),
        ("scratch_bytes = 4096", "scratch_bytes = 4096\ncheck_bits = 1", "'check_bits' must be bool, not 1"),
        ("scratch_bytes = 4096", "scratch_bytes = 4096\ntx_pin = 64", "'tx_pin' must be less than 64"),
    ],
)
def test_bad_table_is_refused(old: str, new: str, problem: str) -> None:
    assert old in PROFILE
    with pytest.raises(ProfileError, match=problem):
        parse_board(PROFILE.replace(old, new), "qemu_microbit.toml")
