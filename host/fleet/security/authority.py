"""The certificate authority of a fleet. It certifies the broker, the servers and the devices of one fleet.

The extended key usages keep the roles apart: a device cannot pose as the broker, and the broker cannot pose as a
device or a server. This module needs the package cryptography.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.fleet.security.enrolment_code import FINGERPRINT_BYTES
from arenite.host.http_server.access import is_address
from arenite.host.http_server.certificates import (
    authority_builder,
    certificate_builder,
    common_name,
    end_after,
    key_pem,
)

CERTIFICATE_FILE, KEY_FILE = "authority.pem", "authority.key"
_AUTHORITY_DAYS = 7300
#: A device has no way to renew its certificate but to join again, so its certificate is valid for years.
DEVICE_DAYS = 1825
#: `arenite fleet broker` renews the certificates of the broker and of the server.
SERVER_DAYS = 825
_MIN_RSA_BITS = 2048
_MAX_REQUEST_BYTES = 16_384


class BadRequestError(ValueError):
    """A certificate signing request cannot be used."""


@dataclass(frozen=True)
class FleetAuthority:
    """The authority of the fleet ``fleet``, with its certificate as PEM text."""

    fleet: str
    certificate_pem: bytes
    _certificate: x509.Certificate
    _key: ec.EllipticCurvePrivateKey

    @property
    def fingerprint(self) -> bytes:
        """The first bytes of the SHA-256 hash of the certificate."""
        return self._certificate.fingerprint(hashes.SHA256())[:FINGERPRINT_BYTES]

    def certify_client(self, name: str, key: CertificatePublicKeyTypes, days: float) -> x509.Certificate:
        """Return a certificate with which the owner of ``key`` connects to the broker as the user ``name``."""
        return self._sign(name, key, days, ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def certify_server(
        self, title: str, key: CertificatePublicKeyTypes, hosts: Iterable[str], days: float = SERVER_DAYS
    ) -> x509.Certificate:
        """Return a certificate for a server with the host names and addresses ``hosts``."""
        names: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(host)) if is_address(host) else x509.DNSName(host)
            for host in hosts
        ]
        return self._sign(title, key, days, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def revocation_list(self, revoked: Iterable[tuple[int, datetime]]) -> bytes:
        """Return a list of the revoked serial numbers and their times, as PEM text. It is valid as long as the
        authority: a broker refuses all clients when its list has ended."""
        builder = x509.CertificateRevocationListBuilder(
            self._certificate.subject, datetime.now(UTC), self._certificate.not_valid_after_utc
        )
        for serial, time in revoked:
            builder = builder.add_revoked_certificate(x509.RevokedCertificateBuilder(serial, time).build())
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _sign(
        self,
        name: str,
        key: CertificatePublicKeyTypes,
        days: float,
        usage: x509.ObjectIdentifier,
        names: Iterable[x509.GeneralName],
    ) -> x509.Certificate:
        end = min(end_after(days), self._certificate.not_valid_after_utc)
        builder = certificate_builder(name, self._certificate.subject, key, end)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        alternatives = list(names)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def create_authority(folder: Path, fleet: str) -> FleetAuthority:
    """Write a new authority into ``folder``, with a key that only this user can read. Raises ``OSError``."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority_builder(fleet, key, end_after(_AUTHORITY_DAYS)).sign(key, hashes.SHA256())
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    # The certificate is written last: the authority exists when it does.
    replace_file(folder / KEY_FILE, key_pem(key), private=True)
    replace_file(folder / CERTIFICATE_FILE, pem)
    return FleetAuthority(fleet, pem, certificate, key)


def load_authority(folder: Path) -> FleetAuthority:
    """Read the authority in ``folder``. Raises ``UsageError``."""
    try:
        pem = (folder / CERTIFICATE_FILE).read_bytes()
        certificate = x509.load_pem_x509_certificate(pem)
        key = serialization.load_pem_private_key((folder / KEY_FILE).read_bytes(), None)
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} has no certificate authority of a fleet: {Path(str(error.filename)).name} is missing.",
            "Make one with `arenite fleet broker`, or give its folder.",
        ) from error
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "its files are not PEM files of a certificate and a key"
        raise UsageError(
            f"The certificate authority in {folder} cannot be used: {reason}.",
            "Restore the folder from a copy.",
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        raise UsageError(
            f"The key in {folder} does not belong to the certificate.", "Restore the folder from a copy."
        )
    attribute = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0]
    return FleetAuthority(cast(str, attribute.value), pem, certificate, key)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def signing_request(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a certificate signing request as PEM text. The enrolment code decides the name, not the request."""
    builder = x509.CertificateSigningRequestBuilder(common_name("device"))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def requested_key(request: bytes) -> CertificatePublicKeyTypes:
    """Return the public key of a certificate signing request. Raises ``BadRequestError`` if it is malformed, not signed
    with its own key, or has a key that is too weak."""
    if len(request) > _MAX_REQUEST_BYTES:
        raise BadRequestError(f"the request is longer than {_MAX_REQUEST_BYTES} bytes")
    try:
        parsed = x509.load_pem_x509_csr(request)
        key = parsed.public_key()
        is_signed = parsed.is_signature_valid
    except (ValueError, TypeError, InvalidSignature, x509.UnsupportedGeneralNameType) as error:
        raise BadRequestError("the request is malformed") from error
    if not is_signed:
        raise BadRequestError("the request is not signed with its own key")
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= _MIN_RSA_BITS:
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size >= 256:
        return key
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    raise BadRequestError(
        f"the key is neither of an elliptic curve of 256 bits or more, Ed25519, nor RSA of {_MIN_RSA_BITS} bits or more"
    )
