"""A picture in a terminal: its colors, its proportions, and shades without colors."""

from __future__ import annotations

import numpy as np

from arenite.host.live.terminal_picture import picture_lines


def test_each_character_shows_two_pixels() -> None:
    pixels = np.zeros((4, 3, 3), np.uint8)
    pixels[0, 0], pixels[1, 0] = (255, 0, 0), (0, 0, 255)
    lines = picture_lines(pixels, 80, True)
    assert [line.plain for line in lines] == ["▀▀▀", "▀▀▀"]
    style = lines[0].spans[0].style
    assert str(style) == "#ff0000 on #0000ff"


def test_a_large_picture_is_reduced_and_keeps_its_proportions() -> None:
    pixels = np.arange(96 * 96, dtype=np.uint32).astype(np.uint8).reshape(96, 96, 1)
    lines = picture_lines(pixels, 200, True)
    assert (len(lines), len(lines[0])) == (24, 48)
    narrow = picture_lines(pixels, 20, True)
    assert (len(narrow), len(narrow[0])) == (10, 20)
    wide = picture_lines(np.zeros((2, 500, 3), np.uint8), 80, True)
    assert (len(wide), len(wide[0])) == (1, 64)


def test_without_colors_there_are_shades() -> None:
    pixels = np.repeat(np.array([0, 60, 110, 160, 255], np.uint8)[None, :, None], 2, axis=0)
    assert [line.plain for line in picture_lines(pixels, 80, False)] == [" ░▒▓█"]
