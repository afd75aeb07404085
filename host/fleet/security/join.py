"""Join a fleet from a device: get a certificate with an enrolment code. The private key stays on the device."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from arenite.errors import ToolError, UsageError
from arenite.files import replace_file
from arenite.host.fleet.security.authority import new_key, signing_request
from arenite.host.fleet.security.enrolment_code import FINGERPRINT_BYTES, EnrolmentCode
from arenite.host.fleet.security.enrolment_messages import (
    AUTHORITY_PATH,
    DEFAULT_PORT,
    ENROL_PATH,
    SERVER_NAME,
    EnrolmentAnswer,
    EnrolmentMessageError,
    EnrolmentRequest,
    decode_answer,
    encode_request,
)
from arenite.host.http_server.certificates import key_pem

_TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 65_536
KEY_FILE, CERTIFICATE_FILE, AUTHORITY_FILE = "device.key", "device.pem", "authority.pem"


@dataclass(frozen=True, slots=True)
class Joined:
    """The fleet and the device, and the host and port at which the broker probably is."""

    fleet: str
    device: str
    host: str
    broker_port: int


def join_fleet(url: str, code: EnrolmentCode, folder: Path) -> Joined:
    """Get a certificate from the enrolment server at ``url``, and write it, the key and the certificate of the
    authority into ``folder``. A key that is in the folder already is used again. If this fails, files that were not
    there before are removed.

    Raises ``UsageError`` for a bad address, code or folder, and ``ToolError`` if the server cannot be reached or is not
    the one of the code.
    """
    host, port = _parse_url(url)
    try:
        with _removed_after_failure(folder):
            return _join(host, port, code, folder)
    except ssl.SSLError as error:
        raise ToolError(
            f"{host}:{port} does not have the certificate of an enrolment server: {error.reason or error}.",
            "Check the address. The code was not sent.",
        ) from error
    except (TimeoutError, ConnectionError, socket.gaierror, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ToolError(
            f"The enrolment server at {host}:{port} cannot be reached: {reason}.",
            "Start `arenite fleet serve` with --enrol-listen, and check the address.",
        ) from error
    except OSError as error:
        raise UsageError(
            f"{error.filename or f'{host}:{port}'}: {error.strerror or error}.",
            "Give a folder that you may write to, and check the address.",
        ) from error


def _join(host: str, port: int, code: EnrolmentCode, folder: Path) -> Joined:
    key = _load_or_create_key(folder / KEY_FILE)
    authority = _fetch_authority(host, port, code)
    request = EnrolmentRequest(code.secret, signing_request(key).decode())
    answer = _ask(host, port, authority, request)
    _check(answer, authority, key)
    replace_file(folder / AUTHORITY_FILE, authority)
    replace_file(folder / CERTIFICATE_FILE, answer.certificate.encode())
    return Joined(answer.fleet, answer.device, host, answer.broker_port)


@contextmanager
def _removed_after_failure(folder: Path) -> Iterator[None]:
    """If the block raises an error, remove the files of this module and the folder that were not there before. A code
    is good for one certificate, so a key without it has no further use."""
    has_folder = folder.exists()
    new_files = [
        path for name in (KEY_FILE, CERTIFICATE_FILE, AUTHORITY_FILE) if not (path := folder / name).exists()
    ]
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the first error matters more
            for path in new_files:
                path.unlink(missing_ok=True)
            if not has_folder:
                folder.rmdir()
        raise


def _parse_url(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if (
        parts.scheme != "https"
        or not parts.hostname
        or parts.path.strip("/")
        or parts.query
        or parts.username
    ):
        raise UsageError(
            f"'{url[:200]}' is not the address of an enrolment server.",
            "Give https://HOST or https://HOST:PORT.",
        )
    return parts.hostname, port


def _load_or_create_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key is written before the code is used up, so that no certificate is without its key."""
    if not path.exists():
        created = new_key()
        replace_file(path, key_pem(created), private=True)
        return created
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UsageError(f"{path} is not a key of `arenite fleet join`.", "Give another folder with -o.")
    return key


def _fetch_authority(host: str, port: int, code: EnrolmentCode) -> bytes:
    """Return the certificate of the authority. The connection is not authenticated and carries no secret: the
    certificate is checked against the fingerprint of the code. Raises ``ToolError`` if it is another one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    status, pem = _exchange(host, port, context, "GET", AUTHORITY_PATH, b"")
    try:
        der = ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
    except ValueError:
        der = b""
    if status != http.HTTPStatus.OK or hashlib.sha256(der).digest()[:FINGERPRINT_BYTES] != code.fingerprint:
        raise ToolError(
            f"The server at {host}:{port} does not belong to the fleet of the code.",
            "Check the address and the code. The code was not sent.",
        )
    return ssl.DER_cert_to_PEM_cert(der).encode()


def _ask(host: str, port: int, authority: bytes, request: EnrolmentRequest) -> EnrolmentAnswer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks certificates and names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=authority.decode())
    status, body = _exchange(host, port, context, "POST", ENROL_PATH, encode_request(request))
    if status != http.HTTPStatus.OK:
        text = body[:500].decode("utf-8", "replace").strip()
        raise UsageError(
            text or f"The enrolment server answered with the status {status}.",
            "Get a new code with `arenite fleet enrol`." if status == http.HTTPStatus.FORBIDDEN else "",
        )
    try:
        return decode_answer(body)
    except EnrolmentMessageError as error:
        raise ToolError(f"The answer of the enrolment server is malformed: {error}.") from error


def _exchange(
    host: str, port: int, context: ssl.SSLContext, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    """Send one request, and return the status and the body of the answer. Raises ``OSError`` and
    ``HTTPException``."""
    with (
        socket.create_connection((host, port), _TIMEOUT_S) as raw,
        context.wrap_socket(raw, server_hostname=SERVER_NAME) as encrypted,
    ):
        connection = http.client.HTTPConnection(host, port)
        connection.sock = encrypted
        headers = {"Content-Type": "application/json", "Connection": "close"} if body else {}
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(_MAX_ANSWER_BYTES)


def _check(answer: EnrolmentAnswer, authority: bytes, key: ec.EllipticCurvePrivateKey) -> None:
    """Raise ``ToolError`` if the certificate is not one of the authority for ``key``."""
    try:
        certificate = x509.load_pem_x509_certificate(answer.certificate.encode())
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
        is_own = certificate.public_key() == key.public_key()
    except (ValueError, TypeError, InvalidSignature):
        is_own = False
    if not is_own:
        raise ToolError("The enrolment server sent a certificate that is not for this device's key.")
