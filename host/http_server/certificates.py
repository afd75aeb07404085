"""Parts of the certificates that Arenite issues. The functions need the package cryptography."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

#: Certificates begin to be valid this number of days in the past, because the clock of a device may be behind.
_BEFORE_DAYS = 1


def certificate_builder(
    title: str, issuer: x509.Name, key: CertificatePublicKeyTypes, end: datetime.datetime
) -> x509.CertificateBuilder:
    """Return a certificate of the public ``key`` with the common name ``title``, valid until ``end``, without
    extensions."""
    from cryptography import x509

    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=common_name(title),
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=_BEFORE_DAYS),
        not_valid_after=end,
    )


def authority_builder(
    title: str, key: EllipticCurvePrivateKey, end: datetime.datetime
) -> x509.CertificateBuilder:
    """Return the certificate of an authority that certifies no further authorities, valid until ``end``."""
    from cryptography import x509

    usage = x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = certificate_builder(title, common_name(title), key.public_key(), end)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(usage, critical=True).add_extension(identifier, critical=False)


def common_name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def end_after(days: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)


def key_pem(key: EllipticCurvePrivateKey) -> bytes:
    """Return the private key as PEM text, without a password."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
