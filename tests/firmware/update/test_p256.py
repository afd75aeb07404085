"""The check of ECDSA signatures accepts those of the package cryptography, and nothing that is not exactly one."""

from __future__ import annotations

import ctypes
import random

import pytest

from tests.firmware.update.image_check import library

pytest.importorskip("cryptography", reason="needs cryptography: pip install 'arenite[update]'")
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

#: The order of the group of points, and the prime of its field.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRIME = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
HASHED = ec.ECDSA(Prehashed(SHA256()))


def is_valid(signature: bytes, public_key: bytes, digest: bytes) -> bool:
    data = ctypes.create_string_buffer(signature, max(len(signature), 72))  # the check overwrites it
    return bool(library("ecdsa-p256").ar_signature_check(data, len(signature), public_key, digest))


def is_valid_for_cryptography(signature: bytes, public_key: bytes, digest: bytes) -> bool:
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + public_key)
    try:
        key.verify(signature, digest, HASHED)
    except InvalidSignature:
        return False
    return True


def public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:]


def number_in_der(value: int) -> bytes:
    body = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(body)]) + body


def in_der(r: int, s: int) -> bytes:
    body = number_in_der(r) + number_in_der(s)
    return b"\x30" + bytes([len(body)]) + body


def key_with_secret(secret: int) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(secret, ec.SECP256R1())


def test_signatures_of_another_implementation_are_accepted_and_changed_ones_refused() -> None:
    choose = random.Random(1)
    lengths = set()
    for _ in range(150):
        key = key_with_secret(choose.randrange(1, ORDER))
        public, digest = public_bytes(key), choose.randbytes(32)
        signature = key.sign(digest, HASHED)
        lengths.add(len(signature))
        assert is_valid(signature, public, digest)
        for part in range(3):
            values = [bytearray(signature), bytearray(public), bytearray(digest)]
            values[part][choose.randrange(len(values[part]))] ^= 1 << choose.randrange(8)
            assert not is_valid(*map(bytes, values))
    assert lengths >= {70, 71, 72}


Point = tuple[int, int] | None


def add(p: Point, q: Point) -> Point:
    """Return the sum of two points."""
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % PRIME == 0:
        return None
    rise, run = (3 * p[0] ** 2 - 3, 2 * p[1]) if p == q else (q[1] - p[1], q[0] - p[0])
    slope = rise * pow(run, -1, PRIME) % PRIME
    x = (slope**2 - p[0] - q[0]) % PRIME
    return x, (slope * (p[0] - x) - p[1]) % PRIME


def multiply(factor: int, p: Point) -> Point:
    result: Point = None
    for bit in bin(factor)[2:]:
        result = add(result, result)
        result = add(result, p) if bit == "1" else result
    return result


