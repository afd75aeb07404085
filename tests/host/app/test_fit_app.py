"""The predicted sizes of applications equal the linked firmware, to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.firmware.sizes.app_prediction import predict_app
from arenite.host.app.emulated_run import run_emulated
from arenite.host.app.fit_app import fit_app
from arenite.host.app.generate import generate_app
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from benchmarks.app_sizes import app_boards, sample_apps
from tests.host.app.linked_sizes import assert_equal, need_the_measured_compiler
from tests.host.app.motion_models import GATE, motion_model
from tests.host.app.sound_models import DECISION, MICRO, RATE, SOUND, STEP, sound_model, sounds

BOARDS = [board.name for board in app_boards()]
M4F = load_board("qemu_mps2_an386")


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.slow
def test_the_stored_sizes_are_up_to_date(board: str, tmp_path: Path) -> None:
    for folder in sample_apps(load_board(board), tmp_path):
        unknown = predict_app(folder).unknown
        assert not unknown, f"{unknown} have changed since they were measured: run `make sizes`"


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("seed", range(3))
def test_predictions_equal_the_linked_firmware(board: str, seed: int, tmp_path: Path) -> None:
    need_the_measured_compiler(board)
    rng = np.random.default_rng(seed + 17 * BOARDS.index(board))
    sound = MICRO if rng.integers(2) else SOUND
    decision = replace(
        DECISION,
        hop=STEP * int(rng.integers(1, 13)),
        hops=int(rng.integers(1, 6)),
        threshold=float(rng.uniform(0.4, 0.9)),
        refractory_ms=float(rng.integers(0, 2000)),
        exclusive=bool(rng.integers(2)),
    )
    labels = [f"label {'x' * int(n)}" for n in rng.integers(0, 20, 3)]
    prepared = sound_model(tmp_path / f"name{'y' * int(rng.integers(9))}.tflite", decision, sound, labels)
    optimise = str(rng.choice(["speed", "ram", "flash", "balanced"]))
    generate_app(prepared, load_board(board), tmp_path / "app", optimise=optimise)
    assert_equal(tmp_path / "app", predict_app(tmp_path / "app"))


@pytest.mark.slow
@pytest.mark.parametrize("is_raw", [False, True])
@pytest.mark.parametrize("optimise", ["speed", "flash"])
def test_the_prediction_of_a_motion_sensor_equals_the_linked_firmware(
    is_raw: bool, optimise: str, tmp_path: Path
) -> None:
    need_the_measured_compiler(M4F.name)
    prepared = motion_model(tmp_path / "gesture.tflite", is_raw=is_raw, gate=None if is_raw else GATE)
    generate_app(prepared, M4F, tmp_path / "app", sensor="imu", optimise=optimise)
    assert_equal(tmp_path / "app", predict_app(tmp_path / "app"))


def test_what_was_never_measured_is_told(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    loop = tmp_path / "app/lib/app/sample_loop.c"
    loop.write_text(loop.read_text() + "static const ar_strange strange = {1};\n")
    processing = tmp_path / "app/lib/model/ear_processing.c"
    processing.write_text(processing.read_text() + "static const ar_strange strange = {1};\n")
    assert set(predict_app(tmp_path / "app").unknown) == {"lib/app/sample_loop.c", "ar_strange"}


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("sound", [SOUND, MICRO], ids=["audio", "micro"])
def test_the_stack_is_at_most_the_predicted_one(sound: dict, tmp_path: Path) -> None:
    """The program of the user paints the stack below it, and prints how much was used."""
    generate_app(sound_model(tmp_path / "ear.tflite", sound=sound), M4F, tmp_path / "app")
    predicted = predict_app(tmp_path / "app")
    main = tmp_path / "app/src/main.c"
    main.write_text(
        '#include "app.h"\n#include "console.h"\n'
        "extern uint32_t ar_stack_low[], ar_stack_top[];\n"
        "int main(void)\n{\n"
        "    uint32_t windows = 0;\n"
        "    uint32_t *sp;\n"
        '    __asm__ volatile("mov %0, sp" : "=r"(sp));\n'
        "    for (uint32_t *p = ar_stack_low; p < sp; p++) {\n        *(volatile uint32_t *)p = 0xA5A5A5A5u;\n    }\n"
        "    app_start();\n"
        "    for (;;) {\n"
        "        ar_event event;\n"
        "        while (app_next_event(&event)) {\n            app_print(&event);\n        }\n"
        "        if (app_state.windows >= windows + 50u) {\n"
        "            windows = app_state.windows;\n"
        "            uint32_t *p = ar_stack_low;\n"
        "            while (*(volatile uint32_t *)p == 0xA5A5A5A5u) {\n                p++;\n            }\n"
        '            console_begin();\n            console_text("stack ");\n'
        "            console_number((uint32_t)((uint8_t *)ar_stack_top - (uint8_t *)p));\n            console_end();\n"
        "        }\n        app_sleep();\n    }\n}\n"
    )
    lines = list(run_emulated(direct_build(tmp_path / "app"), M4F, sounds(6), commands=["status"]))
    used = [int(line.split()[1]) for line in lines if line.startswith("stack ")]
    assert used and 100 < max(used) <= predicted.stack


@pytest.mark.slow
def test_an_edited_program_is_measured_when_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_the_measured_compiler(M4F.name)
    prepared = sound_model(tmp_path / "ear.tflite")
    generate_app(prepared, M4F, tmp_path / "app")
    shipped = predict_app(tmp_path / "app")
    main = tmp_path / "app/src/main.c"
    main.write_text(main.read_text() + "\nuint32_t table[100] __attribute__((used)) = {1};\n")
    edited = predict_app(tmp_path / "app")
    assert edited.main == "edited" and edited.ram == shipped.ram
    with monkeypatch.context() as patch:
        patch.setenv("PATH", os.devnull)
        assert not fit_app(tmp_path / "ear.tflite", tmp_path / "app").to_json()["app"]["exact"]
    main.write_text(main.read_text().replace("app_print(event);", "app_print(event);\n    app_print(event);"))
    direct_build(tmp_path / "app")
    built = predict_app(tmp_path / "app")
    assert built.main == "measured"
    assert_equal(tmp_path / "app", built)
    assert built.application != shipped.application


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    sound_model(tmp_path / "ear.tflite")
    settings = tmp_path / "app.toml"
    settings.write_text(f'board = "{M4F.name}"\noptimise = "flash"\nhop = {6 * STEP}\n')
    fit = fit_app(tmp_path / "ear.tflite", settings)
    assert fit.fits and fit.hop_s == 6 * STEP / RATE and fit.sensor == "microphone"
    generate_app(fit.prepared, M4F, tmp_path / "app", optimise="flash")
    assert fit.prediction == predict_app(tmp_path / "app")
    assert fit_app(tmp_path / "ear.tflite", tmp_path / "app").to_json()["app"]["optimise"] == "flash"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not name a board"),
        ('board = "qemu_mps2_an386"\nbord = 1\n', "unknown setting 'bord'"),
        ('board = "qemu_mps2_an386"\nhop = "long"\n', "'hop' in .* is not a number of samples"),
        ('board = "qemu_mps2_an386"\noptimise = "all"\n', "'all' in .* is not an optimization goal"),
        ("board = ", "is not valid TOML"),
    ],
)
def test_wrong_settings_are_refused(text: str, message: str, tmp_path: Path) -> None:
    sound_model(tmp_path / "ear.tflite")
    (tmp_path / "app.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        fit_app(tmp_path / "ear.tflite", tmp_path / "app.toml")


def test_an_application_that_does_not_fit_says_what_to_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound_model(tmp_path / "ear.tflite")
    (tmp_path / "app.toml").write_text(f'board = "{M4F.name}"\n')
    fit = fit_app(tmp_path / "ear.tflite", tmp_path / "app.toml")
    small = replace(M4F, flash=(replace(M4F.flash[0], size=fit.prediction.flash - 4),))
    monkeypatch.setattr("arenite.host.app.fit_app.load_board", lambda _: small)
    fit = fit_app(tmp_path / "ear.tflite", tmp_path / "app.toml")
    assert not fit.fits
    assert fit.reasons[0] == "needs 4 B more flash" and "--optimise" in fit.reasons[1]


def test_the_command_prints_one_json_object(tmp_path: Path) -> None:
    sound_model(tmp_path / "ear.tflite")
    (tmp_path / "app.toml").write_text(f'board = "{M4F.name}"\n')
    command = [sys.executable, "-m", "arenite.host.cli.main", "fit", str(tmp_path / "ear.tflite")]
    done = subprocess.run(
        [*command, "--app", str(tmp_path / "app.toml"), "--json"], capture_output=True, text=True, check=True
    )
    app = json.loads(done.stdout)["app"]
    assert app["exact"] and app["ram"]["needed"] == sum(
        app["ram"][k] for k in ("arena", "data", "bss", "stack_reserved")
    )
