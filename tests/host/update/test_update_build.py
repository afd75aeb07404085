"""The images of `arenite update build`: what a retrained model changes, and the self-test on an emulated board."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.update.golden import MAX_SAMPLES
from arenite.firmware.update.layout import update_layout
from arenite.host.cli.main import main
from arenite.host.update.calibration_record import CalibrationRecord
from arenite.host.update.signed_image import verify_image
from arenite.host.update.update_build import UpdateImages, UpdateOptions, build_update
from arenite.host.update.zephyr_build import build_zephyr_update
from arenite.profiles.boards import load_board
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, counter, float_edges, quant, save, two_inputs
from tests.host.update.retrained_model import (
    retrained,
    with_another_bias,
    with_wrong_weight,
    without_activation,
)
from tests.host.update.slot_board import run_images

pytestmark = [
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
    ),
]
needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"
)
BOARD = "qemu_mps2_an386"
BOARDS = ("qemu_microbit", "qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500")
FIRMWARE_HEADER, MODEL_HEADER = 512, 64
Build = Callable[..., UpdateImages]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    from arenite.host.update.keys import generate_key

    generate_key(tmp_path / "release.pem")

    def run(model: Model, board: str = BOARD, **options: object) -> UpdateImages:
        chosen = {"optimise": "flash", **options}
        options_of_build = UpdateOptions(tmp_path / "release.pem", "1.2.3", **chosen)  # type: ignore[arg-type]
        return build_update(save(model, tmp_path / "model.tflite"), load_board(board), options_of_build)

    return run


def payload(image: bytes | None, header_bytes: int) -> bytes:
    assert image is not None
    return image[header_bytes : header_bytes + int.from_bytes(image[12:16], "little")]


def large() -> Model:
    """Return a model with 60,000 bytes of weights that needs little RAM."""
    b = GraphBuilder(np.random.default_rng(0))
    x = b.input((1, 200), "int8", quant(0.02))
    weights = b.const(b.rng.integers(-127, 128, (300, 200)), "int8", quant(0.01))
    bias = b.const(b.rng.integers(-500, 500, 300), "int32", quant(0.0002))
    y = b.tensor((1, 300), "int8", quant(0.1))
    b.op("FULLY_CONNECTED", [x, weights, bias], [y], "FullyConnectedOptions", 4)
    return b.build()


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_a_retrained_model_changes_only_the_image_of_the_model(build: Build, board: str) -> None:
    model = classifier()
    first, second = (build(m, board) for m in (model, retrained(model, 1)))
    assert payload(first.firmware, FIRMWARE_HEADER) == payload(second.firmware, FIRMWARE_HEADER)
    assert first.abi == second.abi
    assert first.abi in (first.firmware or b"") and first.abi in first.model
    layout, ram = update_layout(load_board(board)), load_board(board).ram[0]
    stack, start = (
        int.from_bytes(payload(first.firmware, FIRMWARE_HEADER)[k : k + 4], "little") for k in (0, 4)
    )
    assert ram.origin < stack <= ram.origin + ram.size  # the payload begins with the vector table
    assert layout.firmware[0].origin < start < layout.firmware[0].end and start % 2 == 1
    assert payload(first.model, MODEL_HEADER) != payload(second.model, MODEL_HEADER)


@pytest.mark.slow
def test_the_image_of_a_model_carries_its_calibration_record(build: Build, tmp_path: Path) -> None:
    plain = build(classifier())
    digest = hashlib.sha256((tmp_path / "model.tflite").read_bytes()).hexdigest()
    record = CalibrationRecord(tmp_path / "reference.json", b'{"a": 1}', digest)
    first = build(classifier(), record=record)
    # The record is no part of the program: each model runs with the firmware of the other build.
    assert first.abi == plain.abi and first.firmware == plain.firmware
    assert payload(first.model, MODEL_HEADER) == payload(plain.model, MODEL_HEADER)
    assert record.content in first.model and len(first.model) == len(plain.model) + 4 + 8
    with pytest.raises(UsageError, match="was made for the model with the SHA-256 hash 00000000"):
        build(classifier(), record=replace(record, model="0" * 64))
    zephyr = UpdateOptions(tmp_path / "release.pem", "1.2.3", record=record)
    with pytest.raises(UsageError, match="--reference is not for nrf5340dk"):
        build_zephyr_update(tmp_path / "model.tflite", load_board("nrf5340dk"), zephyr)


@pytest.mark.slow
@pytest.mark.parametrize("optimise", ["speed", "ram", "balanced"])
def test_every_goal_keeps_weights_out_of_the_firmware(build: Build, optimise: str) -> None:
    model = classifier()
    assert build(model, optimise=optimise).abi == build(retrained(model, 2), optimise=optimise).abi


@pytest.mark.slow
def test_another_graph_has_another_abi(build: Build) -> None:
    others = (without_activation(classifier()), classifier(channels=8), classifier(size=14))
    assert len({build(model).abi for model in (classifier(), *others)}) == 4


@pytest.mark.slow
def test_models_whose_channels_are_constant_keep_the_abi(build: Build) -> None:
    """A channel whose accumulators are never positive is removed from other firmware."""
    model = classifier()
    op = model.main.ops[0]
    tensors = list(model.main.tensors)
    bias = tensors[op.inputs[2]]
    assert bias.data is not None
    dead = bias.data.copy()
    dead[:4] = -(10**8)
    tensors[op.inputs[2]] = replace(bias, data=dead)
    changed = model.with_main(replace(model.main, tensors=tuple(tensors)))
    assert build(model).abi == build(changed).abi


@needs_qemu
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_the_self_test_passes_and_finds_a_changed_weight(build: Build, tmp_path: Path, board: str) -> None:
    model = classifier()
    images, new = build(model, board), build(retrained(model, 3), board)
    assert images.firmware is not None
    for weights in (images.model, new.model):  # the old firmware runs the new model
        with run_images(board, images.firmware, weights, tmp_path) as running:
            assert running.read_until("self-test").endswith("self-test 3 samples passed")
            running.send("test")
            assert f"board {board}" in running.read_until("self-test 3 samples passed")
    other = build(with_another_bias(model), board).model
    damaged = images.model[:MODEL_HEADER] + with_wrong_weight(
        *(payload(i, MODEL_HEADER) for i in (images.model, other))
    )
    with run_images(board, images.firmware, damaged, tmp_path) as running:
        assert "self-test failed with 1" in running.read_until("self-test")


@needs_qemu
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("model", [counter, two_inputs, float_edges])
def test_the_self_test_of_states_several_inputs_and_floats(
    build: Build, tmp_path: Path, model: Callable[[], Model]
) -> None:
    images = build(model())
    assert images.firmware is not None
    with run_images(BOARD, images.firmware, images.model, tmp_path) as running:
        assert running.read_until("self-test").endswith("self-test 3 samples passed")


@needs_qemu
@pytest.mark.qemu
@pytest.mark.slow
def test_the_self_test_runs_inputs_of_a_file(build: Build, tmp_path: Path) -> None:
    x = np.random.default_rng(7).integers(-128, 128, (5, 1, 12, 12, 3), dtype=np.int8)
    archive, array = tmp_path / "x.npz", tmp_path / "x.npy"
    np.savez(archive, x=x)
    np.save(array, x)
    images = build(classifier(), golden=archive)
    assert images.model == build(classifier(), golden=array).model
    assert x[4].tobytes() in images.model
    assert images.abi == build(classifier()).abi  # the samples belong to the model
    assert images.firmware is not None
    with run_images(BOARD, images.firmware, images.model, tmp_path) as running:
        assert running.read_until("self-test").endswith("self-test 5 samples passed")


def test_mistakes_get_sentences(build: Build, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nucleo_l4r5zi has no boot loader"):
        build(classifier(), "nucleo_l4r5zi")
    many = tmp_path / "many.npy"
    np.save(many, np.zeros((MAX_SAMPLES + 1, 1, 12, 12, 3), np.int8))
    with pytest.raises(UsageError, match=r"many\.npy has 201 samples"):
        build(classifier(), golden=many)
    np.save(many, np.zeros((2, 5), np.int8))
    with pytest.raises(UsageError, match=r"'x' has shape \(2, 5\)"):
        build(classifier(), golden=many)
    many.write_bytes(b"no array")
    with pytest.raises(UsageError, match="Cannot read"):
        build(classifier(), golden=many)


@pytest.mark.slow
def test_a_model_that_is_larger_than_its_slot(build: Build) -> None:
    with pytest.raises(DoesNotFitError, match=r"[\d,]+ bytes of MODEL_SLOT more.*of the model 55,296"):
        build(large(), "qemu_microbit")


@pytest.mark.slow
def test_the_commands_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arenite.host.update.keys import generate_key

    page = (Path(__file__).parents[3] / "docs" / "update-images.md").read_text("utf-8")
    commands = re.findall(r"^    arenite ((?:update build|fleet reference) .*)$", page, re.MULTILINE)
    assert len(commands) == 5
    monkeypatch.chdir(tmp_path)
    generate_key(Path("release.pem"))
    save(classifier(), Path("model.tflite"))
    save(retrained(classifier(), 5), Path("retrained.tflite"))
    np.savez("samples.npz", x=np.zeros((2, 1, 12, 12, 3), np.int8))
    Path("calibration").mkdir()
    np.save("calibration/noise.npy", np.random.default_rng(0).integers(-128, 128, (400, 12, 12, 3), np.int8))
    assert [main(command.split()) for command in commands] == [0] * len(commands)
    for name in ("device.bin", "device.model.bin", "retrained.bin"):
        verify_image(Path(name), Path("release.public.pem"))