def signature_with_x(x: int, s: int) -> tuple[bytes, bytes, bytes]:
    """Return a signature with the number ``s`` whose point has the first x from ``x`` on that is on the curve, with its
    public key and digest. The public key is computed from the signature."""
    numbers = key_with_secret(1).public_key().public_numbers()
    generator = numbers.x, numbers.y
    b = (generator[1] ** 2 - generator[0] ** 3 + 3 * generator[0]) % PRIME
    while True:
        y = pow(x**3 - 3 * x + b, (PRIME + 1) // 4, PRIME)
        if (y * y - x**3 + 3 * x - b) % PRIME == 0 and x % ORDER != 0:
            break
        x += 1
    # With a digest equal to s, the point is G + r / s * Q.
    r = x % ORDER
    key = multiply(s * pow(r, -1, ORDER) % ORDER, add((x, y), (generator[0], -generator[1] % PRIME)))
    assert key is not None
    return in_der(r, s), key[0].to_bytes(32, "big") + key[1].to_bytes(32, "big"), s.to_bytes(32, "big")


def small_signature() -> tuple[bytes, bytes, bytes]:
    return signature_with_x(1, 7)


@pytest.mark.parametrize("x", [1, 2**64, 2**128, ORDER - 20, ORDER, ORDER + 1, ORDER + 2**120, PRIME - 30])
@pytest.mark.parametrize("s", [1, 2, 127, 128, 255, 256, 2**128, 2**255, ORDER // 2, ORDER - 1])
def test_numbers_of_any_length_are_accepted(x: int, s: int) -> None:
    """An x from ORDER on is reduced to a short number."""
    signature, public, digest = signature_with_x(x, s)
    assert is_valid_for_cryptography(signature, public, digest)
    assert is_valid(signature, public, digest)
    assert not is_valid(signature, public, bytes(31) + b"\3")
    r, _ = decode_dss_signature(signature)
    for other in (r + ORDER, ORDER - r):
        assert not is_valid(in_der(other, s), public, digest)


@pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, ORDER.to_bytes(32, "big"), b"\0" * 31 + b"\1"])
@pytest.mark.parametrize("secret", [1, 2, ORDER - 1, ORDER - 2])
def test_extreme_hashes_and_keys(digest: bytes, secret: int) -> None:
    key = key_with_secret(secret)
    for _ in range(4):
        assert is_valid(key.sign(digest, HASHED), public_bytes(key), digest)


def test_points_that_meet_in_the_last_addition() -> None:
    """u1 * G and u2 * Q are equal, so that their sum is a doubling, or opposite, so that it is no point."""
    choose = random.Random(2)
    for _ in range(20):
        secret, nonce = choose.randrange(1, ORDER), choose.randrange(1, ORDER)
        r = key_with_secret(nonce).public_key().public_numbers().x % ORDER
        # The signature is valid if s * nonce = digest + r * secret. Both addends are equal here.
        digest = r * secret % ORDER
        s = 2 * digest * pow(nonce, -1, ORDER) % ORDER
        public = public_bytes(key_with_secret(secret))
        assert is_valid_for_cryptography(in_der(r, s), public, digest.to_bytes(32, "big"))
        assert is_valid(in_der(r, s), public, digest.to_bytes(32, "big"))
        opposite = (-digest % ORDER).to_bytes(32, "big")
        for any_s in (s, 1, ORDER - 1, choose.randrange(1, ORDER)):
            assert not is_valid(in_der(r, any_s), public, opposite)


def test_the_other_signature_of_the_same_content_is_valid_as_everywhere() -> None:
    """With (r, s), ECDSA also accepts (r, ORDER - s). No other content is signed by it."""
    key = key_with_secret(99)
    digest = bytes(range(32))
    r, s = decode_dss_signature(key.sign(digest, HASHED))
    other = in_der(r, ORDER - s)
    assert is_valid(other, public_bytes(key), digest)
    assert is_valid_for_cryptography(other, public_bytes(key), digest)
    assert not is_valid(other, public_bytes(key), bytes(32))


def test_numbers_out_of_range_are_refused() -> None:
    key = key_with_secret(4711)
    public, digest = public_bytes(key), bytes(range(1, 33))
    r, s = decode_dss_signature(key.sign(digest, HASHED))
    limits = [0, 1, 2, ORDER - 1, ORDER, ORDER + 1, PRIME - 1, PRIME, PRIME + 1, 2**255, 2**256 - 1, 2**256]
    for number in limits:
        assert not is_valid(in_der(number, s), public, digest)
        assert not is_valid(in_der(r, number), public, digest)
        for other in limits:
            assert not is_valid(in_der(number, other), public, digest)
            assert not is_valid(in_der(number, other), public, bytes(32))
    for first, second in ((r + ORDER, s), (r, s + ORDER), (s, r)):
        assert not is_valid(in_der(first, second), public, digest)


def test_signatures_that_are_not_in_der_are_refused() -> None:
    signature, public, digest = small_signature()
    r, s = decode_dss_signature(signature)
    first, second = number_in_der(r), number_in_der(s)

    def sequence(*parts: bytes) -> bytes:
        body = b"".join(parts)
        return b"\x30" + bytes([len(body)]) + body

    def padded(number: bytes, zeros: int) -> bytes:
        return b"\x02" + bytes([number[1] + zeros]) + bytes(zeros) + number[2:]

    assert sequence(first, second) == signature and is_valid(signature, public, digest)
    bad = {
        "nothing": b"",
        "bytes behind": signature + b"\0",
        "padding of imgtool": signature + bytes(72 - len(signature)),
        "bytes inside": sequence(first, second, b"\0"),
        "third number": sequence(first, second, number_in_der(0)),
        "one number": sequence(first),
        "no number": sequence(),
        "zeros before r": sequence(padded(first, 1), second),
        "zeros before s": sequence(first, padded(second, 1)),
        "many zeros before s": sequence(first, padded(second, 31)),
        "negative s": sequence(first, b"\x02\x01" + bytes([256 - s])),
        "negative r": sequence(b"\x02\x01\xff", second),
        "empty s": sequence(first, b"\x02\x00"),
        "empty r": sequence(b"\x02\x00", second),
        "long length of s": sequence(first, b"\x02\x81\x01" + bytes([s])),
        "long length": b"\x30\x81" + signature[1:],
        "length without end": b"\x30\x80" + signature[2:] + b"\0\0",
        "longer length": signature[:1] + bytes([signature[1] + 1]) + signature[2:],
        "shorter length": signature[:1] + bytes([signature[1] - 1]) + signature[2:],
        "s that ends behind": signature[: 3 + len(first)] + b"\x02" + signature[4 + len(first) :],
        "set": b"\x31" + signature[1:],
        "bit string": sequence(b"\x03" + first[1:], second),
        "s as octets": sequence(first, b"\x04" + second[1:]),
        "bare numbers": r.to_bytes(32, "big") + s.to_bytes(32, "big"),
        "nested": sequence(signature),
    }
    for name, data in bad.items():
        assert not is_valid(data, public, digest), name
    for length in range(len(signature)):
        assert not is_valid(signature[:length], public, digest), length
    for k in range(len(signature)):
        for bit in range(8):
            changed = bytearray(signature)
            changed[k] ^= 1 << bit
            assert not is_valid(bytes(changed), public, digest), (k, bit)


def test_what_lies_behind_a_short_signature_is_not_taken_for_a_number() -> None:
    """The numbers are written over the signature. A signature without s must not be completed by old bytes."""
    for x in (2**200, 2**255):
        signature, public, digest = signature_with_x(x, 7)
        r, s = decode_dss_signature(signature)
        number = number_in_der(r)
        for body in (number, number[:-1], number + b"\x02", number + b"\x02\x01", number + b"\x02\x00"):
            data = b"\x30" + bytes([len(body)]) + body
            buffer = ctypes.create_string_buffer(72)
            ctypes.memmove(buffer, r.to_bytes(32, "big").rjust(40, b"\0") + s.to_bytes(32, "big"), 72)
            ctypes.memmove(buffer, data, len(data))
            assert library("ecdsa-p256").ar_signature_check(buffer, len(data), public, digest) == 0
        assert is_valid(signature, public, digest)


def test_public_keys_that_are_no_points_are_refused() -> None:
    signature, public, digest = small_signature()
    x, y = public[:32], public[32:]
    negative = (PRIME - int.from_bytes(y, "big")).to_bytes(32, "big")
    for key in (bytes(64), x + bytes(32), bytes(32) + y, y + x, x + negative, b"\xff" * 64):
        assert not is_valid(signature, key, digest)
    big = int.from_bytes(x, "big") + PRIME
    if big < 2**256:
        assert not is_valid(signature, big.to_bytes(32, "big") + y, digest)
