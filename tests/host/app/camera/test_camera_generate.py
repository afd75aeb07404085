"""``arenite app --sensor camera`` writes a folder, and says what a model lacks."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.specification.pixel_formats import unpack
from arenite.errors import UsageError
from arenite.host.app.camera.camera_file import camera_records
from arenite.host.app.camera.frames import frame_of, pack, read_frames
from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.camera.pictures import pictures_of
from arenite.host.app.generate import generate_app
from arenite.host.app.sensor_file import LATE, LOST, STUCK, UNPLUGGED, Fault
from arenite.host.build.prepare import Prepared
from arenite.profiles.boards import load_board
from tests.firmware.app.camera_settings import SETTINGS
from tests.host.app.camera.camera_models import DECISION, SIZE, YUYV, picture_model, pictures
from tests.host.app.sound_models import SOUND, sound_model
from tests.host.small_graphs import float_edges, two_inputs

BOARD = load_board("qemu_mps2_an386")


def test_the_folder_is_a_project(tmp_path: Path) -> None:
    application = generate_camera_app(picture_model(tmp_path / "eye.tflite"), BOARD, tmp_path / "app")
    manifest = json.loads((tmp_path / "app/arenite.json").read_text())
    units = {unit["source"] for unit in manifest["build"]["units"]}
    assert {"src/main.c", "lib/app/virtual_camera.c", "lib/model/eye_model.c"} <= units
    assert all((tmp_path / "app" / source).is_file() for source in units)
    assert '#include "camera_app.h"' in (tmp_path / "app/src/main.c").read_text()
    assert "model_next_row" in (tmp_path / "app/lib/model/eye_processing.c").read_text()
    assert application.to_json()["frame"] == {"width": SIZE, "height": SIZE, "format": "rgb"}


@pytest.mark.parametrize(
    ("more", "message", "hint"),
    [
        ({"decision": None}, "records no decision", "--decision"),
        ({"decision": replace(DECISION, rate=0)}, "has no rate", "rate = 1"),
        ({"decision": replace(DECISION, rate=100_000)}, "the decision wants one every", "Set hop in"),
        ({"preprocessing": SOUND}, "preprocessing that is not of pictures", "--preprocessing"),
        ({"model": two_inputs()}, "has 2 inputs", "one input"),
        ({"preprocessing": YUYV | {"source": YUYV["source"] | {"format": "nv12"}}}, "several planes", "yuyv"),
    ],
)
def test_what_a_model_lacks_is_told(more: dict[str, Any], message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message) as error:
        generate_camera_app(_model(tmp_path / "eye.tflite", more), BOARD, tmp_path / "app")
    assert hint in str(error.value.hint)
    assert not (tmp_path / "app").exists()


def _model(path: Path, more: dict[str, Any]) -> Prepared:
    """Return a model, whose records replace those of the image: some would be refused when an image is written."""
    if "model" in more:
        return picture_model(path, decision=None, model=more["model"])
    prepared = picture_model(path, more.get("decision", DECISION))
    extra = {"preprocessing": more["preprocessing"]} if "preprocessing" in more else {}
    return replace(prepared, extra={**prepared.extra, **extra})


def test_a_float_input_needs_preprocessing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected 1 x height x width|not 8-bit"):
        pictures_of(picture_model(tmp_path / "eye.tflite", decision=None, model=float_edges()))


def test_without_preprocessing_pixels_are_the_input(tmp_path: Path) -> None:
    found = pictures_of(picture_model(tmp_path / "eye.tflite"))
    frame = np.arange(SIZE * SIZE * 3).astype(np.uint8)
    assert (found.model_input(frame).reshape(-1) == frame.astype(int) - 128).all()


@pytest.mark.parametrize("format", ["rgb", "bgr", "rgba", "bgra", "rgb565", "rgb565be", "yuyv", "uyvy"])
def test_packed_pixels_have_the_colors_of_the_picture(format: str) -> None:
    rgb = np.repeat(np.random.default_rng(1).integers(0, 256, (8, 5, 3), np.uint8), 2, axis=1)
    colors = unpack(pack(rgb, format), format, 10, 8)
    colors = colors[:, :, ::-1] if format in ("bgr", "bgra") else colors
    assert np.abs(colors.astype(int) - rgb).max() <= (8 if "565" in format else 4)


def test_pictures_are_cut_to_the_size_of_the_camera(tmp_path: Path) -> None:
    found = pictures_of(picture_model(tmp_path / "eye.tflite"))
    np.savez(tmp_path / "x.npz", x=np.stack(pictures(4, 50)))
    frames = read_frames([tmp_path / "x.npz"], found.plan)
    assert [f.tolist() for f in frames] == [frame_of(p, found.plan).tolist() for p in pictures(4, 50)]
    assert frames[0].shape == (SIZE * SIZE * 3,)
    np.savez(tmp_path / "y.npz", x=np.zeros((4, 3), np.float32))
    with pytest.raises(UsageError, match=r"float32 \[4, 3\], expected pictures"):
        read_frames([tmp_path / "y.npz"], found.plan)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="There are no pictures"):
        read_frames([tmp_path / "empty"], found.plan)


def _records(*faults: Fault) -> list[tuple[int, int, int, int]]:
    """Return arrival, frame, row and first pixel of each row of three frames, and the end."""
    height, row_bytes = SETTINGS.height, SETTINGS.row_bytes
    frames = [np.repeat(np.arange(height) + 10 * k, row_bytes).astype(np.uint8) for k in range(3)]
    data = b"".join(camera_records(frames, SETTINGS, faults))
    found, at = [], 4
    while at < len(data):
        low, high, frame, row = struct.unpack_from("<IIII", data, at)
        found.append((low + (high << 32), frame, row, data[at + 16] if at + 16 < len(data) else -1))
        at += 16 + row_bytes
    return found


def test_rows_arrive_at_the_times_of_the_camera() -> None:
    *rows, end = _records()
    assert rows == [(100_000 * f + 100 * (r + 1), f, r, 10 * f + r) for f in range(3) for r in range(4)]
    assert end == (200_400 + 200_000, 0, 2**32 - 1, -1)


def test_faults_change_the_rows() -> None:
    plain = _records()
    assert _records(Fault(LOST, 2, 3)) == plain[:2] + plain[5:]
    assert [r[0] for r in _records(Fault(LATE, 4, 3))[4:8]] == [100_300] * 3 + [100_400]
    assert [r[3] for r in _records(Fault(STUCK, 5, 2))[4:8]] == [10, 1, 2, 13]
    assert [r[0] for r in _records(Fault(UNPLUGGED, 8, 4))[7:9]] == [100_400, 300_100]
    with pytest.raises(UsageError, match="but there are 12 rows"):
        _records(Fault(LOST, 12, 1))


@pytest.mark.parametrize("camera_first", [True, False])
def test_the_program_of_the_other_kind_of_sensor_is_not_kept(camera_first: bool, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    eye, ear = picture_model(tmp_path / "eye.tflite"), sound_model(tmp_path / "ear.tflite")
    steps = [lambda: generate_camera_app(eye, BOARD, folder), lambda: generate_app(ear, BOARD, folder)]
    first, second = steps if camera_first else steps[::-1]
    first()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=r"src/main\.c includes") as error:
        second()
    assert "another folder" in str(error.value.hint)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    (folder / "src/main.c").write_text("int main(void) { return 0; }\n")  # a program of the user
    second()
    (folder / "src/main.c").unlink()
    second()
    assert "app_start" in (folder / "src/main.c").read_text()
