"""`arenite app` and `arenite fit --app` with a cascade, and mistakes on the command line."""

from __future__ import annotations

import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.host.app.camera.camera_models import gray_model
from tests.host.app.cascade.cascade_models import sound_pair
from tests.host.app.motion_models import motion_model
from tests.host.app.shipped import shipped_image
from tests.host.app.sound_models import DECISION, RATE, sound_model, sounds
from tests.host.cli.conftest import Arenite

BOARD = "qemu_mps2_an386"


def write_wav(path: Path, samples: np.ndarray, rate: int = RATE) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return path


def test_a_recording_is_read_before_anything_is_written(arenite: Arenite, tmp_path: Path) -> None:
    image = sound_model(tmp_path / "ear.tflite").path
    arguments = ("app", image, "--board", BOARD, "-o", tmp_path / "app", "--play")
    arenite(*arguments, tmp_path / "missing.wav").refused(2, "missing.wav")
    slow = write_wav(tmp_path / "slow.wav", sounds(1), RATE // 2)
    arenite(*arguments, slow).refused(2, "slow.wav")
    arenite(*arguments, slow, "--play", slow).refused(2, "--play is given several times")
    empty = write_wav(tmp_path / "empty.wav", sounds(1)[:0])
    arenite(*arguments, empty).refused(2, "empty.wav has no samples")
    real = ("app", image, "--board", "nano33ble", "-o", tmp_path / "app", "--play", slow)
    arenite(*real).refused(2, "nano33ble is a real board")
    eye = gray_model(tmp_path).path
    (tmp_path / "pictures").mkdir()
    looking = ("app", eye, "--sensor", "camera", "--board", BOARD, "-o", tmp_path / "app", "--play")
    arenite(*looking, tmp_path / "pictures").refused(2, "There are no pictures")
    assert not (tmp_path / "app").exists()


def test_the_sensor_is_that_of_the_recorded_preprocessing(arenite: Arenite, tmp_path: Path) -> None:
    image = motion_model(tmp_path / "gesture.tflite").path
    assert arenite("app", image, "--board", BOARD, "-o", tmp_path / "app", "--json").json["sensor"] == "imu"


@pytest.mark.slow
@pytest.mark.qemu
def test_a_recording_without_a_whole_window_measures_nothing(arenite: Arenite, tmp_path: Path) -> None:
    image = sound_model(tmp_path / "ear.tflite").path
    short = write_wav(tmp_path / "short.wav", sounds(1)[:100])
    played = arenite("app", image, "--board", BOARD, "-o", tmp_path / "app", "--play", short)
    assert "Measured: nothing, because the recording ended before the first window" in played.out


def test_a_cascade_is_written_and_predicted(arenite: Arenite, tmp_path: Path) -> None:
    small, large = (prepared.path for prepared in sound_pair(tmp_path))
    folder = tmp_path / "app"
    arguments = ("--cascade", large, "--hang-ms", "100", "--board", BOARD, "-o", folder)
    written = arenite("app", small, *arguments, "--json").json
    assert written["cascade"] == {
        "small": str(small),
        "large": str(large),
        "hang_hops": 3,
        "large_every": 1,
        "shared_features": False,
    }
    fitted = arenite("fit", small, "--app", folder, "--cascade", large, "--json").json["app"]
    assert fitted["fits"] and fitted["cascade"]["path"] == str(large)
    assert fitted["inference_ms"]["value"] == written["inference_ms"]
    arenite("fit", small, "--cascade", large).refused(2, "--cascade needs --app")
    arenite("app", small, "--hang-ms", "5", "--board", BOARD, "-o", folder).refused(
        2, "--hang-ms is for a cascade"
    )


@pytest.mark.slow
@pytest.mark.qemu
def test_a_cascade_is_played(arenite: Arenite, tmp_path: Path) -> None:
    small, large = (prepared.path for prepared in sound_pair(tmp_path))
    street = write_wav(tmp_path / "street.wav", sounds(6))
    arguments = (small, "--cascade", large, "--board", BOARD, "-o", tmp_path / "app", "--play", street)
    done = arenite("app", *arguments)
    assert done.code == 0 and "events are those of this computer" in done.out
    assert "ear.tflite wakes word.tflite" in done.out


def test_a_real_board_without_editable_pins_says_where_they_are(arenite: Arenite, tmp_path: Path) -> None:
    image = sound_model(tmp_path / "ear.tflite").path
    run = arenite("app", image, "--board", "nucleo_f411re", "-o", tmp_path / "app")
    assert run.code == 0 and "Its pins are fixed in lib/app/microphone_stm32f411_i2s.c." in run.out


def test_another_application_is_only_replaced_if_the_user_says_so(arenite: Arenite, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    ear, word = sound_model(tmp_path / "ear.tflite").path, sound_model(tmp_path / "word.tflite").path
    wrist = motion_model(tmp_path / "wrist.tflite").path

    def command(image: Path, board: str, *more: str) -> tuple[object, ...]:
        return ("app", image, "--board", board, "-o", folder, *more)

    assert arenite(*command(ear, BOARD)).code == 0
    (folder / "src/main.c").write_text("/* mine */\n")
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    there = f"app holds the application ear on {BOARD} with the sensor microphone; "
    for refused, asked in (
        (command(word, BOARD), f"word on {BOARD} with the sensor microphone would replace it"),
        (command(ear, "qemu_mps2_an385"), "ear on qemu_mps2_an385 with the sensor microphone would replace"),
        (command(wrist, BOARD), f"wrist on {BOARD} with the sensor imu would replace it"),
        (command(ear, BOARD, "--cascade", str(word)), f"ear and word on {BOARD} with the sensor microphone"),
    ):
        arenite(*refused).refused(2, there + asked, "--replace")
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    # A new version of the model, or other options, write the same application again.
    sound_model(ear, replace(DECISION, hop=DECISION.hop // 2))
    assert arenite(*command(ear, BOARD, "--optimise", "speed")).code == 0
    assert arenite(*command(wrist, BOARD, "--replace")).code == 0
    assert (folder / "src/main.c").read_text() == "/* mine */\n"
    assert arenite("firmware", ear, "--board", BOARD, "-o", tmp_path / "firmware").code == 0
    onto = ("app", ear, "--board", BOARD, "-o", tmp_path / "firmware")
    arenite(*onto).refused(2, "firmware holds the firmware project ear on", "--replace")


def test_the_next_command_of_an_emulated_board_plays_a_recording(arenite: Arenite, tmp_path: Path) -> None:
    image = motion_model(tmp_path / "wrist.tflite").path
    written = arenite("app", image, "--board", BOARD, "-o", tmp_path / "a")
    assert f"arenite live {tmp_path / 'a'} --board {BOARD} --play FILE.csv" in written.out
    written = arenite("app", image, "--board", "pico", "-o", tmp_path / "b")
    assert "Next: cmake" in written.out and "--play" not in written.out


@pytest.mark.slow  # downloads a model
def test_what_the_conversion_of_a_shipped_model_noted_is_not_printed(
    arenite: Arenite, tmp_path: Path
) -> None:
    image = shipped_image("sww01")
    noted = arenite("app", image, "--board", BOARD, "-o", tmp_path / "a")
    assert "dynamic batch dimension" in noted.err
    shipped = arenite("app", "sww01", "--board", BOARD, "-o", tmp_path / "b")
    assert shipped.code == 0 and not shipped.err


@pytest.mark.slow  # trains a model
def test_the_example_of_a_shipped_application_is_named(arenite: Arenite, tmp_path: Path) -> None:
    shipped_image("gestures")
    written = arenite("app", "gestures", "--board", BOARD, "-o", tmp_path / "a")
    assert f"arenite app gestures --board {BOARD} -o {tmp_path / 'a'} --play example" in written.out
