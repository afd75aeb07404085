"""The sizes that `arenite fit --app` finds by compiling are those of the linked firmware, for any sensor."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.firmware.sizes.app_compilation import predict_any_app
from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.fit_app import fit_app
from arenite.host.app.generate import generate_app
from arenite.profiles.boards import load_board
from tests.host.app.camera.camera_models import gray_model
from tests.host.app.linked_sizes import assert_equal
from tests.host.app.motion_models import motion_model
from tests.host.app.sound_models import sound_model

pytestmark = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
M4F = load_board("qemu_mps2_an386")


@pytest.mark.parametrize("sensor", ["imu", "adc"])
def test_a_sensor_with_other_channels_than_the_measured_ones(sensor: str, tmp_path: Path) -> None:
    generate_app(motion_model(tmp_path / "gesture.tflite"), M4F, tmp_path / "app", sensor=sensor)
    assert_equal(tmp_path / "app", predict_any_app(tmp_path / "app"))


def test_a_camera(tmp_path: Path) -> None:
    generate_camera_app(gray_model(tmp_path), M4F, tmp_path / "app", optimise="ram")
    assert_equal(tmp_path / "app", predict_any_app(tmp_path / "app"))


def test_a_program_that_was_edited_and_never_built(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    main = tmp_path / "app/src/main.c"
    main.write_text(main.read_text() + "\nint numbers[100] __attribute__((used)) = {1};\n")
    prediction = predict_any_app(tmp_path / "app")
    assert prediction.main == "measured"
    assert_equal(tmp_path / "app", prediction)


def test_without_a_compiler_missing_sizes_are_told_and_nothing_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = motion_model(tmp_path / "gesture.tflite")
    generate_app(prepared, M4F, tmp_path / "app", sensor="adc")
    monkeypatch.setenv("PATH", os.devnull)
    fit = fit_app(prepared.path, tmp_path / "app")
    assert fit.prediction.unknown and not fit.fits
    assert fit.to_json()["app"]["exact"] is False
    monkeypatch.undo()
    assert fit_app(prepared.path, tmp_path / "app").fits


def test_an_application_of_a_real_board_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite")
    generate_app(prepared, load_board("nano33ble"), tmp_path / "app")
    with pytest.raises(UsageError, match="No sizes of applications are stored for nano33ble"):
        fit_app(prepared.path, tmp_path / "app")


def test_other_files_in_the_folder_do_not_matter(tmp_path: Path) -> None:
    generate_app(motion_model(tmp_path / "gesture.tflite"), M4F, tmp_path / "app", sensor="adc")
    (tmp_path / "app/o").mkdir()
    (tmp_path / "app/src/.#main.c").symlink_to("nobody@nowhere")
    assert_equal(tmp_path / "app", predict_any_app(tmp_path / "app"))
