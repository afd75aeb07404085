"""Two models become a cascade, or an error tells why they cannot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.errors import UsageError
from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.sensor_stream import IMU
from arenite.host.build.prepare import Prepared
from arenite.host.interface.app import app
from arenite.profiles.boards import Board, load_board
from tests.host.app.cascade.cascade_models import GATE, LARGE_ROWS, SMALL_DECISION, motion_pair, sound_pair
from tests.host.app.motion_models import motion_model
from tests.host.app.sound_models import DECISION, LENGTH, RATE, ROWS, SOUND, STEP, sound_model

BOARD = load_board("qemu_mps2_an386")
HOP = DECISION.hop


def assert_refused(
    small: Prepared, large: Prepared, folder: Path, match: str, hint: str = "", sensor: str = "microphone"
) -> None:
    with pytest.raises(UsageError, match=match) as error:
        generate_cascade(small, large, BOARD, folder / "app", sensor=sensor)
    assert hint in str(error.value.hint)
    assert not (folder / "app").exists()


def test_the_folder_is_a_project_of_two_models(tmp_path: Path) -> None:
    application = generate_cascade(*sound_pair(tmp_path), BOARD, tmp_path / "app")
    manifest = json.loads((tmp_path / "app/arenite.json").read_text())
    assert manifest["model"]["name"] == "ear" and manifest["cascade"]["name"] == "word"
    units = {unit["source"] for unit in manifest["build"]["units"]}
    assert {"lib/app/cascade.c", "lib/model/ear_model.c", "lib/model/word_processing.c"} <= units
    assert "lib/model/arenite_arena.c" in units  # both run in one arena
    before = {path: path.read_bytes() for path in (tmp_path / "app").rglob("*") if path.is_file()}
    assert generate_cascade(*sound_pair(tmp_path), BOARD, tmp_path / "app").to_json() == application.to_json()
    assert before == {path: path.read_bytes() for path in (tmp_path / "app").rglob("*") if path.is_file()}
    assert "ear.tflite and word.tflite" in (tmp_path / "app/README.md").read_text()


def test_equal_features_are_computed_once(tmp_path: Path) -> None:
    application = generate_cascade(*sound_pair(tmp_path, is_shared=True), BOARD, tmp_path / "app")
    assert application.to_json()["cascade"]["shared_features"]
    processing = (tmp_path / "app/lib/model/word_processing.c").read_text()
    assert "word_decide" in processing and "word_feed" not in processing
    # Another scale of the input gives other bytes.
    small = sound_model(tmp_path / "ear.tflite", SMALL_DECISION, scale=0.16)
    large = sound_model(tmp_path / "word.tflite")
    application = generate_cascade(small, large, BOARD, tmp_path / "app")
    assert not application.to_json()["cascade"]["shared_features"]
    assert "word_feed" in (tmp_path / "app/lib/model/word_processing.c").read_text()


def test_the_hang_time_is_given_recorded_or_a_window(tmp_path: Path) -> None:
    small, large = sound_pair(tmp_path)
    window = (LARGE_ROWS - 1) * STEP + LENGTH

    def hang(prepared: Prepared, hang_ms: float | None = None) -> int:
        application = generate_cascade(prepared, large, BOARD, tmp_path / "app", hang_ms=hang_ms)
        return int(application.to_json()["cascade"]["hang_hops"])

    assert hang(small) == -(-window // HOP)
    assert hang(small, 0) == 0
    assert hang(small, 1000 * (HOP + 1) / RATE) == 2
    recorded = sound_model(small.path, replace(SMALL_DECISION, hang_ms=1000 * 5 * HOP / RATE))
    assert hang(recorded) == 5 and hang(recorded, 0) == 0
    assert hang(sound_model(small.path, replace(SMALL_DECISION, hang_hops=7))) == 7
    with pytest.raises(UsageError, match="The hang time is 25,000,000 hops, expected at most 65,534"):
        hang(small, 1e9)
    with pytest.raises(UsageError, match="The hang time is -1 ms"):
        hang(small, -1)
    with pytest.raises(UsageError, match="hang_ms and hang_hops are both set"):
        replace(DECISION, hang_ms=1.0, hang_hops=1)


def test_the_gate_of_the_large_model_is_not_used(tmp_path: Path) -> None:
    small, _ = sound_pair(tmp_path)
    large = sound_model(tmp_path / "word.tflite", gate=GATE, rows=LARGE_ROWS)
    application = generate_cascade(small, large, BOARD, tmp_path / "app")
    assert application.cascade is not None
    assert any("The gate that word.tflite records is not used" in text for text in application.cascade.notes)
    assert "word_gate" not in (tmp_path / "app/lib/model/word_processing.c").read_text()


def test_models_with_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    small, _ = sound_pair(tmp_path)
    large = sound_model(tmp_path / "other/ear.tflite")
    assert_refused(small, large, tmp_path, "would have the name 'ear' in C", "Rename")


def test_models_of_different_sensors_are_refused(tmp_path: Path) -> None:
    small, large = sound_pair(tmp_path)
    motion, _ = motion_pair(tmp_path)
    assert_refused(small, motion, tmp_path, "still.tflite records no preprocessing of sound")
    assert_refused(motion, large, tmp_path, "word.tflite records no preprocessing of the source", sensor=IMU)


def test_different_rates_channels_and_hops_are_refused(tmp_path: Path) -> None:
    small, _ = sound_pair(tmp_path)
    slow = SOUND | {
        "source": SOUND["source"] | {"rate": 8000},
        "steps": [dict(step) for step in SOUND["steps"]],
    }
    slow["steps"][3] |= {"high": 3900}
    large = sound_model(tmp_path / "word.tflite", sound=slow)
    assert_refused(
        small, large, tmp_path, "ear.tflite takes 16,000 samples per second, but word.tflite 8,000", "rate"
    )
    large = sound_model(tmp_path / "word.tflite", replace(DECISION, hop=HOP + STEP))
    assert_refused(
        small, large, tmp_path, f"The hop of word.tflite is {HOP + STEP} samples", f"to {HOP} or a multiple"
    )
    motion, _ = motion_pair(tmp_path)
    flat = motion_model(tmp_path / "flat.tflite", axes=1)
    assert_refused(
        motion, flat, tmp_path, "still.tflite takes 3 values per sample, but flat.tflite 1", "axes", IMU
    )


def test_models_without_a_decision_and_models_that_learn_are_refused(tmp_path: Path) -> None:
    small, large = sound_pair(tmp_path)
    silent = sound_model(tmp_path / "silent.tflite", decision=None)
    assert_refused(small, silent, tmp_path, "silent.tflite records no decision", "--decision")
    assert_refused(silent, large, tmp_path, "silent.tflite records no decision", "--decision")
    learns = sound_model(tmp_path / "learns.tflite", anomaly=AnomalyHead(output=0, hop=HOP))
    assert_refused(small, learns, tmp_path, "learns.tflite records an anomaly head", "--anomaly")


def _slowed(needed_hops: float, tmp_path: Path) -> Board:
    """Return a board on which both inferences of the pair of sound take ``needed_hops`` hops."""
    application = generate_cascade(*sound_pair(tmp_path), BOARD, tmp_path / "usual")
    return replace(
        BOARD, clock_hz=round(BOARD.clock_hz * application.inference_s / (needed_hops * HOP / RATE))
    )


def _with_hop(tmp_path: Path, hop: int, large_hop: int | None = None) -> tuple[Prepared, Prepared]:
    """Return the pair of sound with other hops."""
    return (
        sound_model(tmp_path / "ear.tflite", replace(SMALL_DECISION, hop=hop)),
        sound_model(
            tmp_path / "word.tflite", replace(DECISION, hop=large_hop or hop), rows=LARGE_ROWS, seed=4
        ),
    )


def test_a_board_that_is_too_slow_for_both_is_refused_with_a_hop_that_can_be_set(tmp_path: Path) -> None:
    slow = _slowed(1.01, tmp_path)  # each inference alone would be in time
    with pytest.raises(
        UsageError, match=r"The inferences of one hop on .* \(ear.tflite \d+ ms and word.tflite \d+ ms\)"
    ) as error:
        generate_cascade(*sound_pair(tmp_path), slow, tmp_path / "slow")
    assert not (tmp_path / "slow").exists()
    longest = ROWS * STEP  # of the small model
    named = re.match(
        rf"Set hop in \[decision\] of both models to (\d+) or more, up to {longest}, or ",
        str(error.value.hint),
    )
    assert named is not None, error.value.hint
    for hop in (int(named[1]), longest):
        assert hop / RATE > 1.01 * HOP / RATE  # what both inferences take on the slow board
        application = generate_cascade(*_with_hop(tmp_path, hop), BOARD, tmp_path / "app")
        assert application.settings.hop == hop


def test_no_hop_is_named_that_the_small_model_cannot_have(tmp_path: Path) -> None:
    longest = ROWS * STEP // HOP
    for share, start in (
        (0.8, f"Set hop in [decision] of both models to {ROWS * STEP} samples, or "),
        (1.5, ""),
    ):
        with pytest.raises(UsageError, match="The inferences of one hop") as error:
            generate_cascade(*sound_pair(tmp_path), _slowed(share * longest, tmp_path), tmp_path / "slow")
        hint = str(error.value.hint)
        assert hint.startswith(start) and ("hop" in hint) == bool(start)
        assert "hoose qemu_mps2_an" in hint


def test_a_hop_that_is_no_multiple_is_refused_with_one_that_can_be_set(tmp_path: Path) -> None:
    longest = LARGE_ROWS * STEP
    with pytest.raises(UsageError, match="which is not a multiple") as error:
        generate_cascade(*_with_hop(tmp_path, HOP, HOP + STEP), BOARD, tmp_path / "app")
    assert f"word.tflite to {HOP} or a multiple of it, up to {longest // HOP * HOP}." in str(error.value.hint)
    generate_cascade(*_with_hop(tmp_path, HOP, longest // HOP * HOP), BOARD, tmp_path / "app")
    # The rows of the large model begin within fewer samples than a hop of the small one.
    small = sound_model(tmp_path / "ear.tflite", replace(SMALL_DECISION, hop=ROWS * STEP))
    large = sound_model(tmp_path / "word.tflite", replace(DECISION, hop=STEP), rows=ROWS - 4)
    with pytest.raises(UsageError, match="which is not a multiple") as error:
        generate_cascade(small, large, BOARD, tmp_path / "none")
    equal = (ROWS - 4) * STEP
    assert str(error.value.hint) == f"Set hop in [decision] of both models to {equal} samples."
    small = sound_model(tmp_path / "ear.tflite", replace(SMALL_DECISION, hop=equal))
    large = sound_model(tmp_path / "word.tflite", replace(DECISION, hop=equal), rows=ROWS - 4)
    generate_cascade(small, large, BOARD, tmp_path / "app")


def test_the_warning_of_a_slow_cascade_names_settings_that_leave_time(tmp_path: Path) -> None:
    usual = generate_cascade(*sound_pair(tmp_path), BOARD, tmp_path / "usual").headroom
    assert usual is not None
    slow = replace(BOARD, clock_hz=round(BOARD.clock_hz * usual.share() / 1.13))
    (warning,) = generate_cascade(*sound_pair(tmp_path), slow, tmp_path / "app").warnings
    assert "the slowest 11" in warning
    # The features of each sample take most of the time, so a longer hop does not help.
    assert re.search(r"\. Choose qemu_mps2_an\d+ \(the slowest window then takes \d\d\.\d%\)\.$", warning)


def test_a_camera_has_no_cascade(tmp_path: Path) -> None:
    small, large = sound_pair(tmp_path)
    with pytest.raises(UsageError, match="A cascade cannot look"):
        app(small.path, tmp_path / "app", board=BOARD.name, sensor="camera", cascade=large.path)
    with pytest.raises(UsageError, match="--hang-ms is for a cascade"):
        app(small.path, tmp_path / "app", board=BOARD.name, hang_ms=100)
    assert not (tmp_path / "app").exists()


def test_a_real_board_gets_both_models(tmp_path: Path) -> None:
    application = generate_cascade(*sound_pair(tmp_path), load_board("nano33ble"), tmp_path / "app")
    assert application.driver is not None
    assert (tmp_path / "app/lib/app/cascade.c").is_file()
    assert "EAR_ADVANCE" in (tmp_path / "app/platformio.ini").read_text()
