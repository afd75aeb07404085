"""Tests of the loader of board profiles and of its error messages."""

from __future__ import annotations

import pytest

from arenite.errors import ProfileError
from arenite.profiles.boards import BOARD_DIRECTORY, load_board, parse_board

VALID_PROFILE = (BOARD_DIRECTORY / "qemu_mps2_an386.toml").read_text("utf-8")


def test_all_fields_of_a_valid_profile_are_read() -> None:
    board = parse_board(VALID_PROFILE, "x.toml")
    assert (board.core, board.clock_hz, board.features) == ("cortex-m4f", 25_000_000, {"fpu", "dsp"})
    assert (board.flash_bytes, board.ram_bytes) == (4 << 20, 4 << 20)
    assert [region.kind for region in board.ram] == ["sram", "psram"]
    assert board.emulator is not None
    assert board.emulator.machine == "mps2-an386"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("clock_hz", "clok_hz", "has no field 'clock_hz'"),
        ('title = "', 'titel = "x"\ntitle = "', "has an unknown field 'titel'"),
        ("25000000", '"25 MHz"', "'clock_hz' must be int, not '25 MHz'"),
        ("25000000", "-1", "'clock_hz' must not be negative"),
        ("25000000", "1" + "0" * 400, "is not valid TOML: the number 10000000000000000000... has too many"),
        ("access_cycles = 4.0", "access_cycles = nan", "'access_cycles' must be a finite number"),
        ("access_cycles = 4.0", "access_cycles = inf", "'access_cycles' must be a finite number"),
        ("access_cycles = 4.0", "access_cycles = -0.5", "'access_cycles' must not be negative"),
        ("access_cycles = 4.0", f"access_cycles = {10**400}", "has too many digits"),
        ("emulated = true", "emulated = 1", "'emulated' must be bool, not 1"),
        ("emulated = true", "emulated = false", "an emulated board needs an"),
        ('"cortex-m4f"', '"cortex-m99"', "'core' is 'cortex-m99'"),
        ('["fpu", "dsp"]', '["fpu", "simd"]', "'features' is 'simd'"),
        ('["fpu", "dsp"]', "[1]", "'features' must be a list of strings"),
        ("[[flash]]", "[flash]", r"needs at least one \[\[flash\]\]"),
        ("size = 16777216", "size = 0", "PSRAM has size 0"),
        ("[uart]", "[uart2]", r"has no \[uart\]"),
        ("baud = 115200", "baud = 115200\nparity = 1", "has an unknown field 'parity'"),
        ('name = "qemu_', 'name = "', "start with 'qemu_'"),
        ("[uart]", "[uart", "is not valid TOML"),
        ("[emulator]", "emulator = 3\n[x]", "is not a table|is not valid TOML|unknown field"),
    ],
)
def test_an_invalid_field_raises_an_error_that_names_it(old: str, new: str, problem: str) -> None:
    assert old in VALID_PROFILE
    with pytest.raises(ProfileError, match=problem):
        parse_board(VALID_PROFILE.replace(old, new, 1), "x.toml")


def test_a_misspelled_field_suggests_the_correct_name() -> None:
    with pytest.raises(ProfileError) as error:
        parse_board(VALID_PROFILE.replace('mcu = "', 'mcuu = "x"\nmcu = "', 1), "x.toml")
    assert error.value.hint == "Did you mean 'mcu'?"


def test_an_unknown_board_suggests_similar_names() -> None:
    with pytest.raises(ProfileError, match="There is no board 'qemu_mps2_an387'") as error:
        load_board("qemu_mps2_an387")
    assert "qemu_mps2_an386" in error.value.hint


def test_ticks_are_converted_to_instructions() -> None:
    emulator = load_board("qemu_mps2_an386").emulator
    assert emulator is not None
    assert emulator.instructions(160) == 100
    assert emulator.instructions_in_us(64) == 1000
