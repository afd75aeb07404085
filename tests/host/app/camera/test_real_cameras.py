"""Applications with a camera on real boards: the chip, its pins, the timing, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.app.drivers.camera_chips import CHIPS
from arenite.host.app.camera.generate import CameraApp, generate_camera_app
from arenite.profiles.boards import load_board
from tests.host.app.camera.camera_models import DECISION, YUYV, gray_model, picture_model
from tests.host.small_graphs import classifier


def _number(folder: Path, name: str) -> int:
    """Return the value of a macro of ``app_settings.h``."""
    found = re.search(rf"#define {name} (\d+)u?", (folder / "lib/app/app_settings.h").read_text())
    assert found is not None
    return int(found[1])


def _generate(board: str, chip: str | None, tmp_path: Path) -> CameraApp:
    return generate_camera_app(gray_model(tmp_path), load_board(board), tmp_path / "app", chip=chip)


@pytest.mark.parametrize(
    ("board", "chip", "sources", "pin"),
    [
        (
            "pico",
            None,
            {"hm01b0.c", "camera_rp2.c", "camera_bus_pico.c", "camera_rows.c"},
            "CAMERA_HREF_PIN 15u",
        ),
        ("rpipico2", "ov7670", {"ov7670.c", "camera_rp2.c", "camera_bus_pico.c"}, "CAMERA_ADDRESS 0x21"),
        (
            "portenta_h7_m7",
            None,
            {"hm01b0.c", "camera_stm32_dcmi.c", "camera_bus_wire.cpp"},
            "CAMERA_CLOCK_TIMER 1",
        ),
        (
            "nicla_vision",
            None,
            {"gc2145.c", "camera_stm32_dcmi.c", "camera_bus_wire.cpp"},
            "CAMERA_CLOCK_TIMER 3",
        ),
        (
            "disco_f407vg",
            None,
            {"ov2640.c", "camera_stm32_dcmi.c"},
            "CAMERA_PINS {'A', 6}, {'A', 4}, {'B', 7}",
        ),
        ("nucleo_h743zi", "ov5640", {"ov5640.c", "camera_stm32_dcmi.c"}, "CAMERA_ADDRESS 0x3c"),
    ],
)
def test_a_board_has_a_camera(
    board: str, chip: str | None, sources: set[str], pin: str, tmp_path: Path
) -> None:
    made = _generate(board, chip, tmp_path)
    folder = tmp_path / "app"
    assert sources <= {path.name for path in (folder / "lib/app").iterdir()}
    assert f"#define {pin}" in (folder / "src/app_pins.h").read_text()
    assert made.to_json()["wiring"].startswith(next(c for c in CHIPS if f"{c}.c" in sources).upper())
    width, height = (_number(folder, f"CAMERA_CHIP_{side}") for side in ("WIDTH", "HEIGHT"))
    assert _number(folder, "CAMERA_LEFT") + 96 <= width and _number(folder, "CAMERA_TOP") + 96 <= height
    # All rows of the chip arrive in the time of a frame, and no frame is held.
    assert made.settings.row_us * height < made.settings.frame_us
    assert made.held_bytes == 0 and made.settings.room * 96 < 96 * 96 // 8


@pytest.mark.parametrize("board", ["esp32cam", "seeed_xiao_esp32s3", "esp32-s3-devkitc-1", "esp-wrover-kit"])
def test_an_esp32_has_the_component_of_espressif_which_holds_a_frame(board: str, tmp_path: Path) -> None:
    made = _generate(board, None, tmp_path)
    folder = tmp_path / "app"
    assert made.driver is not None and made.driver.holds_frame and made.held_bytes == 96 * 96
    assert 'espressif/esp32-camera: "^2.1.0"' in (folder / "src/idf_component.yml").read_text()
    assert "esp32-camera\n" in (folder / "src/CMakeLists.txt").read_text()
    assert "? FRAMESIZE_96X96" in (folder / "src/app_pins.h").read_text()
    with pytest.raises(UsageError, match="is found by the component"):
        _generate(board, "ov2640", tmp_path)


def test_a_recorded_format_is_what_the_chip_sends(tmp_path: Path) -> None:
    prepared = picture_model(tmp_path / "eye.tflite", replace(DECISION, rate=2), YUYV)
    generate_camera_app(prepared, load_board("pico"), tmp_path / "app", chip="ov2640")
    text = (tmp_path / "app/lib/app/app_settings.h").read_text()
    assert "CAMERA_CHIP_SENDS CAMERA_SENDS_YUYV" in text and "CAMERA_CHANGE CAMERA_COPY" in text
    assert (
        _number(tmp_path / "app", "CAMERA_CHIP_WIDTH"),
        _number(tmp_path / "app", "CAMERA_CHIP_HEIGHT"),
    ) == (
        40,
        32,
    )


def test_what_a_camera_cannot_do_is_told(tmp_path: Path) -> None:
    prepared = gray_model(tmp_path)
    for board, chip, text in [
        ("qemu_mps2_an386", "ov7670", "--chip is for real boards"),
        ("pico", "mpu6050", "not a camera with a driver"),
        ("pico", "gc2145", "not a camera with a driver for this board"),
        ("zeroUSB", None, "no driver of a camera for zeroUSB"),
    ]:
        with pytest.raises(UsageError, match=text):
            generate_camera_app(prepared, load_board(board), tmp_path / "app", chip=chip)
    color = picture_model(tmp_path / "color.tflite", replace(DECISION, rate=2), model=classifier(96))
    with pytest.raises(UsageError, match="HM01B0 has no pixels of the format rgb") as error:
        generate_camera_app(color, load_board("pico"), tmp_path / "app")
    assert "--chip" in str(error.value.hint)
    fast = gray_model(tmp_path, rate=500)
    with pytest.raises(UsageError, match="500 frames per second, but the camera's chip has at most"):
        generate_camera_app(fast, load_board("pico"), tmp_path / "app")
    assert not (tmp_path / "app").exists()
