"""What profiles say of USB and of uploaders: every real board is found by something, and every tool knows its chip."""

from __future__ import annotations

import pytest

from arenite.errors import ProfileError
from arenite.profiles.boards import BOARD_DIRECTORY, Board, all_boards, load_board, parse_board

REAL = [board for board in all_boards() if not board.emulated]
NEEDS = {"openocd": "openocd", "pyocd": "pyocd", "jlink": "jlink", "uf2": "uf2", "dfu": "dfu"}


def _name(board: Board) -> str:
    return board.name


@pytest.mark.parametrize("board", REAL, ids=_name)
def test_every_tool_that_a_profile_lists_is_told_what_it_needs(board: Board) -> None:
    for tool, fact in NEEDS.items():
        if tool in board.upload_tools:
            assert getattr(board.targets, fact), f"{tool} is listed, but [upload] has no {fact}"


@pytest.mark.parametrize("board", REAL, ids=_name)
def test_every_board_can_be_found_and_its_ids_have_a_source(board: Board) -> None:
    assert board.usb.ids or board.usb.adapter
    assert len(board.sources.get("usb", "")) > 20


def test_ids_of_well_known_boards() -> None:
    assert "0483:374b" in load_board("nucleo_l4r5zi").usb.ids
    assert "10c4:ea60" in load_board("esp32dev").usb.ids
    assert "2e8a:0003" in load_board("pico").usb.boot
    pico, pico2 = load_board("pico").targets.uf2, load_board("rpipico2").targets.uf2
    assert pico is not None and pico2 is not None
    assert (pico.family, pico2.family) == (0xE48BFF56, 0xE48BFF59)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"0483:374b"', '"0483:374B"', "USB id '0483:374B'"),
        ('probe = "stlink"', 'probe = "stlinc"', "'probe' is 'stlinc'"),
        ('reset = "break"', 'reset = "brake"', "'reset' is 'brake'"),
        ('openocd = "', 'openocdd = "', "unknown field 'openocdd'"),
        ('ids = ["0483:374b", "0483:3752"]\n', "", "neither ids nor an adapter"),
    ],
)
def test_a_slip_in_a_profile_is_named(old: str, new: str, complaint: str) -> None:
    text = (BOARD_DIRECTORY / "nucleo_l4r5zi.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(ProfileError, match=complaint):
        parse_board(text.replace(old, new), "x.toml")
