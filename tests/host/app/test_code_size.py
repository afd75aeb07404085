"""What an application needs besides its kernels stays within 6 KB of flash on a Cortex-M4F."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arenite.errors import ToolError
from arenite.firmware.sizes.app_prediction import predict_app
from arenite.firmware.sizes.measure import library_of
from arenite.firmware.sizes.object_files import ObjectSet, read_objects
from arenite.host.app.applications import application_image
from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.generate import generate_app
from arenite.host.build.prepare import prepare
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.app.camera.camera_models import picture_model
from tests.host.app.motion_models import GATE, motion_model
from tests.host.app.sound_models import MICRO, SOUND, sound_model

M4F = load_board("qemu_mps2_an386")
MAX_APPLICATION_BYTES = 6 * 1024


def assert_small(folder: Path) -> None:
    prediction = predict_app(folder)
    assert not prediction.unknown
    assert 3000 < prediction.application <= MAX_APPLICATION_BYTES


@pytest.mark.parametrize("sound", [SOUND, MICRO], ids=["audio", "micro"])
def test_the_code_of_a_microphone(sound: dict[str, Any], tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite", sound=sound), M4F, tmp_path / "app")
    assert_small(tmp_path / "app")


@pytest.mark.parametrize("has_gate", [False, True], ids=["always", "gated"])
def test_the_code_of_a_motion_sensor(has_gate: bool, tmp_path: Path) -> None:
    prepared = motion_model(tmp_path / "gesture.tflite", gate=GATE if has_gate else None)
    generate_app(prepared, M4F, tmp_path / "app", sensor="imu")
    assert_small(tmp_path / "app")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["micro_speech", "wake_okay_nabu"])
def test_the_code_of_a_shipped_application(name: str, tmp_path: Path) -> None:
    """The sizes of models with a state are not stored, so the objects are compiled and counted."""
    try:
        image = application_image(name, progress=False)
    except ToolError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    generate_app(prepare(image), M4F, tmp_path / "app")
    objects = direct_build(tmp_path / "app").parent
    assert 3000 < linked_application_bytes(objects) <= MAX_APPLICATION_BYTES


@pytest.mark.slow
def test_the_code_of_a_camera(tmp_path: Path) -> None:
    """The sizes of a camera are not stored, so its objects are compiled and counted."""
    generate_camera_app(picture_model(tmp_path / "eye.tflite"), M4F, tmp_path / "app")
    objects = direct_build(tmp_path / "app").parent
    assert 3000 < linked_application_bytes(objects) <= MAX_APPLICATION_BYTES


@pytest.mark.slow
def test_the_compiled_code_is_the_predicted_one(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), M4F, tmp_path / "app")
    objects = direct_build(tmp_path / "app").parent
    assert linked_application_bytes(objects) == predict_app(tmp_path / "app").application


def linked_application_bytes(objects: Path) -> int:
    """Return the bytes of flash that are neither kernels, with the compiler's routines that they call, nor weights and
    tables of the model, from the folder with the object files of a build."""
    paths = {str(path.relative_to(objects)): path for path in objects.rglob("*.o")}
    linked = read_objects(paths)
    library = library_of(M4F.core)
    linked = ObjectSet({**library.sections, **linked.sections}, {**library.symbols, **linked.symbols})
    vectors = [node for node, section in linked.sections.items() if section.kind == "vectors"]
    live = linked.reachable(["ar_start", *vectors])
    kernels = {node for node in live if node.startswith("lib/model/arenite/")}
    routines = {node for node in linked.reachable(kernels) if node.startswith("libgcc/")}
    counted = {
        node
        for node in live - kernels - routines
        if linked.sections[node].kind in ("text", "vectors")
        or (linked.sections[node].kind == "rodata" and not is_table(node))
    }
    return sum(-(-linked.sections[node].size // 4) * 4 for node in counted)


def is_table(node: str) -> bool:
    """Return whether constants belong to the model or to settings, and not to the code of an application."""
    return node.startswith(("lib/model/", "lib/app/app_settings.c"))
