"""Devices that join with codes, at a real server and a real broker."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import (
    CertificateSigningRequestBuilder,
    load_der_x509_csr,
    load_pem_x509_certificate,
    load_pem_x509_csr,
)

from arenite.errors import AreniteError, ToolError, UsageError
from arenite.host.cli.main import main
from arenite.host.fleet.clock import SystemClock
from arenite.host.fleet.database import Database
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.registry import claim_fleet
from arenite.host.fleet.security import enrolment_server
from arenite.host.fleet.security.authority import (
    BadRequestError,
    FleetAuthority,
    create_authority,
    new_key,
    requested_key,
    signing_request,
)
from arenite.host.fleet.security.enrolment_code import EnrolmentCode, new_code, parse_code
from arenite.host.fleet.security.enrolment_messages import (
    EnrolmentAnswer,
    EnrolmentMessageError,
    EnrolmentRequest,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)
from arenite.host.fleet.security.enrolment_server import Enrolment
from arenite.host.fleet.security.enrolments import add_code, revoke_device, revoked_certificates, use_code
from arenite.host.fleet.security.join import join_fleet
from arenite.host.http_server.certificates import common_name
from arenite.host.http_server.login_attempts import MAX_WRONG
from tests.docs.schemas import problems
from tests.free_port import free_port
from tests.host.fleet.broker_helpers import WAIT_S, needs_broker, until
from tests.host.fleet.security.secure_broker import Client, SecureBroker

HOUR_S = 3600
_SPKI = PublicFormat.SubjectPublicKeyInfo


class Site:
    """A database and an authority, and the address of the enrolment server in this process."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:{folder / 'fleet.db'}"
        self.database = open_database(self.url)
        with self.database.transaction() as transaction:
            claim_fleet(transaction, "plant")
        self.authority: FleetAuthority = create_authority(folder / "plant", "plant")
        self.reports: list[str] = []

    def serve(self, authority: FleetAuthority | None = None) -> Enrolment:
        database = open_database(self.url)
        arguments = (database, SystemClock(), self.reports.append, "127.0.0.1", 0, 8883)
        return Enrolment(authority or self.authority, *arguments)

    def code(self, device: str = "pump", *, valid_s: int = HOUR_S) -> EnrolmentCode:
        code = new_code(self.authority.fingerprint)
        with self.database.transaction() as transaction:
            add_code(transaction, SystemClock().now_ms(), "test", device, "lab", code.secret, valid_s)
        return code

    def unused_codes(self) -> int:
        with self.database.transaction() as transaction:
            count: int = transaction.value("SELECT count(*) FROM enrolments WHERE used_ms = 0")
        return count


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def url(site: Site) -> Iterator[str]:
    enrolment = site.serve()
    yield f"https://127.0.0.1:{enrolment.port}"
    enrolment.close()


