"""A certificate authority of this computer, for pages on phones.

Browsers give the camera and the microphone only to secure pages, and no public authority certifies addresses of a local
network. The authority is created once and kept in the cache folder, so that a phone needs to trust it only once. Its
name constraints (RFC 5280, section 4.2.1.10) limit it to addresses and names of local networks: whoever steals its key
cannot impersonate other web sites. Every server gets a new certificate and a new key.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from arenite.errors import UsageError
from arenite.files import cache_directory, replace_file
from arenite.host.http_server.access import is_address, own_names
from arenite.host.http_server.addresses import reachable_host
from arenite.host.http_server.certificates import authority_builder, certificate_builder, end_after, key_pem
from arenite.host.http_server.tls import server_context
from arenite.processes import temporary_folder

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

#: The path under which a page's server offers the authority's certificate to phones. It is no secret.
AUTHORITY_PATH = "/authority.crt"
#: The networks whose addresses are not those of public servers, from IANA's registries of special-purpose addresses:
#: loopback, private and link-local networks, networks behind a provider's address translation or a virtual private
#: network (100.64.0.0/10), and networks for tests and documentation.
_NETWORKS = (
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
    "198.18.0.0/15",
    "192.0.2.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
    "2001:db8::/32",
)
_AUTHORITY_DAYS = 3650
#: Safari refuses certificates that are valid for more than 825 days, also those of local authorities.
_SERVER_DAYS = 90


@dataclass(frozen=True)
class LocalAuthority:
    """The authority's certificate as PEM text, and its fingerprint: the SHA-256 of the certificate in hexadecimal
    digits, which a phone shows as well."""

    certificate_pem: str
    fingerprint: str
    _certificate: x509.Certificate
    _key: EllipticCurvePrivateKey

    def context(self, host: str) -> ssl.SSLContext:
        """Return a TLS context for a server that listens on ``host``, with a new certificate for the addresses and
        names of this computer. Raises ``UsageError`` if the address is no address of a local network."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([*self._names(), *_addresses(host)])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = certificate_builder(
            "Arenite page", self._certificate.subject, key.public_key(), end_after(_SERVER_DAYS)
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(names, critical=False).add_extension(usage, critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = builder.add_extension(issuer, critical=False).sign(self._key, hashes.SHA256())
        with temporary_folder("arenite-tls-") as folder:
            pair = Path(folder) / "pair.pem"
            chain = certificate.public_bytes(serialization.Encoding.PEM) + self.certificate_pem.encode()
            replace_file(pair, chain + key_pem(key), private=True)
            return server_context(pair, None)

    def _names(self) -> list[x509.DNSName]:
        """Return the names of this computer that the authority may certify: a new name of the computer is not one."""
        from cryptography import x509

        constraints = self._certificate.extensions.get_extension_for_class(x509.NameConstraints).value
        permitted = [n.value for n in constraints.permitted_subtrees or () if isinstance(n, x509.DNSName)]
        return [
            x509.DNSName(name)
            for name in sorted(own_names())
            if any(name == each or name.endswith(f".{each}") for each in permitted)
        ]


def local_authority() -> LocalAuthority:
    """Return the authority of this computer. It is created if there is none, or if it soon ends.

    Raises ``UsageError`` if the package cryptography (extra ``web``) is not installed, or if the authority's files
    cannot be read or written.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ModuleNotFoundError as error:
        raise UsageError(
            "A page for other devices needs the package cryptography.",
            "Install it: pip install 'arenite[web]', or give a certificate with --tls-cert.",
        ) from error
    folder = cache_directory() / "authority"
    pair = folder / "authority.pem"
    try:
        if not pair.is_file():
            _create(pair)
        data = pair.read_bytes()
        certificate = x509.load_pem_x509_certificate(data)
        key = serialization.load_pem_private_key(data[data.index(b"-----BEGIN PRIVATE KEY") :], None)
        certificate.extensions.get_extension_for_class(x509.NameConstraints)
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise UsageError(
            f"The local certificate authority in {pair} cannot be used: {getattr(error, 'strerror', None) or error}.",
            "Delete the file, to create a new authority.",
        ) from error
    remaining = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    if remaining < datetime.timedelta(days=_SERVER_DAYS):
        pair.unlink(missing_ok=True)
        return local_authority()
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    digest = certificate.fingerprint(hashes.SHA256()).hex().upper()
    fingerprint = ":".join(digest[k : k + 2] for k in range(0, len(digest), 2))
    return LocalAuthority(pem, fingerprint, certificate, cast(ec.EllipticCurvePrivateKey, key))


def _create(pair: Path) -> None:
    """Write a new authority with its key to the file ``pair``, which only this user can read."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    title = f"Arenite pages of {socket.gethostname()[:32]}"
    names = sorted(own_names() | {"local"})
    permitted: list[x509.GeneralName] = [x509.DNSName(name) for name in names if name.isascii()]
    permitted += [x509.IPAddress(ipaddress.ip_network(network)) for network in _NETWORKS]
    builder = authority_builder(title, key, end_after(_AUTHORITY_DAYS))
    builder = builder.add_extension(x509.NameConstraints(permitted, None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    pair.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = certificate.public_bytes(serialization.Encoding.PEM) + key_pem(key)
    replace_file(pair, data, private=True)


def _addresses(host: str) -> list[x509.IPAddress]:
    """Return the addresses of a server that listens on ``host``. Raises ``UsageError`` for an address that is not in
    ``_NETWORKS``."""
    from cryptography import x509

    reachable = reachable_host(host)
    if not is_address(reachable):
        return []
    address = ipaddress.ip_address(reachable)
    if not any(address in ipaddress.ip_network(network) for network in _NETWORKS):
        raise UsageError(
            f"{reachable} is a public address, and this computer's certificate authority is for local networks.",
            "Give an address of the local network, or a certificate with --tls-cert.",
        )
    loopback = ipaddress.ip_address("::1" if address.version == 6 else "127.0.0.1")
    return [x509.IPAddress(each) for each in {address, loopback}]
