"""`arenite app` with --updates: what it refuses, the signed images of `arenite build`, and their sizes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.host.link.transport import SerialTransport
from arenite.host.update.image_file import read_image
from arenite.host.update.keys import generate_key
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.app.motion_models import WINDOW, motion_model, motions
from tests.host.app.sound_models import sound_model
from tests.host.cli.conftest import Arenite
from tests.host.cli.emulated_device import emulated, skip_without_tools
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("cryptography", reason="needs cryptography: pip install 'arenite[update]'")
BOARD = "qemu_mps2_an386"
needs_tools = pytest.mark.skipif(
    not HAS_IMGTOOL or shutil.which("arm-none-eabi-gcc") is None,
    reason=f"arm-none-eabi-gcc is not installed, or {NO_IMGTOOL}",
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    generate_key(tmp_path / "release.pem")
    return tmp_path / "release.pem"


def test_mistakes_are_told_and_nothing_is_written(arenite: Arenite, tmp_path: Path, key: Path) -> None:
    image, folder, test_key = tmp_path / "wrist.tflite", tmp_path / "app", tmp_path / "test.pem"
    motion_model(image)
    generate_key(test_key, test=True)
    app = ("app", image, "-o", folder, "--board", BOARD)
    updates = ("--updates", key, "--version", "1.0.0")
    arenite(*app, "--version", "1.0.0").refused(2, "--version is for", "--updates KEY")
    arenite(*app, "--counter", "0", "--allow-test-key").refused(2, "--counter and --allow-test-key are for")
    arenite(*app, "--updates", key).refused(2, "--version")
    arenite(*app, "--updates", key, "--version", "1.x").refused(2, "1.x")
    arenite(*app, "--updates", tmp_path / "none.pem", "--version", "1.0.0").refused(2, "none.pem")
    arenite(*app, "--updates", tmp_path / "release.public.pem", "--version", "1.0.0").refused(2, "public key")
    arenite(*app, "--updates", image, "--version", "1.0.0").refused(2, "wrist.tflite")
    arenite(*app, "--updates", test_key, "--version", "1.0.0").refused(2, "test key", "--allow-test-key")
    arenite(*app, *updates, "--golden", tmp_path / "none.npz").refused(2, "none.npz")
    arenite(*app, *updates, "--project", "cmake").refused(2, "arenite build")
    arenite(*app, *updates, "--cascade", image).refused(2, "cascade")
    arenite(*app, *updates, "--sensor", "camera").refused(2, "camera", "microphone, imu or adc")
    arenite("app", image, "-o", folder, "--board", "pico", *updates).refused(2, "pico", "emulated")
    head = AnomalyHead()
    sound_model(tmp_path / "ear.tflite", anomaly=head)
    arenite("app", tmp_path / "ear.tflite", "-o", folder, "--board", BOARD, *updates).refused(2, "anomaly")
    assert not folder.exists()


def test_another_model_or_kind_of_application_does_not_replace_it(
    arenite: Arenite, tmp_path: Path, key: Path
) -> None:
    folder, updates = tmp_path / "app", ("--updates", key, "--version", "1.0.0")
    for name in ("wrist", "other"):
        motion_model(tmp_path / f"{name}.tflite")
    app = ("app", tmp_path / "wrist.tflite", "-o", folder, "--board", BOARD)
    assert arenite(*app, *updates, "--json").json["updates"] is True
    main = folder / "src/main.c"
    main.write_text(f"{main.read_text()}/* mine */\n")
    assert arenite(*app, *updates).code == 0
    arenite(*app[:1], tmp_path / "other.tflite", *app[2:], *updates).refused(2, "other", "wrist", "--replace")
    assert arenite(*app, "--json").json["updates"] is False
    assert (folder / "CMakeLists.txt").is_file() and not list(folder.glob("lib/update/*"))
    assert main.read_text().endswith("/* mine */\n")


@needs_tools
@pytest.mark.slow
def test_the_images_have_the_predicted_sizes(arenite: Arenite, tmp_path: Path, key: Path) -> None:
    image, folder = tmp_path / "wrist.tflite", tmp_path / "app"
    motion_model(image)
    updates = ("--updates", key, "--version", "2.3.4", "--counter", "7")
    for optimise in ("balanced", "flash"):
        arenite("app", image, "-o", folder, "--board", BOARD, *updates, "--optimise", optimise)
        predicted = arenite("fit", image, "--app", folder, "--json").json["app"]["slots"]
        built = arenite("build", folder, "--json").json["images"]
        for kind in ("firmware", "model"):
            signed = read_image(folder / f"build/{kind}.bin")
            assert (signed.kind, signed.version, signed.counter) == (kind, "2.3.4", 7)
            assert signed.abi is not None and signed.abi.hex() == built["abi"]
            assert predicted[kind]["needed"] == built[kind]["bytes"] == len(signed.data)
    assert "other" not in arenite("build", folder).out
    (folder / "src/main.c").write_text("int main(void) { return 0 }\n")
    arenite("fit", image, "--app", folder).refused(3, "does not compile")
    key.unlink()
    arenite("fit", image, "--app", folder).refused(3, "does not compile")


@needs_tools
@pytest.mark.slow
def test_a_missing_key_or_a_damaged_manifest_is_told(arenite: Arenite, tmp_path: Path, key: Path) -> None:
    image, folder = tmp_path / "wrist.tflite", tmp_path / "app"
    motion_model(image)
    arenite("app", image, "-o", folder, "--board", BOARD, "--updates", key, "--version", "1.0.0")
    key.rename(tmp_path / "away.pem")
    arenite("build", folder).refused(2, "release.pem", "Put it back")
    manifest = json.loads((folder / "arenite.json").read_text())
    manifest["updates"]["counter"] = "7"
    (folder / "arenite.json").write_text(json.dumps(manifest))
    arenite("build", folder).refused(2, "how its images are signed")
    assert not (folder / "build").exists()


@needs_tools
@pytest.mark.slow
@pytest.mark.qemu
def test_an_emulated_device_plays_a_recording_as_the_docs_tell(
    arenite: Arenite, tmp_path: Path, key: Path
) -> None:
    skip_without_tools("ed25519")
    image, folder, recording = tmp_path / "wrist.tflite", tmp_path / "app", tmp_path / "motions.npy"
    motion_model(image)
    np.save(recording, motions(30))
    arenite("app", image, "-o", folder, "--board", BOARD, "--updates", key, "--version", "1.0.0")
    assert arenite("build", folder).code == 0
    images = (folder / "build/firmware.bin", folder / "build/model.bin")
    device = (tmp_path / "flash.bin", "--board", BOARD, "--key", key, "--new", *images)
    emulate = ("update", "emulate", *device)
    arenite(*emulate, "--play", recording).refused(2, "--app and --play")
    arenite(*emulate, "--app", folder, "--play", tmp_path / "none.npy").refused(2, "none.npy")
    arenite(*emulate, "--app", tmp_path, "--play", recording).refused(2, "arenite.json")
    playing = emulated(*device, "--app", folder, "--play", recording)
    with playing as running, SerialTransport(running["port"], 115200) as transport:
        board = SlotBoard(transport)
        board.read_until_match(r"\[\d+\.\d+ s\] \w+ \d+% ")
        board.send("status")
        assert int(board.read_until_match(r"\d+ samples, ").splitlines()[-1].split()[0]) >= WINDOW
    with emulated(*device[:5]) as running, SerialTransport(running["port"], 115200) as transport:
        board = SlotBoard(transport)
        board.read_until("The sensor did not start: problem 1")  # there is no recording
        board.send("status")
        board.read_until_match(r"0 samples, ")