def test_a_code_gives_one_certificate(site: Site, url: str, tmp_path: Path) -> None:
    code = site.code()
    joined = join_fleet(url, code, tmp_path / "pump")
    assert (joined.fleet, joined.device, joined.broker_port) == ("plant", "pump", 8883)
    certificate = load_pem_x509_certificate((tmp_path / "pump" / "device.pem").read_bytes())
    assert certificate.subject == common_name("pump")
    assert (tmp_path / "pump" / "device.key").stat().st_mode & 0o077 == 0
    assert (tmp_path / "pump" / "authority.pem").read_bytes() == site.authority.certificate_pem
    with pytest.raises(UsageError, match="wrong, used already, or expired"):
        join_fleet(url, code, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with site.database.transaction() as transaction:
        assert transaction.query("SELECT device, group_name FROM devices") == [("pump", "lab")]
        audit = transaction.query("SELECT action, details FROM audit ORDER BY id")
    assert [action for action, _ in audit] == ["enrol", "join"]
    assert json.loads(audit[1][1])["serial"] == f"{certificate.serial_number:x}"
    # The code is nowhere on the disk of the server.
    site.database.close()
    for path in tmp_path.glob("fleet.db*"):
        assert code.secret.encode() not in path.read_bytes()


def test_of_two_devices_with_one_code_one_joins(site: Site, url: str, tmp_path: Path) -> None:
    code = site.code()
    outcomes: list[str] = []

    def join(name: str) -> None:
        try:
            outcomes.append(join_fleet(url, code, tmp_path / name).device)
        except AreniteError as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=join, args=(f"d{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["UsageError"] * 3 + ["pump"]


def test_a_device_that_joins_again_keeps_its_key(site: Site, url: str, tmp_path: Path) -> None:
    join_fleet(url, site.code(), tmp_path / "pump")
    key, certificate = ((tmp_path / "pump" / name).read_bytes() for name in ("device.key", "device.pem"))
    join_fleet(url, site.code(), tmp_path / "pump")
    assert (tmp_path / "pump" / "device.key").read_bytes() == key
    assert (tmp_path / "pump" / "device.pem").read_bytes() != certificate


def test_a_failed_join_leaves_nothing_and_takes_nothing(site: Site, url: str, tmp_path: Path) -> None:
    wrong, folder = new_code(site.authority.fingerprint), tmp_path / "pump"
    folder.mkdir()
    with pytest.raises(UsageError, match="wrong, used already"):
        join_fleet(url, wrong, folder)
    assert list(folder.iterdir()) == []
    with pytest.raises(ToolError, match="cannot be reached"):
        join_fleet("https://127.0.0.1:1", site.code(), tmp_path / "new" / "pump")
    assert not (tmp_path / "new" / "pump").exists()
    join_fleet(url, site.code(), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 3
    with pytest.raises(UsageError, match="wrong, used already"):
        join_fleet(url, wrong, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_code_expires_and_a_newer_one_replaces_it(database: Database) -> None:
    def use(secret: str, now_ms: int) -> str | None:
        with database.transaction() as transaction:
            return use_code(transaction, now_ms, secret)

    with database.transaction() as transaction:
        for secret in ("a", "b"):
            assert add_code(transaction, 1000, "test", "pump", None, secret, 10) == "default"
    assert use("a", 2000) is None  # replaced
    assert use("b", 11_000) is None  # expired
    assert use("b", 10_999) == "pump"
    assert use("b", 10_999) is None  # used
    with database.transaction() as transaction, pytest.raises(UsageError, match="is in the group default"):
        add_code(transaction, 1000, "test", "pump", "lab", "c", 10)


def test_revoked_certificates_are_listed_until_they_end(database: Database) -> None:
    with database.transaction() as transaction:
        transaction.execute("INSERT INTO certificates VALUES ('ff', 'pump', 9000, 0)")
        add_code(transaction, 1000, "test", "pump", None, "a", 10)
        assert revoke_device(transaction, 2000, "test", "pump") == (1, 1)
        assert use_code(transaction, 2000, "a") is None
        assert [serial for serial, _ in revoked_certificates(transaction, 3000)] == [255]
        assert revoked_certificates(transaction, 9000) == []
        with pytest.raises(UsageError, match="no certificate or code"):
            revoke_device(transaction, 2000, "test", "pump")


def test_a_device_sends_its_code_to_no_other_server(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers of another fleet, with a stolen copy of the authority's certificate, and with another certificate of the
    same authority. Each of them would use the code up if it got it."""
    foreign = create_authority(tmp_path / "foreign", "plant")
    copied = dataclasses.replace(foreign, certificate_pem=site.authority.certificate_pem)
    code = site.code()

    def refused(authority: FleetAuthority) -> None:
        enrolment = site.serve(authority)
        try:
            with pytest.raises(ToolError, match="The code was not sent"):
                join_fleet(f"https://127.0.0.1:{enrolment.port}", code, tmp_path / "pump")
        finally:
            enrolment.close()
        assert site.unused_codes() == 1

    refused(foreign)
    refused(copied)
    monkeypatch.setattr(enrolment_server, "SERVER_NAME", "localhost")  # as in the certificate of the broker
    refused(site.authority)


@pytest.mark.slow
def test_wrong_codes_are_limited(site: Site, url: str, tmp_path: Path) -> None:
    for _ in range(MAX_WRONG):
        with pytest.raises(UsageError, match="wrong, used already"):
            join_fleet(url, new_code(site.authority.fingerprint), tmp_path / "pump")
    with pytest.raises(UsageError, match="Too many wrong tokens"):
        join_fleet(url, site.code(), tmp_path / "pump")
    assert site.unused_codes() == 1
    assert len(site.reports) == 2


def _weak() -> bytes:
    key = rsa.generate_private_key(65537, 1024)
    request = CertificateSigningRequestBuilder(common_name("x")).sign(key, hashes.SHA256())
    return request.public_bytes(Encoding.PEM)


def _small_curve() -> bytes:
    key = ec.generate_private_key(ec.SECP192R1())
    request = CertificateSigningRequestBuilder(common_name("x")).sign(key, hashes.SHA256())
    return request.public_bytes(Encoding.PEM)


def _of_another_key() -> bytes:
    one, other = (load_pem_x509_csr(signing_request(new_key())) for _ in range(2))
    der = one.public_bytes(Encoding.DER)
    point = one.public_key().public_bytes(Encoding.DER, _SPKI)
    swapped = der.replace(point, other.public_key().public_bytes(Encoding.DER, _SPKI))
    assert swapped != der
    return load_der_x509_csr(swapped).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_weak, "neither"),
        (_small_curve, "neither"),
        (_of_another_key, "not signed with its own key"),
        (lambda: b"x", "malformed"),
        (lambda: b"x" * 20_000, "longer than"),
    ],
)
def test_bad_requests_are_refused(make: Callable[[], bytes], words: str) -> None:
    with pytest.raises(BadRequestError, match=words):
        requested_key(make())


def test_messages_fit_their_schemas() -> None:
    request = encode_request(EnrolmentRequest("a", "b"))
    answer = encode_answer(EnrolmentAnswer("plant", "pump", "c", 8883))
    assert decode_request(request) == EnrolmentRequest("a", "b")
    assert decode_answer(answer) == EnrolmentAnswer("plant", "pump", "c", 8883)
    assert problems(json.loads(request)) == problems(json.loads(answer)) == []
    for data in (b"", b"\xff", b"[]", b"{}", b"[" * 30_000, answer, request.replace(b'"a"', b"1")):
        with pytest.raises(EnrolmentMessageError):
            decode_request(data)


def test_codes_are_parsed(site: Site) -> None:
    code = new_code(site.authority.fingerprint)
    assert parse_code(f" {str(code).upper()}\n") == code
    assert new_code(b"\0" * 16).secret != code.secret
    for text in ("", "a", str(code)[:-1], str(code) + "a", str(code).replace("-", "")):
        with pytest.raises(UsageError, match="malformed"):
            parse_code(text)


@pytest.mark.slow
@needs_broker
def test_a_device_joins_reports_and_is_revoked(
    broker: SecureBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All commands, with the real server and broker."""
    database, port = f"sqlite:{tmp_path / 'fleet.db'}", free_port()
    common = ["--database", database, "--certificates", str(broker.folder)]
    serve = ["fleet", "serve", *common, "--fleet", "plant", "--broker", broker.url("server")]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "arenite.host.cli.main", *serve, "--enrol-listen", f"127.0.0.1:{port}"],
            stderr=log,
        )
    try:
        until(lambda: b"Serving" in (tmp_path / "log").read_bytes() or server.poll() is not None)
        urls = {}
        for device in ("pump", "valve"):
            capsys.readouterr()
            assert main(["fleet", "enrol", device, "--group", "lab", *common]) == 0
            code = capsys.readouterr().out.strip()
            folder = broker.folder / device
            assert main(["fleet", "join", f"https://localhost:{port}", code, "-o", str(folder)]) == 0
            urls[device] = broker.url(f"{device}/device")
        pump, valve = Client(urls["pump"]), Client(urls["valve"])
        assert (pump.outcome, valve.outcome) == ("connected", "connected")
        pump.close()
        assert main(["fleet", "revoke", "pump", *common]) == 0
        broker.reload()

        def is_refused() -> bool:
            client = Client(urls["pump"])
            client.close()
            return client.outcome == "refused"

        until(is_refused)
        again = Client(urls["valve"])
        assert again.outcome == "connected"
        again.close()
        valve.close()
        server.send_signal(signal.SIGTERM)
        assert server.wait(WAIT_S) == 0
    finally:
        server.kill()
        server.wait()


def test_commands_explain_mistakes(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "plant"
    common = ["--database", site.url, "--certificates", str(folder)]
    create_authority(tmp_path / "other", "other")
    site.code()
    code = str(new_code(site.authority.fingerprint))
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "device.key").write_text("x")
    for arguments, exit_code, words in (
        (["enrol", "pump", "--valid", "1y", *common], 2, "'1y' is not a time"),
        (["enrol", "pump", "--valid", "31d", *common], 2, "'31d' is not a time"),
        (["enrol", "a/b", *common], 2, "not a name of a device"),
        (["enrol", "@server", *common], 2, "not a name of a device"),
        (["enrol", "pump", "--database", site.url], 2, "folder with the certificates"),
        (["enrol", "pump", "--database", site.url, "--certificates", str(tmp_path / "none")], 2, "authority"),
        (["enrol", "pump", "--database", site.url, "--certificates", str(tmp_path / "other")], 2, "'other'"),
        (["revoke", "valve", *common], 2, "no certificate or code"),
        (["join", "http://x", code, "-o", str(tmp_path / "pump")], 2, "not the address of an enrolment"),
        (["join", "https://x:y", code, "-o", str(tmp_path / "pump")], 2, "not the address of an enrolment"),
        (["join", "https://127.0.0.1:1", code, "-o", str(tmp_path / "pump")], 3, "cannot be reached"),
        (["join", "https://127.0.0.1:1", "abc", "-o", str(tmp_path / "pump")], 2, "code is malformed"),
        (["join", "https://127.0.0.1:1", code, "-o", str(tmp_path / "used")], 2, "is not a key of"),
    ):
        assert main(["fleet", *arguments]) == exit_code
        error = capsys.readouterr().err
        assert words in error and "Traceback" not in error and code not in error
