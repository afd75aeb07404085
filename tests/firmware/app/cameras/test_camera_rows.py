"""The middle of a chip's rows becomes the bytes that preprocessing expects."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import PIXEL_BYTES, unpack
from arenite.firmware.app.camera_settings import CameraSettings
from tests.firmware.app.cameras.camera_driver import frame_for
from tests.firmware.app.compiled_app import compiled

WIDTH, HEIGHT = 96, 90
_TAKE = """
#include "camera.h"
#include "app_settings.h"
uint8_t places[CAMERA_HEIGHT][CAMERA_ROW_BYTES];
uint32_t taken[CAMERA_HEIGHT][3], count, has_room = 1;
uint8_t *camera_place(void) { return has_room ? places[count] : 0; }
void camera_arrived(uint32_t frame, uint32_t row, uint32_t ticks)
{
    taken[count][0] = frame;
    taken[count][1] = row;
    taken[count++][2] = ticks;
}
"""


@pytest.mark.parametrize(
    ("chip", "format"),
    [
        ("hm01b0", "grey"),
        ("ov7670", "grey"),
        *(("ov7670", name) for name in ("yuyv", "uyvy", "rgb565", "rgb565be", "rgb", "bgr")),
        ("ov2640", "grey"),
    ],
)
def test_rows_are_cut_and_changed(chip: str, format: str, tmp_path: Path) -> None:
    frame = frame_for(chip, WIDTH, HEIGHT, format)
    settings = CameraSettings(1, WIDTH, HEIGHT, WIDTH * PIXEL_BYTES[format], 5000, 1, 2, 2, 2, format, frame)
    library = compiled(tmp_path, ["camera_rows.c"], _TAKE, {"app_settings.h": settings.header()})
    sent_bytes = 1 if frame.sends == "GREY" else 2
    pixels = np.random.default_rng(3).integers(
        0, 256, (frame.height, frame.width, sent_bytes), dtype=np.uint8
    )
    for y in range(frame.height):
        row = np.ascontiguousarray(pixels[y, frame.left :])
        library.camera_hand_over(row.ctypes.data_as(ctypes.c_void_p), 7, y, 1000 + y)
    middle = pixels[frame.top : frame.top + HEIGHT, frame.left : frame.left + WIDTH]
    taken = np.array((ctypes.c_uint32 * (3 * HEIGHT)).in_dll(library, "taken")).reshape(HEIGHT, 3)
    assert taken.tolist() == [[7, y, 1000 + frame.top + y] for y in range(HEIGHT)]
    found = np.array((ctypes.c_uint8 * (HEIGHT * settings.row_bytes)).in_dll(library, "places"))
    if sent_bytes == 1:
        assert (found == middle.reshape(-1)).all()
    elif format == "grey":
        assert (found == middle[:, :, 0].reshape(-1)).all()
    else:
        sent = {"YUYV": "yuyv", "UYVY": "uyvy", "RGB565": "rgb565be"}[frame.sends]
        expected = unpack(middle.reshape(-1), sent, WIDTH, HEIGHT)
        colors = unpack(found, format, WIDTH, HEIGHT)
        assert (colors[:, :, ::-1] if format == "bgr" else colors).tolist() == expected.tolist()


def test_a_row_without_room_is_lost_and_the_next_one_keeps_its_number(tmp_path: Path) -> None:
    frame = frame_for("hm01b0", WIDTH, HEIGHT, "grey")
    settings = CameraSettings(1, WIDTH, HEIGHT, WIDTH, 5000, 1, 2, 2, 2, "grey", frame)
    library = compiled(tmp_path, ["camera_rows.c"], _TAKE, {"app_settings.h": settings.header()})
    row = ctypes.create_string_buffer(324)
    for y, room in ((frame.top, 1), (frame.top + 1, 0), (frame.top + 2, 1)):
        ctypes.c_uint32.in_dll(library, "has_room").value = room
        library.camera_hand_over(row, 0, y, 0)
    assert [(ctypes.c_uint32 * 6).in_dll(library, "taken")[k] for k in (1, 4)] == [0, 2]
