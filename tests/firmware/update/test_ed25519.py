"""Both checks of Ed25519 signatures accept those of the package cryptography and nothing else, and agree about the keys
and signatures about which implementations differ: those with points of small order or with other encodings."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import random

import pytest

from tests.firmware.update.image_check import library

ed25519 = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.ed25519", reason="needs cryptography"
)

CHECKS = ("ed25519", "ed25519-small")
#: The order of the base point, the prime of the field, and the constant of the curve.
ORDER = 2**252 + 27742317777372353535851937790883648493
PRIME = 2**255 - 19
D = -121665 * pow(121666, -1, PRIME) % PRIME

Point = tuple[int, int]
NEUTRAL: Point = (0, 1)


@pytest.fixture(params=CHECKS)
def check(request: pytest.FixtureRequest) -> str:
    """Each test that names it is run with each check."""
    name: str = request.param
    return name


def is_valid(signature: bytes, public_key: bytes, message: bytes, check: str) -> bool:
    data = ctypes.create_string_buffer(signature, max(len(signature), 72))  # the check overwrites it
    return bool(library(check).ar_signature_check(data, len(signature), public_key, message))


def add(p: Point, q: Point) -> Point:
    """Return the sum of two points (RFC 8032, section 5.1.4, in affine coordinates)."""
    product = D * p[0] * q[0] * p[1] * q[1]
    x = (p[0] * q[1] + q[0] * p[1]) * pow(1 + product, -1, PRIME)
    y = (p[1] * q[1] + p[0] * q[0]) * pow(1 - product, -1, PRIME)
    return x % PRIME, y % PRIME


def multiply(factor: int, point: Point) -> Point:
    result = NEUTRAL
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def encode(point: Point, *, adds_prime: bool = False) -> bytes:
    """Return the bytes of a point. If ``adds_prime``, y is encoded as y + p, which is not canonical."""
    y = point[1] + PRIME * adds_prime
    assert y < 2**255
    return (y | (point[0] & 1) << 255).to_bytes(32, "little")


def x_of(y: int) -> int | None:
    """Return an x with which (x, y) is on the curve, or ``None``."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    for root in (x, x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME):
        if root * root % PRIME == square:
            return root
    return None


def small_points() -> list[Point]:
    """Return the eight points whose order divides 8."""
    for y in range(2, 100):
        x = x_of(y)
        if x is None:
            continue
        point = multiply(ORDER, (x, y))
        if multiply(4, point) != NEUTRAL:
            return [multiply(k, point) for k in range(8)]
    raise AssertionError("no point of order 8 was found")


def base_point() -> Point:
    y = 4 * pow(5, -1, PRIME) % PRIME
    x = x_of(y)
    assert x is not None
    return (x if x % 2 == 0 else PRIME - x), y


BASE = base_point()


def challenge(point_r: bytes, public_key: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(point_r + public_key + message).digest(), "little") % ORDER


def test_signatures_of_another_implementation_are_accepted_and_changed_ones_refused(check: str) -> None:
    choose = random.Random(1)
    for _ in range(60):
        key = ed25519.Ed25519PrivateKey.from_private_bytes(choose.randbytes(32))
        public = key.public_key().public_bytes_raw()
        message = choose.randbytes(32)
        signature = key.sign(message)
        assert is_valid(signature, public, message, check)
        for part in range(3):
            values = [bytearray(signature), bytearray(public), bytearray(message)]
            values[part][choose.randrange(len(values[part]))] ^= 1 << choose.randrange(8)
            changed_signature, changed_public, changed_message = map(bytes, values)
            assert not is_valid(changed_signature, changed_public, changed_message, check)


def test_another_scalar_of_the_same_signature_is_refused(check: str) -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    message, public = bytes(32), key.public_key().public_bytes_raw()
    signature = key.sign(message)
    for multiple in range(1, 16):
        scalar = int.from_bytes(signature[32:], "little") + multiple * ORDER
        if scalar < 2**256:
            assert not is_valid(signature[:32] + scalar.to_bytes(32, "little"), public, message, check)
    assert not is_valid(bytes(64), public, message, check)


@pytest.mark.parametrize("scalar", [0, 1, 2, 8, ORDER - 1, ORDER, ORDER + 1, 2**252, 2**253 - 1, 2**256 - 1])
def test_extreme_scalars_are_accepted_below_the_order(check: str, scalar: int) -> None:
    """The key is the neutral point, so that the hash does not count, and R = s B."""
    point_r, public = encode(multiply(scalar, BASE)), encode(NEUTRAL)
    signature = point_r + scalar.to_bytes(32, "little")
    assert is_valid(signature, public, bytes(32), check) == (scalar < ORDER)


def test_points_of_small_order_make_no_difference(check: str) -> None:
    """A point of small order may be added to the key or to the point of the signature: the equation is multiplied by 8.
    RFC 8032 permits this check and the one without the factor."""
    secret, nonce, message = 1234567, 7654321, bytes(range(32))
    for small_a, small_r in itertools.product(small_points(), repeat=2):
        public = encode(add(multiply(secret, BASE), small_a))
        point_r = encode(add(multiply(nonce, BASE), small_r))
        scalar = (nonce + challenge(point_r, public, message) * secret) % ORDER
        assert is_valid(point_r + scalar.to_bytes(32, "little"), public, message, check)
        wrong = (scalar + 1) % ORDER
        assert not is_valid(point_r + wrong.to_bytes(32, "little"), public, message, check)


def test_encodings_that_are_not_canonical_are_accepted_by_both_checks_or_by_none(check: str) -> None:
    """y + p for y below 19, and x = 0 with the sign of a negative number."""
    points = [(x_of(y), y) for y in range(19)]
    encodings = [
        encode((x, y), adds_prime=plus) for x, y in points if x is not None for plus in (False, True)
    ]
    encodings += [(int.from_bytes(each, "little") ^ 1 << 255).to_bytes(32, "little") for each in encodings]
    results = {}
    for public, point_r in itertools.product(encodings, repeat=2):
        signature = point_r + bytes(32)
        results[public, point_r] = [is_valid(signature, public, bytes(32), name) for name in CHECKS]
    assert all(first == second for first, second in results.values())
    assert {first for first, _ in results.values()} == {True, False}


def test_both_checks_agree_about_random_points_and_scalars() -> None:
    """Half of the random values of y belong to no point."""
    choose = random.Random(3)
    for _ in range(400):
        public, signature = choose.randbytes(32), bytearray(choose.randbytes(64))
        signature[63] &= 0x1F
        values = bytes(signature), public, choose.randbytes(32)
        assert is_valid(*values, CHECKS[0]) == is_valid(*values, CHECKS[1])


def test_keys_and_points_that_are_not_on_the_curve_are_refused(check: str) -> None:
    """With s = 0 and the other point neutral, the equation would hold if the missing point were taken for the neutral
    one."""
    outside = [y.to_bytes(32, "little") for y in range(2, 60) if x_of(y) is None]
    assert len(outside) > 20
    for each in outside:
        assert not is_valid(encode(NEUTRAL) + bytes(32), each, bytes(32), check)
        assert not is_valid(each + bytes(32), encode(NEUTRAL), bytes(32), check)
    assert is_valid(encode(NEUTRAL) + bytes(32), encode(NEUTRAL), bytes(32), check)
