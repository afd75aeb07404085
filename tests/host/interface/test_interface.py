"""Tests of the Python interface ``import arenite``: its functions and results, and a fast import."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arenite
from tests.host.small_graphs import classifier, save

NEEDS_QEMU = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="no Arm compiler or no emulator: see `arenite doctor`",
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return save(classifier(), tmp_path / "net.tflite")


def test_every_name_of_the_interface_has_a_docstring() -> None:
    for name in arenite.__all__:
        assert getattr(arenite, name).__doc__, name


def test_import_loads_neither_numpy_nor_a_runtime() -> None:
    heavy = ("numpy", "ai_edge_litert", "click", "rich")
    code = f"import sys, arenite; print([m for m in {heavy} if m in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'fitt'"):
        arenite.fitt  # noqa: B018


def test_a_loaded_model_describes_itself(image: Path, tmp_path: Path) -> None:
    model = arenite.load(image)
    content = json.loads(json.dumps(model.to_json()))
    assert content["arena"] == model.arena_bytes > 0
    assert content["operators"] == list(model.operators)
    assert model.inputs[0].dtype == "int8" and model.inputs[0].scale is not None
    saved_model = arenite.load(model.save(tmp_path / "net.image.tflite"))
    assert (saved_model.operators, saved_model.arena_bytes) == (model.operators, model.arena_bytes)


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(arenite.AreniteError, match=r"nothing\.tflite"):
        arenite.load(tmp_path / "nothing.tflite")


def test_fit_takes_one_board_several_boards_or_all(image: Path) -> None:
    single_fit = arenite.fit(image, "qemu_mps2_an386")
    assert single_fit.fits and single_fit.to_json()["schema"] == "arenite.fit/1"
    assert [v.board.name for v in single_fit.verdicts] == ["qemu_mps2_an386"]
    double_fit = arenite.fit(arenite.load(image), ["qemu_mps2_an386", "nucleo_l4r5zi"])
    assert double_fit.verdicts[0] == single_fit.verdicts[0] and len(double_fit.verdicts) == 2
    all_fits = arenite.fit(image)
    assert isinstance(all_fits, arenite.FitReport) and len(all_fits.verdicts) == len(arenite.boards())
    with pytest.raises(arenite.ProfileError, match="no_board"):
        arenite.fit(image, "no_board")


def test_firmware_is_a_function_and_still_a_package(image: Path, tmp_path: Path) -> None:
    from arenite.firmware.sources import ENGINE

    project = arenite.firmware(image, "qemu_mps2_an386", tmp_path / "project")
    assert (project.directory / "src" / "model.c").is_file() and "conv_2d.h" in ENGINE
    assert project.to_json()["predicted"]["flash_total"] > 0
    assert arenite.firmware.__name__ == "arenite.firmware"


def test_a_library_of_two_models_is_written(image: Path, tmp_path: Path) -> None:
    written = arenite.library({"one": image, "two": arenite.load(image)}, tmp_path / "lib", core="cortex-m4f")
    assert [m["name"] for m in written.to_json()["models"]] == ["one", "two"]
    assert any(written.directory.rglob("*.c"))
    with pytest.raises(arenite.UsageError, match="exclude each other"):
        arenite.library({"one": image}, tmp_path / "x", core="cortex-m4f", board="qemu_mps2_an386")


@pytest.mark.qemu
@NEEDS_QEMU
@pytest.mark.slow
def test_bench_with_random_samples_and_with_arrays(image: Path) -> None:
    model = arenite.load(image)
    result = arenite.bench(model, "qemu_mps2_an386", samples=2, cycles=False)
    assert result.bit_exact and result.samples.count == 2 and result.instructions is not None
    assert result.to_json()["inference"]["instructions"]["p50"] == result.instructions.p50
    assert result.memory.ram_total <= result.memory.predicted_ram_total
    x = np.zeros((3, *model.inputs[0].shape), np.int8)
    array_result = arenite.bench(
        model, "qemu_mps2_an386", {"x": x}, build=arenite.BuildOptions("ram"), cycles=False
    )
    assert array_result.bit_exact and array_result.samples.count == 3 and array_result.optimise == "ram"
    with pytest.raises(arenite.UsageError, match="no array 'x0'"):
        arenite.bench(model, "qemu_mps2_an386", {"y": x})


@pytest.mark.qemu
@NEEDS_QEMU
@pytest.mark.slow
def test_energy_without_a_meter_is_an_estimate(image: Path) -> None:
    report = arenite.energy(image, "nucleo_l4r5zi")
    assert report.kind == "estimated" and report.median_uj > 0
    assert report.to_json()["energy_uj_per_inference"]["median"] == report.median_uj


def test_a_quantized_model_is_converted(image: Path, tmp_path: Path) -> None:
    report = arenite.convert(image, tmp_path / "out.tflite", boards="qemu_mps2_an386")
    assert report.met and report.path.is_file() and report.model is not None
    assert arenite.load(report.path).operators == report.model.operators
    assert report.to_json()["schema"] == "arenite.convert/1"


def test_boards_and_models_of_the_zoo_are_listed() -> None:
    names = [board.name for board in arenite.boards()]
    assert "qemu_mps2_an386" in names and "nucleo_l4r5zi" in names and names[0].startswith("qemu_")
    assert [entry.name for entry in arenite.zoo] == [entry.name for entry in arenite.zoo.list()]
    with pytest.raises(arenite.UsageError, match="no model"):
        arenite.zoo.fetch("no_such_model")


def test_camera_yields_answers_and_a_result() -> None:
    with arenite.Camera(model="blazeface", source="synthetic", frames=5) as camera:
        answers = [served.answer for served in camera]
    assert len(answers) == 5 and camera.to_json()["frames"]["served"] == 5
    closed = arenite.Camera(source="synthetic")
    with pytest.raises(arenite.UsageError, match="not open"):
        iter(closed)
