"""The device accepts images of imgtool that obey its rules, and tells the reason for each refusal."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.firmware.sources import UPDATE
from arenite.host.update.reasons import REASONS, reason
from arenite.host.update.signed_image import TLV_RECORD, ImageProperties
from tests.firmware.update import image_check
from tests.firmware.update.image_check import (
    ABI,
    ADDRESS,
    ALGORITHMS,
    BOARD,
    FIRMWARE,
    HAS_IMGTOOL,
    MIN_COUNTER,
    MODEL,
    NO_IMGTOOL,
    Rules,
    check,
)

pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
TLV_SIGNATURE = {"ed25519": 0x24, "ed25519-small": 0x24, "ecdsa-p256": 0x22}
_algorithm = ALGORITHMS[0]


@pytest.fixture(params=ALGORITHMS, autouse=True)
def algorithm(request: pytest.FixtureRequest) -> str:
    """Each test is run with each algorithm."""
    global _algorithm
    _algorithm = request.param
    return _algorithm


def signed(properties: ImageProperties, payload_bytes: int = 300) -> bytes:
    return image_check.signed(properties, payload_bytes, algorithm=_algorithm)


def public_key() -> bytes:
    return image_check.public_key(_algorithm)


def result_of(slot: bytes, **changes: Any) -> str:
    """Return the name of the result for a slot of a model."""
    result, image, _ = check(slot, replace(Rules(public_key()), **changes), algorithm=_algorithm)
    assert result == 0 or bytes(image) == bytes(len(bytes(image))), "a refused image must leave no traces"
    return REASONS[result][0]


def with_header(image: bytes, offset: int, form: str, value: int) -> bytes:
    changed = bytearray(image)
    struct.pack_into(form, changed, offset, value)
    return bytes(changed)


def tlvs(image: bytes) -> tuple[int, int]:
    """Return the offsets of the protected and the unprotected area."""
    header, protected, payload = struct.unpack_from("<HHI", image, 8)
    return header + payload, header + payload + protected


def with_areas(
    image: bytes, protected: list[tuple[int, bytes]], unprotected: list[tuple[int, bytes]]
) -> bytes:
    """Return the image with other TLVs and the right lengths."""
    start, _ = tlvs(image)
    bodies = [
        b"".join(struct.pack("<HH", kind, len(value)) + value for kind, value in area)
        for area in (protected, unprotected)
    ]
    areas = [
        struct.pack("<HH", magic, 4 + len(body)) + body
        for magic, body in zip((0x6908, 0x6907), bodies, strict=True)
    ]
    return with_header(image, 10, "<H", len(areas[0]))[:start] + areas[0] + areas[1]


def areas_of(image: bytes) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """Return the TLVs of both areas."""
    result: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]] = ([], [])
    for at, area in zip(tlvs(image), result, strict=True):
        end = at + struct.unpack_from("<H", image, at + 2)[0]
        at += 4
        while at < end:
            kind, size = struct.unpack_from("<HH", image, at)
            area.append((kind, image[at + 4 : at + 4 + size]))
            at += 4 + size
    return result


def test_a_model_is_accepted_with_all_its_properties() -> None:
    data = signed(MODEL)
    result, image, reads = check(data + b"\xff" * 50, Rules(public_key()), algorithm=_algorithm)
    assert REASONS[result][0] == "OK"
    assert (image.bytes, image.header_bytes, image.payload_bytes) == (len(data), 32, 300)
    assert (image.counter, image.kind, bytes(image.abi)) == (4294967295, 2, ABI)
    assert (image.major, image.minor, image.revision, image.build) == (2, 0, 65535, 4294967295)
    _, unprotected = tlvs(data)
    assert bytes(image.hash) == hashlib.sha256(data[:unprotected]).digest()
    assert max(count for _, count in reads) <= 72


def test_firmware_is_accepted_with_and_without_a_hash_of_its_model_and_an_address() -> None:
    firmware = signed(FIRMWARE)
    assert result_of(firmware, kind=1, abi=None) == "OK"
    assert result_of(firmware, kind=1) == "NO_ABI"
    linked = signed(replace(FIRMWARE, abi=ABI, address=ADDRESS))
    assert result_of(linked, kind=1) == "OK"
    assert result_of(linked, kind=1, address=ADDRESS + 4) == "ADDRESS"


def test_the_slot_may_end_with_the_image_but_not_before() -> None:
    image = signed(MODEL)
    assert result_of(image) == "OK"
    for length in range(len(image)):
        assert result_of(image[:length]) != "OK", length


@pytest.mark.parametrize("payload_bytes", [1, 23, 31, 63, 64, 65, 40_000, 70_000])
def test_payloads_of_any_length(payload_bytes: int) -> None:
    assert result_of(signed(MODEL, payload_bytes)) == "OK"


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("foreign firmware", 1, "KEY"),
        ("foreign model", 2, "KEY"),
        ("older firmware", 1, "COUNTER"),
        ("older model", 2, "COUNTER"),
        ("firmware of another board", 1, "BOARD"),
        ("model of another board", 2, "BOARD"),
        ("model of another graph", 2, "ABI"),
        ("firmware with another graph", 1, "ABI"),
        ("model of another graph", 1, "KIND"),
        ("model with another algorithm", 2, "TLV_TYPE"),
    ],
)
def test_signed_images_that_break_a_rule(name: str, kind: int, expected: str) -> None:
    abi = ABI if kind == 2 or "graph" in name else None
    assert result_of(image_check.refused_images(_algorithm)[name], kind=kind, abi=abi) == expected


def test_rules_of_the_device() -> None:
    image = signed(MODEL)
    assert result_of(image, abi=None) == "OK"
    assert result_of(image, min_counter=4294967295) == "OK"
    assert result_of(signed(replace(MODEL, counter=MIN_COUNTER))) == "OK"
    assert result_of(image, kind=1) == "KIND"
    assert result_of(image, kind=3) == "RULES"
    assert result_of(image, board=BOARD[:-1]) == "BOARD"
    assert result_of(image, board=BOARD + "x") == "BOARD"
    assert result_of(image, public_key=bytes(len(public_key()))) == "KEY"


@pytest.mark.parametrize(
    ("offset", "form", "value", "expected"),
    [
        (0, "<I", 0x96F3B83C, "MAGIC"),
        (0, "<I", 0xFFFFFFFF, "MAGIC"),
        (4, "<I", 0x20000000, "ADDRESS"),
        (8, "<H", 31, "HEADER_SIZE"),
        (8, "<H", 65535, "HEADER_SIZE"),
        (10, "<H", 0, "PROTECTED_AREA"),
        (10, "<H", 3, "PROTECTED_AREA"),
        (10, "<H", 65535, "PROTECTED_AREA"),
        (12, "<I", 0, "SIZE"),
        (12, "<I", 0xFFFFFFFF, "SIZE"),
        (12, "<I", 0xFFFFFFE0, "SIZE"),
        *((16, "<I", flag, "FLAGS") for flag in (1, 4, 8, 0x10, 0x20, 0x200, 0x400, 0x800, 0x80000000)),
        (16, "<I", 0x100, "ADDRESS"),
        (20, "<B", 3, "HASH"),
        (28, "<I", 1, "HASH"),
    ],
)
def test_fields_of_the_header(offset: int, form: str, value: int, expected: str) -> None:
    assert result_of(with_header(signed(MODEL), offset, form, value)) == expected


def test_each_tlv_must_be_there_once_in_its_area_with_its_length(algorithm: str) -> None:
    image, signature = signed(MODEL), TLV_SIGNATURE[algorithm]
    areas = areas_of(image)
    names = {0x50: "COUNTER", 0xA0: "BOARD", 0xA1: "ABI", 0xA2: "KIND"}
    names |= {0x10: "HASH", 0x01: "KEY_HASH", signature: "SIGNATURE"}
    kinds = [[kind for kind, _ in area] for area in areas]
    assert kinds == [[0x50, 0xA0, 0xA2, 0xA1], [0x10, 0x01, signature]]
    for number, area in enumerate(areas):
        for k, (kind, value) in enumerate(area):

            def changed(*entries: tuple[int, bytes], number: int = number, k: int = k) -> bytes:
                parts = [list(areas[0]), list(areas[1])]
                parts[number][k : k + 1] = entries
                return with_areas(image, parts[0], parts[1])

            assert changed((kind, value)) == image
            assert result_of(changed()) == "NO_" + names[kind]
            assert result_of(changed((kind, value), (kind, value))) == "TLV_TWICE"
            assert result_of(changed((kind, b""))) == "TLV_LENGTH"
            assert result_of(changed((kind, value + bytes(60)))) == "TLV_LENGTH"
            parts = [list(areas[0]), list(areas[1])]
            parts[1 - number].append(parts[number].pop(k))
            assert result_of(with_areas(image, parts[0], parts[1])) == "TLV_TYPE"


def test_unknown_tlvs_are_ignored_only_if_they_are_signed_and_ask_for_nothing(algorithm: str) -> None:
    image = signed(MODEL)
    protected, unprotected = areas_of(image)
    for kind in (0xA3, 0xFF, 0x1A0, 0xFFFE, 0x60, 0x74, 0x75):
        more = (kind, b"any value")
        assert result_of(with_areas(image, [*protected, more], unprotected)) == "HASH"
        assert result_of(with_areas(image, protected, [*unprotected, more])) == "TLV_TYPE"
    (other,) = set(TLV_SIGNATURE.values()) - {TLV_SIGNATURE[algorithm]}
    for kind in (0x02, 0x11, other, 0x25, 0x30, 0x40, 0x70, 0x150, 0x110):
        more = (kind, bytes(32))
        assert result_of(with_areas(image, [*protected, more], unprotected)) == "TLV_TYPE"
        assert result_of(with_areas(image, protected, [*unprotected, more])) == "TLV_TYPE"


def test_lengths_in_the_areas() -> None:
    image = signed(MODEL)
    for area, expected in zip(tlvs(image), ("PROTECTED_AREA", "UNPROTECTED_AREA"), strict=True):
        assert result_of(with_header(image, area, "<H", 0x6909)) == expected
        for size in (0, 3, 65535):
            assert result_of(with_header(image, area + 2, "<H", size)) == expected
        for size in (1000, 65535):
            assert result_of(with_header(image, area + 6, "<H", size)) == "TLV_END"
    _, unprotected = tlvs(image)
    shorter = struct.unpack_from("<H", image, unprotected + 2)[0] - len(areas_of(image)[1][-1][1]) - 1
    assert result_of(with_header(image, unprotected + 2, "<H", shorter)) == "TLV_END"


def test_a_read_that_fails_is_told() -> None:
    image = signed(MODEL)
    _, _, reads = check(image, Rules(public_key()), algorithm=_algorithm)
    for k in range(len(reads)):
        result, _, _ = check(image, Rules(public_key()), fail_read=k, algorithm=_algorithm)
        assert REASONS[result][0] == "READ"


def test_a_changed_image_with_its_right_hash_has_a_wrong_signature() -> None:
    image = bytearray(signed(MODEL))
    image[40] ^= 1
    _, unprotected = tlvs(bytes(image))
    image[unprotected + 8 : unprotected + 40] = hashlib.sha256(image[:unprotected]).digest()
    assert result_of(bytes(image)) == "SIGNATURE"


@pytest.mark.parametrize(
    "option", ["--pure", "--sha=512", "--public-key-format=full", "--load-addr=0x20000000", "--non-bootable"]
)
def test_other_variants_of_imgtool_are_refused(option: str, algorithm: str, tmp_path: Path) -> None:
    if algorithm == "ecdsa-p256" and option in ("--pure", "--sha=512"):
        pytest.skip("imgtool has this option for Ed25519 only")
    source, target = tmp_path / "payload.bin", tmp_path / "image.bin"
    source.write_bytes(bytes(100))
    command = [
        sys.executable,
        "-m",
        "imgtool.main",
        "sign",
        f"--key={image_check.keys(algorithm)[0]}",
        "--version=1.0.0",
    ]
    command += ["--header-size=32", "--pad-header", "--slot-size=4096", "--security-counter=9"]
    command += ["--custom-tlv", "0xa0", BOARD, "--custom-tlv", "0xa1", "0x" + ABI.hex()]
    command += ["--custom-tlv", "0xa2", "0x02"]
    subprocess.run([*command, str(source), str(target)], check=True, capture_output=True)
    assert result_of(target.read_bytes()) == "OK"
    subprocess.run([*command, option, str(source), str(target)], check=True, capture_output=True)
    assert result_of(target.read_bytes()) in ("TLV_TYPE", "FLAGS")


def test_the_host_has_a_sentence_for_each_result() -> None:
    header = UPDATE.read("image.h")
    names = {int(number): name for name, number in re.findall(r"AR_IMAGE_(\w+) = (\d+)[,\n]", header)}
    enum = header[header.index("AR_IMAGE_OK") : header.index("AR_IMAGE_SIGNATURE")]
    assert len(re.findall(r"AR_IMAGE_\w+ = ", enum)) + 1 == len(REASONS)
    assert {number: names[number] for number in REASONS if number > 2} == {
        number: name for number, (name, _) in REASONS.items() if number > 2
    }
    assert reason(22) == "The image was made for another board."
    assert "99" in reason(99)


def test_a_calibration_record_is_a_part_of_what_is_signed() -> None:
    record = json.dumps({"schema": "arenite.reference/1", "classes": [1] * 64}).encode()
    image = signed(replace(MODEL, record=record))
    assert result_of(image) == "OK"
    at = image.index(record)
    assert result_of(image[:at] + b"[" + image[at + 1 :]) == "HASH"
    # Other devices and tools find it by its type.
    assert image[at - 4 : at] == struct.pack("<HH", TLV_RECORD, len(record))
