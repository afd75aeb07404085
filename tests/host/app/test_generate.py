"""``arenite app`` writes a folder that belongs to the user, and says what a model lacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.decision.record import Decision
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.firmware.app.settings import room_for
from arenite.firmware.library.processing import Processing
from arenite.host.app.busy_time import row_seconds
from arenite.host.app.generate import generate_app
from arenite.host.app.sensor_stream import IMU
from arenite.profiles.boards import Board, load_board
from tests.host.app.motion_models import DECISION as MOTION_DECISION
from tests.host.app.motion_models import GATE, HOP, RATE, WINDOW, motion_model
from tests.host.app.sound_models import DECISION, ROWS, SOUND, STEP, sound_model
from tests.host.app.sound_models import RATE as RATE_OF_SOUND

BOARD = load_board("qemu_mps2_an386")


def test_the_program_of_the_user_is_written_once(tmp_path: Path) -> None:
    prepared, folder = sound_model(tmp_path / "ear.tflite"), tmp_path / "app"
    generate_app(prepared, BOARD, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    main = folder / "src" / "main.c"
    main.write_text("/* mine */\n")
    other = sound_model(tmp_path / "ear.tflite", replace(DECISION, hop=2 * STEP))
    generate_app(other, BOARD, folder)
    assert main.read_text() == "/* mine */\n"
    assert f"app_hop = {2 * STEP}u" in (folder / "lib/app/app_settings.c").read_text()
    generate_app(prepared, BOARD, folder)
    main.write_bytes(before[main])
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_readme_of_an_emulated_board_says_how_to_run_it(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "app")
    text = (tmp_path / "app/README.md").read_text()
    assert f"    arenite live . --board {BOARD.name} --play FILE.wav\n" in text
    assert "* `src/main.c`: your program. It is" in text and "app_pins.h" not in text


def test_the_folder_is_a_project(tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "app")
    manifest = json.loads((tmp_path / "app" / "arenite.json").read_text())
    assert manifest["board"] == BOARD.name and manifest["protocol"] == "app"
    units = {unit["source"] for unit in manifest["build"]["units"]}
    assert {"src/main.c", "lib/app/virtual_sensor.c", "lib/model/ear_model.c"} <= units
    assert all((tmp_path / "app" / source).is_file() for source in units)
    assert "src/main.c" not in manifest["files"]
    assert application.settings.hop == DECISION.hop
    assert application.settings.room == 512  # a small model needs the smallest buffer


def test_the_buffer_has_room_for_the_samples_during_a_long_row_of_features() -> None:
    """A row of 4,096 samples takes 48 ms on the emulated Cortex-M4 (measured), and the inference follows at once."""
    frame = {"do": "frame", "length": 4096, "step": 2048}
    steps = [frame, {"do": "window"}, {"do": "fft", "length": 4096}, *SOUND["steps"][3:]]
    source = SOUND["source"] | {"samples": 4096 + (ROWS - 1) * 2048}
    plan = plan_sound(Preprocessing.from_json({"source": source, "steps": steps}))
    assert 0.048 < row_seconds(Processing(plan, None), BOARD) < 0.1
    assert row_seconds(Processing(None, None), BOARD) == 0
    assert room_for(100, 16000) == room_for(100, 16000, 150) == 512 < room_for(100, 16000, 400)


def test_a_model_without_a_decision_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite", decision=None)
    with pytest.raises(UsageError, match="records no decision") as error:
        generate_app(prepared, BOARD, tmp_path / "app")
    assert "--decision" in str(error.value.hint)
    assert not (tmp_path / "app").exists()


def test_a_model_without_features_of_sound_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite", replace(DECISION, refractory_ms=0), sound=None)
    with pytest.raises(UsageError, match="records no preprocessing of sound"):
        generate_app(prepared, BOARD, tmp_path / "app")


def test_features_that_need_a_whole_recording_are_refused(tmp_path: Path) -> None:
    sound = SOUND | {"steps": [{"do": "peak"}, *SOUND["steps"]]}
    with pytest.raises(UsageError, match="'peak' divides by the largest sample"):
        generate_app(sound_model(tmp_path / "ear.tflite", sound=sound), BOARD, tmp_path / "app")


def test_a_hop_between_two_rows_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite", replace(DECISION, hop=STEP + 1))
    with pytest.raises(UsageError, match=f"hop is {STEP + 1} samples") as error:
        generate_app(prepared, BOARD, tmp_path / "app")
    assert f"a multiple of {STEP}" in str(error.value.hint)


@pytest.mark.parametrize("labels", [[], ["one", "two"], ["one", "two", "three", "four"]])
def test_labels_of_another_output_name_no_classes(labels: list[str], tmp_path: Path) -> None:
    application = generate_app(sound_model(tmp_path / "ear.tflite", labels=labels), BOARD, tmp_path / "app")
    assert application.to_json()["classes"] == ["class 0", "class 1", "class 2"]


def test_a_hop_that_is_longer_than_a_window_is_refused(tmp_path: Path) -> None:
    generate_app(
        sound_model(tmp_path / "ear.tflite", replace(DECISION, hop=ROWS * STEP)), BOARD, tmp_path / "app"
    )
    prepared = sound_model(tmp_path / "ear.tflite", replace(DECISION, hop=(ROWS + 1) * STEP))
    with pytest.raises(UsageError, match=f"hop is {(ROWS + 1) * STEP} samples") as error:
        generate_app(prepared, BOARD, tmp_path / "deaf")
    assert f"to {ROWS * STEP} or less" in str(error.value.hint)
    assert not (tmp_path / "deaf").exists()


def test_a_board_without_a_driver_is_refused(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite")
    with pytest.raises(UsageError, match="no driver of a microphone for nucleo_l4r5zi"):
        generate_app(prepared, load_board("nucleo_l4r5zi"), tmp_path / "app")


def _slowed(needed_hops: float, tmp_path: Path, optimise: str = "balanced") -> Board:
    """Return a board on which an inference of the model takes ``needed_hops`` hops."""
    prepared = sound_model(tmp_path / "ear.tflite")
    usual_s = generate_app(prepared, BOARD, tmp_path / "usual", optimise=optimise).inference_s
    return replace(
        BOARD, clock_hz=round(BOARD.clock_hz * usual_s / (needed_hops * DECISION.hop / RATE_OF_SOUND))
    )


def _refused_hint(
    board: Board, tmp_path: Path, decision: Decision = DECISION, optimise: str = "balanced"
) -> str:
    prepared = sound_model(tmp_path / "ear.tflite", decision)
    with pytest.raises(UsageError, match="An inference on qemu_mps2_an386 takes an estimated") as error:
        generate_app(prepared, board, tmp_path / "app", optimise=optimise)
    assert not (tmp_path / "app").exists()
    return str(error.value.hint)


def test_the_hop_that_the_hint_names_for_a_slow_board_can_be_set(tmp_path: Path) -> None:
    hint = _refused_hint(_slowed(1.2, tmp_path), tmp_path)
    named = re.match(rf"Set hop in \[decision\] to (\d+) or more, up to {ROWS * STEP}, or ", hint)
    assert named is not None, hint
    for hop in (int(named[1]), ROWS * STEP):
        prepared = sound_model(tmp_path / "ear.tflite", replace(DECISION, hop=hop))
        application = generate_app(prepared, BOARD, tmp_path / "app")
        assert application.settings.hop == hop
        usual_s = generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "usual").inference_s
        assert application.inference_s == usual_s and 1.2 * DECISION.hop <= hop / 2


def test_no_hop_is_named_if_none_is_long_enough(tmp_path: Path) -> None:
    hops = ROWS * STEP / DECISION.hop
    hint = _refused_hint(_slowed(0.8 * hops, tmp_path), tmp_path)
    assert hint.startswith(f"Set hop in [decision] to {ROWS * STEP} samples, or ")
    hint = _refused_hint(_slowed(2 * hops, tmp_path), tmp_path)
    assert "hop" not in hint and "hoose qemu_mps2_an" in hint


def test_the_hint_names_the_goal_that_is_fast_enough(tmp_path: Path) -> None:
    board = _slowed(1.05, tmp_path, "flash")
    hint = _refused_hint(board, tmp_path, optimise="flash")
    assert "use --optimise speed (an estimated " in hint
    usual = generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "usual", optimise="speed")
    assert usual.inference_s * BOARD.clock_hz / board.clock_hz < DECISION.hop / RATE_OF_SOUND
    assert "--optimise" not in _refused_hint(_slowed(9, tmp_path, "flash"), tmp_path, optimise="flash")


def test_the_hint_names_the_record_that_has_the_hop(tmp_path: Path) -> None:
    prepared = sound_model(tmp_path / "ear.tflite", None, anomaly=AnomalyHead(output=0, hop=DECISION.hop))
    with pytest.raises(UsageError, match=r"but \[anomaly\] wants one every") as error:
        generate_app(prepared, _slowed(1.2, tmp_path), tmp_path / "app")
    assert str(error.value.hint).startswith("Set hop in [anomaly] to ")


def test_a_model_of_motion_needs_a_sensor_of_motion(tmp_path: Path) -> None:
    prepared = motion_model(tmp_path / "wrist.tflite")
    with pytest.raises(UsageError, match="records no preprocessing of sound"):
        generate_app(prepared, BOARD, tmp_path / "app")
    with pytest.raises(UsageError, match="records no preprocessing of the source 'imu'"):
        generate_app(sound_model(tmp_path / "ear.tflite"), BOARD, tmp_path / "app", sensor=IMU)
    settings = generate_app(prepared, BOARD, tmp_path / "app", sensor=IMU).settings
    assert (settings.rate, settings.channels, settings.hop, settings.window) == (RATE, 3, HOP, WINDOW)
    assert settings.room == 16  # samples of three values: the buffer is small at a low rate


def test_a_rate_and_a_gate_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    decision = replace(MOTION_DECISION, rate=100)
    prepared = motion_model(tmp_path / "wrist.tflite", decision=decision, rate=100.5)
    with pytest.raises(UsageError, match="not a whole number"):
        generate_app(prepared, BOARD, tmp_path / "app", sensor=IMU)
    prepared = motion_model(tmp_path / "wrist.tflite", gate=replace(GATE, channels=1))
    with pytest.raises(UsageError, match="a gate of 1 channels, but a sample of the imu has 3"):
        generate_app(prepared, BOARD, tmp_path / "app", sensor=IMU)
