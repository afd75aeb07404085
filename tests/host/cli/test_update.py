"""`arenite update`: keys, and signed images, from the command line."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.host.fleet.reference_file import image_reference
from arenite.host.update.image_file import read_image
from tests.development_models import shared_model
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.host.cli.conftest import Arenite, Run
from tests.host.small_graphs import classifier, save

pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
SIGN = ("--board", "nrf52840_dk", "--version", "1.2.3+4", "--counter", "7", "--header-bytes", "0x200")


def test_an_image_is_signed_and_verified(arenite: Arenite, tmp_path: Path) -> None:
    key, payload, image = tmp_path / "release.pem", tmp_path / "firmware.bin", tmp_path / "update.bin"
    payload.write_bytes(bytes(range(256)) * 8)
    assert arenite("update", "keygen", key).code == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    arenite("update", "keygen", key).refused(2, "never overwritten")
    signed = arenite("update", "sign", payload, "--key", key, *SIGN, "-o", image, "--json").json
    assert signed["bytes"] == image.stat().st_size > 2048 + 512
    assert (signed["kind"], signed["abi"], signed["counter"]) == ("firmware", None, 7)
    public = tmp_path / "release.public.pem"
    verified = arenite("update", "verify", image, "--key", public).out
    # MCUboot's hash of a key is that of its DER form.
    command = ["openssl", "pkey", "-pubin", "-in", str(public), "-outform", "DER"]
    own = hashlib.sha256(subprocess.run(command, check=True, capture_output=True).stdout).hexdigest()
    assert "are right" in verified and own in verified
    other, damaged = tmp_path / "other.pem", tmp_path / "damaged.bin"
    made = arenite("update", "keygen", other).out
    digest = made.split("its hash is ")[1].strip()
    arenite("update", "verify", image, "--key", other).refused(
        1, "is not valid", f"the key {own[:16]}", f"is the key {digest[:16]}", "the key is its own"
    )
    damaged.write_bytes(image.read_bytes()[:-1] + bytes([image.read_bytes()[-1] ^ 1]))
    arenite("update", "verify", damaged, "--key", public).refused(
        1, "is not valid", "that the image is whole"
    )


def test_mistakes_are_told_and_nothing_is_written(arenite: Arenite, tmp_path: Path) -> None:
    key, payload, image = tmp_path / "release.pem", tmp_path / "model.bin", tmp_path / "update.bin"
    payload.write_bytes(b"weights")
    arenite("update", "keygen", key)
    sign = ("update", "sign", payload, "--key", key, *SIGN, "-o", image)
    arenite(*sign, "--kind", "model").refused(2, "cannot be bound to a firmware")
    arenite(*sign, "--abi", "xyz").refused(2, "is not hexadecimal")
    arenite(*sign, "--abi", "0011").refused(2, "expected 32")
    arenite(*sign, "--slot-bytes", "100").refused(1, "more than its slot")
    arenite("update", "sign", tmp_path / "none.bin", "--key", key, *SIGN, "-o", image).refused(2, "none.bin")
    assert arenite(*sign, "--counter", "many").code == 2
    assert not image.exists()


def test_a_model_is_signed_with_its_calibration_record(arenite: Arenite, tmp_path: Path) -> None:
    key, payload, image = tmp_path / "release.pem", tmp_path / "weights.bin", tmp_path / "model.bin"
    payload.write_bytes(b"weights")
    arenite("update", "keygen", key)
    record = tmp_path / "reference.json"
    fields = {"schema": "arenite.reference/1", "model": "0" * 64, "samples": 3}
    record.write_text(json.dumps({**fields, "inputs": [[1, 2]], "classes": [3, 0]}))
    sign = ("update", "sign", payload, "--key", key, *SIGN, "-o", image, "--reference", record)
    arenite(*sign).refused(2, "A firmware has no calibration record")
    assert arenite(*sign, "--kind", "model", "--abi", "00" * 32).code == 0
    signed = read_image(image)
    assert signed.record is not None and json.loads(signed.record) == json.loads(record.read_text())
    assert image_reference(signed) == {"inputs": [[1, 2]], "classes": [3, 0]}
    assert arenite("update", "verify", image, "--key", key).code == 0
    for text, problem in (
        ("{", "is not JSON"),
        ('{"schema": "x"}', "is no reference"),
        (json.dumps({**fields, "inputs": [[-1]], "classes": [3]}), "reference.json is malformed"),
        (
            json.dumps({**fields, "samples": "many", "inputs": [[1]], "classes": [3]}),
            "does not tell its model",
        ),
    ):
        record.write_text(text)
        arenite(*sign, "--kind", "model", "--abi", "00" * 32).refused(2, problem)
    arenite(*sign[:-1], tmp_path / "none.json").refused(2, "none.json")


needs_compiler = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
)
BUILD = ("--board", "qemu_mps2_an386", "--version", "1.2.3+4", "--counter", "5", "--json")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "kws01"])
def test_firmware_and_model_are_built_and_the_model_alone(
    arenite: Arenite, tmp_path: Path, name: str
) -> None:
    model = shared_model("kws01_int8") if name == "kws01" else save(classifier(), tmp_path / "small.tflite")
    key, image, alone = tmp_path / "release.pem", tmp_path / "device.bin", tmp_path / "alone.bin"
    arenite("update", "keygen", key)
    built = arenite("update", "build", model, "--key", key, *BUILD, "-o", image).json
    assert (built["kind"], built["version"], built["counter"]) == ("firmware", "1.2.3+4", 5)
    assert built["model_image"] == str(tmp_path / "device.model.bin")
    only = arenite("update", "build", model, "--key", key, *BUILD, "--model-only", "-o", alone).json
    assert (only["kind"], only["abi"]) == ("model", built["abi"])
    assert alone.read_bytes() == (tmp_path / "device.model.bin").read_bytes()
    data = image.read_bytes()
    payload = data[512 : 512 + int.from_bytes(data[12:16], "little")]
    assert built["abi"] == hashlib.sha256(payload).hexdigest()
    for path, size in ((image, built["bytes"]), (alone, only["bytes"]), (alone, built["model_bytes"])):
        assert path.stat().st_size == size
        command = [
            sys.executable,
            "-m",
            "imgtool.main",
            "verify",
            "-k",
            str(tmp_path / "release.public.pem"),
            str(path),
        ]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_mistakes_in_a_build_leave_no_file(arenite: Arenite, tmp_path: Path) -> None:
    key, image = tmp_path / "release.pem", tmp_path / "device.bin"
    arenite("update", "keygen", key)
    model = save(classifier(), tmp_path / "small.tflite")

    def build(source: Path, *options: object) -> Run:
        return arenite("update", "build", source, "--key", key, "-o", image, *BUILD, *options)

    build(model, "--board", "nucleo_l4r5zi").refused(2, "no boot loader for updates")
    build(model, "--version", "1.2").refused(2, "major.minor.revision+build")
    build(model, "--key", tmp_path / "release.public.pem").refused(2, "cannot sign")
    build(model, "--golden", tmp_path / "none.npz").refused(2, "none.npz")
    build(tmp_path).refused(2, "is a folder")
    build(tmp_path / "none.tflite").refused(2, "none.tflite")
    assert build(model, "--optimise", "size").code == 2
    assert not image.exists() and not (tmp_path / "device.model.bin").exists()


def test_ecdsa_and_the_test_key(arenite: Arenite, tmp_path: Path) -> None:
    payload, image = tmp_path / "firmware.bin", tmp_path / "update.bin"
    payload.write_bytes(bytes(300))
    for options in ((), ("--type", "ecdsa-p256")):
        name = "-".join(("key", *options)).replace("--", "")
        own, test = tmp_path / f"{name}.pem", tmp_path / f"{name}.test.pem"
        arenite("update", "keygen", own, *options)
        assert "everybody has" in arenite("update", "keygen", "--test", test, *options).out
        arenite("update", "sign", payload, "--key", own, *SIGN, "-o", image)
        arenite("update", "verify", image, "--key", own)
        image.unlink()
        sign = ("update", "sign", payload, "--key", test, *SIGN, "-o", image)
        arenite(*sign).refused(2, "test key of Arenite")
        assert not image.exists()
        assert arenite(*sign, "--allow-test-key").code == 0
        arenite("update", "verify", image, "--key", test)
    assert arenite("update", "keygen", tmp_path / "rsa.pem", "--type", "rsa").code == 2
