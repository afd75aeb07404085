"""Enrolment codes. A code has a secret and the fingerprint of the fleet's authority.

The fingerprint lets a device authenticate the server before it sends the secret. Both have 128 bits. Codes are written
in base32, in lower case: letters and the digits 2 to 7.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass

from arenite.errors import UsageError

#: The first bytes of a SHA-256 hash. It takes 2**128 attempts to find another certificate that begins like it.
FINGERPRINT_BYTES = 16
_SECRET_BYTES = 16
_CODE = re.compile(r"([a-z2-7]{26})-([a-z2-7]{26})")


@dataclass(frozen=True, slots=True)
class EnrolmentCode:
    secret: str
    fingerprint: bytes

    def __str__(self) -> str:
        return f"{self.secret}-{_encode(self.fingerprint)}"


def new_code(fingerprint: bytes) -> EnrolmentCode:
    return EnrolmentCode(_encode(secrets.token_bytes(_SECRET_BYTES)), fingerprint)


def parse_code(text: str) -> EnrolmentCode:
    """Raises ``UsageError``, whose text does not contain the code."""
    match = _CODE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(
            "The enrolment code is malformed.",
            "It has twice 26 letters and digits with a dash between them. Copy it from `arenite fleet enrol`.",
        )
    return EnrolmentCode(match[1], base64.b32decode(match[2].upper() + "======"))


def hash_of_secret(secret: str) -> str:
    """Return what the database stores. A secret of 128 random bits needs no slow hash."""
    return hashlib.sha256(f"arenite enrolment {secret}".encode()).hexdigest()


def _encode(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()
