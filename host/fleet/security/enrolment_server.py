"""The HTTPS server of `arenite fleet serve` that gives certificates to devices with an enrolment code."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding

from arenite.errors import AreniteError
from arenite.files import replace_file
from arenite.host.fleet.clock import Clock
from arenite.host.fleet.database import Database
from arenite.host.fleet.security.authority import (
    DEVICE_DAYS,
    BadRequestError,
    FleetAuthority,
    new_key,
    requested_key,
)
from arenite.host.fleet.security.enrolment_messages import (
    AUTHORITY_PATH,
    ENROL_PATH,
    MAX_REQUEST_BYTES,
    SERVER_NAME,
    EnrolmentAnswer,
    EnrolmentMessageError,
    decode_request,
    encode_answer,
)
from arenite.host.fleet.security.enrolments import note_certificate, use_code
from arenite.host.http_server.access import Access
from arenite.host.http_server.addresses import listening_error
from arenite.host.http_server.certificates import key_pem
from arenite.host.http_server.connection_server import Connection
from arenite.host.http_server.request_handler import (
    CONTENT_TYPES,
    TEXT,
    AuthenticatingServer,
    RequestHandler,
)
from arenite.host.http_server.tls import server_context
from arenite.processes import temporary_folder

_MAX_CLIENTS = 64
_PEM = "application/x-pem-file"


class Enrolment:
    """Gives certificates of ``authority`` to devices, and notes them in ``database``, which no other thread may use
    until ``close``. ``broker_port`` is the port at which devices reach the broker.

    Raises ``UsageError`` if the address is in use or is not one of this computer.
    """

    def __init__(
        self,
        authority: FleetAuthority,
        database: Database,
        clock: Clock,
        report: Callable[[str], None],
        host: str,
        port: int,
        broker_port: int,
    ) -> None:
        self.authority = authority
        self._database = database
        self._clock = clock
        self._report = report
        self._broker_port = broker_port
        # A connection to the database is for one thread.
        database.close()
        self._executor = ThreadPoolExecutor(1, "arenite-enrolment-database")
        try:
            self._server = _EnrolmentServer(self, host, port, _context(authority), report)
        except (OSError, OverflowError) as error:
            raise listening_error("enrolment server", host, port, error) from error
        self.port = self._server.port
        self._server.start()

    def close(self) -> None:
        """End all connections, and close the database."""
        self._server.close()
        self._executor.submit(self._database.close)
        self._executor.shutdown()

    async def join(self, secret: str, request: bytes, network: str) -> bytes | None:
        """Use the code with ``secret`` up, and return the answer with the certificate. Return None for a code that is
        not valid. Raises ``BadRequestError``, which leaves the code valid, and ``DatabaseError``."""
        key = requested_key(request)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._join, secret, key, network)

    def _join(self, secret: str, key: CertificatePublicKeyTypes, network: str) -> bytes | None:
        now_ms = self._clock.now_ms()
        with self._database.transaction() as transaction:
            device = use_code(transaction, now_ms, secret)
            if device is None:
                return None
            certificate = self.authority.certify_client(device, key, DEVICE_DAYS)
            end = certificate.not_valid_after_utc
            note_certificate(transaction, now_ms, device, certificate.serial_number, end, network)
        self._report(f"The device {device} has joined the fleet from {network}.")
        pem = certificate.public_bytes(Encoding.PEM).decode()
        return encode_answer(EnrolmentAnswer(self.authority.fleet, device, pem, self._broker_port))


class _EnrolmentServer(AuthenticatingServer):
    def __init__(
        self,
        enrolment: Enrolment,
        host: str,
        port: int,
        tls: ssl.SSLContext,
        report: Callable[[str], None],
    ) -> None:
        self.enrolment = enrolment
        # Each client has a code of its own instead of a token of the server (``is_allowed``).
        access = Access(host, "auto", name="enrolment server")
        super().__init__(host, port, access, _MAX_CLIENTS, tls, report)

    async def serve(self, connection: Connection) -> None:
        await _Handler(self, connection).run()


class _Handler(RequestHandler):
    """Handles the requests of one connection."""

    public_paths = frozenset({AUTHORITY_PATH})

    def __init__(self, server: _EnrolmentServer, connection: Connection) -> None:
        super().__init__(server, connection)
        self._enrolment = server.enrolment
        self._network = connection.network

    async def is_allowed(self, path: str, query: dict[str, list[str]]) -> bool:
        # The code of a request is in its body, so ``post`` checks it.
        return not await self.must_wait()

    async def get(self, path: str, query: dict[str, list[str]]) -> None:
        if path == AUTHORITY_PATH:
            await self.send(self._enrolment.authority.certificate_pem, _PEM)
        else:
            await self.send("There is no such page.\n", TEXT, HTTPStatus.NOT_FOUND)

    def max_body_bytes(self, path: str) -> int:
        return MAX_REQUEST_BYTES if path == ENROL_PATH else 0

    async def post(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        try:
            request = decode_request(body)
            answer = await self._enrolment.join(request.secret, request.request.encode(), self._network)
        except (EnrolmentMessageError, BadRequestError, UnicodeEncodeError) as error:
            await self.send(f"The request is refused: {error}.\n", TEXT, HTTPStatus.BAD_REQUEST)
        except AreniteError:
            # The error names the database, which is no business of the client.
            text = "The database cannot be reached. Try again.\n"
            await self.send(text, TEXT, HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            if answer is None:
                await self.refuse_secret(request.secret, "The code is wrong, used already, or expired.")
            else:
                await self.send(answer, CONTENT_TYPES["json"])


def _context(authority: FleetAuthority) -> ssl.SSLContext:
    """Return a TLS context with a new certificate for the enrolment server."""
    key = new_key()
    certificate = authority.certify_server("enrolment", key.public_key(), [SERVER_NAME])
    with temporary_folder("arenite-tls-") as folder:
        pair = Path(folder) / "pair.pem"
        replace_file(pair, certificate.public_bytes(Encoding.PEM) + key_pem(key), private=True)
        return server_context(pair, None)
