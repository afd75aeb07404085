"""Tests of the profiles' USB IDs and upload tools: every real board can be found, and every upload tool gets its
own name of the chip."""

from __future__ import annotations

import pytest

from arenite.errors import ProfileError
from arenite.profiles.boards import BOARD_DIRECTORY, Board, all_boards, load_board, parse_board

REAL = [board for board in all_boards() if not board.emulated]
REQUIRED_FIELDS = {"openocd": "openocd", "pyocd": "pyocd", "jlink": "jlink", "uf2": "uf2", "dfu": "dfu"}


def _name(board: Board) -> str:
    return board.name


@pytest.mark.parametrize("board", REAL, ids=_name)
def test_every_upload_tool_of_a_profile_has_its_required_field(board: Board) -> None:
    for tool, field in REQUIRED_FIELDS.items():
        if tool in board.upload_tools:
            assert getattr(board.targets, field), f"{tool} is listed, but [upload] has no {field}"


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
    ("old", "new", "message"),
    [
        ('"0483:374b"', '"0483:374B"', "'0483:374B' is not a USB id"),
        ('probe = "stlink"', 'probe = "stlinc"', "'probe' is 'stlinc'"),
        ('reset = "break"', 'reset = "brake"', "'reset' is 'brake'"),
        ('openocd = "', 'openocdd = "', "unknown field 'openocdd'"),
        ('ids = ["0483:374b", "0483:3752"]\n', "", "neither ids nor adapter"),
    ],
)
def test_an_invalid_profile_raises_an_error(old: str, new: str, message: str) -> None:
    text = (BOARD_DIRECTORY / "nucleo_l4r5zi.toml").read_text("utf-8")
    assert old in text
    with pytest.raises(ProfileError, match=message):
        parse_board(text.replace(old, new), "x.toml")
