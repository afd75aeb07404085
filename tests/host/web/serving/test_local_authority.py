"""Tests of the certificate authority of this computer."""

from __future__ import annotations

import datetime
import os
import socket
import stat
from pathlib import Path

import pytest

from arenite.errors import UsageError

pytest.importorskip("cryptography", reason="needs cryptography")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from arenite.host.http_server.certificates import certificate_builder, end_after, key_pem
from arenite.host.web.serving import local_authority as module
from arenite.host.web.serving.local_authority import local_authority


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and return the path of the authority's file in it."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path))
    return tmp_path / "authority/authority.pem"


def test_the_authority_is_kept_and_private(cache: Path) -> None:
    first = local_authority()
    assert local_authority().fingerprint == first.fingerprint
    assert stat.S_IMODE(os.stat(cache).st_mode) == 0o600
    # The fingerprint is a SHA-256 of 32 bytes.
    assert len(first.fingerprint.split(":")) == 32 and "PRIVATE" not in first.certificate_pem


def test_the_authority_certifies_only_local_names(cache: Path) -> None:
    certificate = x509.load_pem_x509_certificate(local_authority().certificate_pem.encode())
    constraints = certificate.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical and constraints.value.permitted_subtrees
    names = [n.value for n in constraints.value.permitted_subtrees if isinstance(n, x509.DNSName)]
    assert "localhost" in names and not any(name in ("com", "org", "") for name in names)
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert basic.ca and basic.path_length == 0


def test_public_addresses_are_refused() -> None:
    for address in ("8.8.8.8", "2606:4700:4700::1111"):
        with pytest.raises(UsageError, match="public address"):
            local_authority().context(address)


def test_an_authority_that_ends_soon_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AUTHORITY_DAYS", 10)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_SERVER_DAYS", 5)
        fingerprint = local_authority().fingerprint
        assert local_authority().fingerprint == fingerprint
    monkeypatch.setattr(module, "_AUTHORITY_DAYS", 3650)
    replaced = local_authority()
    certificate = x509.load_pem_x509_certificate(replaced.certificate_pem.encode())
    assert replaced.fingerprint != fingerprint
    assert certificate.not_valid_after_utc > datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        days=3000
    )


def test_the_error_of_a_damaged_file_names_it(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("no certificate")
    with pytest.raises(UsageError, match=r"authority\.pem cannot be used"):
        local_authority()


def test_a_certificate_of_another_kind_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has a certificate without name constraints, such as that of a server."""
    local_authority()
    subject = x509.Name([])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = certificate_builder("other", subject, key.public_key(), end_after(400))
    certificate = builder.sign(key, hashes.SHA256())
    cache.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + key_pem(key))
    with pytest.raises(UsageError, match=r"authority\.pem cannot be used"):
        local_authority()


def test_a_computer_without_a_name_certifies_no_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "")
    certificate = x509.load_pem_x509_certificate(local_authority().certificate_pem.encode())
    permitted = certificate.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees
    assert permitted and [n.value for n in permitted if isinstance(n, x509.DNSName)] == ["local", "localhost"]


def test_a_new_name_of_the_computer_does_not_break_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    local_authority()
    monkeypatch.setattr(module, "own_names", lambda: {"localhost", "renamed", "renamed.local"})
    local_authority().context("127.0.0.1")
    names = [name.value for name in local_authority()._names()]
    assert names == ["localhost", "renamed.local"]
