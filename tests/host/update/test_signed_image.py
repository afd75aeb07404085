"""imgtool accepts the images that the host makes, and mistakes get a sentence."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest

from arenite.errors import DoesNotFitError, UsageError
from arenite.host.cli.main import main
from arenite.host.update.image_file import read_image
from arenite.host.update.signed_image import (
    MAX_RECORD_BYTES,
    ImageNotValidError,
    ImageProperties,
    sign_image,
    verify_image,
)

pytest.importorskip("cryptography", reason="needs cryptography: pip install 'arenite[update]'")
from arenite.host.update.keys import KEY_TYPES, generate_key, key_type_of, read_public_key

MODEL = ImageProperties("1.2.3+4", 7, "nrf52840_dk", "model", bytes(range(32)))
needs_imgtool = pytest.mark.skipif(
    util.find_spec("imgtool") is None, reason="needs imgtool: pip install 'arenite[update]'"
)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    generate_key(tmp_path / "release.pem")
    return tmp_path / "release.pem"


def test_a_key_pair_is_private_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "release.pem"
    public_path = generate_key(path)
    assert public_path == tmp_path / "release.public.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"PRIVATE" in path.read_bytes() and b"PRIVATE" not in public_path.read_bytes()
    assert read_public_key(path) == read_public_key(public_path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"release\.pem exists"):
        generate_key(path)
    path.unlink()
    with pytest.raises(UsageError, match=r"release\.public\.pem exists"):
        generate_key(path)
    assert not path.exists()
    assert generate_key(tmp_path / "other.pem").exists()
    assert (tmp_path / "other.pem").read_bytes() != before


def test_keys_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write the key"):
        generate_key(tmp_path / "none" / "release.pem")
    with pytest.raises(UsageError, match="Cannot read the key"):
        read_public_key(tmp_path / "none.pem")
    (tmp_path / "text.pem").write_text("hello")
    with pytest.raises(UsageError, match="not a key in PEM format"):
        read_public_key(tmp_path / "text.pem")


def test_keys_of_other_types_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key, locked = tmp_path / "key.pem", serialization.BestAvailableEncryption(b"secret")
    for curve in (ec.SECP384R1(), ec.SECP256K1()):
        key.write_bytes(ec.generate_private_key(curve).private_bytes(*form, serialization.NoEncryption()))
        with pytest.raises(UsageError, match="another type than Ed25519 or ECDSA P-256"):
            read_public_key(key)
    with pytest.raises(UsageError, match="no type of key 'rsa'"):
        generate_key(tmp_path / "rsa.pem", "rsa")
    key.write_bytes(ed25519.Ed25519PrivateKey.generate().private_bytes(*form, locked))
    with pytest.raises(UsageError, match="has a password"):
        read_public_key(key)


@needs_imgtool
def test_imgtool_verifies_the_image(key: Path, tmp_path: Path) -> None:
    image = tmp_path / "image.bin"
    data = sign_image(b"payload" * 99, MODEL, key, 4096)
    image.write_bytes(data)
    assert len(data) == MODEL.image_bytes(7 * 99)
    verify_image(image, key.with_name("release.public.pem"))
    verify_image(image, key)
    generate_key(tmp_path / "foreign.pem")
    with pytest.raises(ImageNotValidError, match="is not valid") as refused:
        verify_image(image, tmp_path / "foreign.pem")
    assert refused.value.exit_code == 1
    image.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    with pytest.raises(ImageNotValidError, match="invalid hash"):
        verify_image(image, key)
    with pytest.raises(UsageError, match="There is no image"):
        verify_image(tmp_path / "none.bin", key)


@needs_imgtool
@pytest.mark.parametrize("record", [b"{}", b"r" * MAX_RECORD_BYTES])
def test_imgtool_verifies_an_image_with_a_calibration_record(
    key: Path, tmp_path: Path, record: bytes
) -> None:
    image, properties = tmp_path / "image.bin", replace(MODEL, record=record)
    data = sign_image(b"payload" * 99, properties, key, 8192)
    image.write_bytes(data)
    assert len(data) == properties.image_bytes(7 * 99) == MODEL.image_bytes(7 * 99) + 4 + len(record)
    verify_image(image, key)
    assert read_image(image).record == record
    image.write_bytes(sign_image(b"payload" * 99, MODEL, key, 4096))
    assert read_image(image).record is None


@needs_imgtool
def test_imgtool_verifies_images_with_ecdsa(tmp_path: Path) -> None:
    """The length of such a signature varies, so several images are signed."""
    key, image = tmp_path / "release.pem", tmp_path / "image.bin"
    public_path = generate_key(key, "ecdsa-p256")
    assert key_type_of(read_public_key(public_path)) == "ecdsa-p256"
    max_bytes = MODEL.image_bytes(7 * 99, "ecdsa-p256")
    for _ in range(8):
        data = sign_image(b"payload" * 99, MODEL, key, max_bytes)
        assert max_bytes - 6 <= len(data) <= max_bytes
        image.write_bytes(data)
        verify_image(image, public_path)
    with pytest.raises(DoesNotFitError, match="1 bytes more"):
        sign_image(b"payload" * 99, MODEL, key, max_bytes - 1)
    generate_key(tmp_path / "foreign.pem", "ecdsa-p256")
    with pytest.raises(ImageNotValidError, match="is not valid"):
        verify_image(image, tmp_path / "foreign.pem")


@needs_imgtool
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_the_published_test_key_is_refused_unless_it_is_allowed(key_type: str, tmp_path: Path) -> None:
    for name in ("test.pem", "again.pem"):
        generate_key(tmp_path / name, key_type, test=True)
    key, image = tmp_path / "test.pem", tmp_path / "image.bin"
    assert read_public_key(key) == read_public_key(tmp_path / "again.pem")
    assert b"TEST KEY" in key.read_bytes() and b"TEST KEY" in (tmp_path / "test.public.pem").read_bytes()
    # The key is known by itself, not by the text in its file.
    bare = key.read_bytes()
    (tmp_path / "bare.pem").write_bytes(bare[bare.index(b"-----BEGIN") :])
    for name in ("test.pem", "bare.pem"):
        with pytest.raises(UsageError, match=r"test key of Arenite\. Everybody has it") as error:
            sign_image(b"x", MODEL, tmp_path / name, 4096)
        assert "--allow-test-key" in error.value.hint
    image.write_bytes(sign_image(b"x", MODEL, key, 4096, allow_test_key=True))
    verify_image(image, tmp_path / "test.public.pem")


@needs_imgtool
@pytest.mark.parametrize("abi", [None, bytes(32)])
def test_an_image_may_fill_its_slot_but_not_exceed_it(key: Path, abi: bytes | None) -> None:
    properties = replace(MODEL, kind="firmware", abi=abi, header_bytes=512, address=0x8000)
    payload = bytes(4096 - properties.image_bytes(0))
    assert len(sign_image(payload, properties, key, 4096)) == 4096
    with pytest.raises(DoesNotFitError, match="1 bytes more"):
        sign_image(payload + b"\0", properties, key, 4096)


def test_a_public_key_or_an_empty_payload_cannot_be_signed(key: Path) -> None:
    with pytest.raises(UsageError, match="cannot sign"):
        sign_image(b"x", MODEL, key.with_name("release.public.pem"), 4096)
    with pytest.raises(UsageError, match="is empty"):
        sign_image(b"", MODEL, key, 4096)


def test_the_error_names_the_extra_if_imgtool_is_missing(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"arenite\[update\]"):
        sign_image(b"x", MODEL, key, 4096)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "1.2"}, "major.minor.revision"),
        ({"version": "256.0.0"}, "major.minor.revision"),
        ({"version": "1.0.0+4294967296"}, "major.minor.revision"),
        ({"version": "1.0.0\n"}, "major.minor.revision"),
        ({"counter": -1}, "security counter is -1"),
        ({"counter": 2**32}, "security counter is 4294967296"),
        ({"board": ""}, "expected 1 to 64"),
        ({"board": "ä" * 33}, "has 66 bytes"),
        ({"kind": "other"}, "kind of the image is 'other'"),
        ({"abi": None}, "cannot be bound"),
        ({"abi": bytes(31)}, "has 31 bytes"),
        ({"header_bytes": 16}, "header size is 16"),
        ({"address": 2**32}, "address is 4294967296"),
        ({"record": b""}, "has 0 bytes"),
        ({"record": bytes(MAX_RECORD_BYTES + 1)}, "has 4,097 bytes"),
        ({"record": b"{}", "kind": "firmware"}, "A firmware has no calibration record"),
    ],
)
def test_properties_that_no_image_can_have(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(MODEL, **changes)  # type: ignore[arg-type]


@needs_imgtool
def test_the_code_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "update-images.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^    arenite (update (?!build).*?)(?: +#.*)?$", page, re.MULTILINE)
    assert len(blocks) == 1 and [c.split()[1] for c in commands] == [*["keygen"] * 3, "sign", "verify"]
    monkeypatch.chdir(tmp_path)
    Path("firmware.bin").write_bytes(bytes(1000))
    assert [main(command.split()) for command in commands] == [0] * 5
    signed = Path("update.bin").read_bytes()
    exec(blocks[0], {})
    assert Path("update.bin").read_bytes() == signed  # Ed25519 signatures are deterministic
    verify_image(Path("update.bin"), Path("release.public.pem"))
