"""The server of a fleet's page and metrics. It only reads the database, and has no state of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from arenite.errors import UsageError
from arenite.host.fleet.clock import Clock
from arenite.host.fleet.database import Database, Transaction
from arenite.host.http_server.access import Access
from arenite.host.http_server.addresses import listening_error, url_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from arenite.host.fleet.web.handler import FleetPageServer

_T = TypeVar("_T")
_MAX_CLIENTS = 64


class FleetPage:
    """The page and the metrics of the fleet in ``database``, which no other thread may use until ``close``."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        report: Callable[[str], None],
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        *,
        names: tuple[str, ...] = (),
        tls_certificate: Path | None = None,
        tls_key: Path | None = None,
    ) -> None:
        """Args:
            database: the registry of the fleet.
            clock: the clock by which devices count as silent.
            report: called with lines of text for people.
            host: the address to bind. Any address except a loopback address requires a ``token``.
            port: the port to bind. With 0, the system chooses a free port.
            token: the token that clients must send once; with ``auto``, a token is generated.
            names: further names of this computer that browsers may use for the page.
            tls_certificate: a PEM file with a certificate; None: connections are not encrypted.
            tls_key: a PEM file with the certificate's private key; None: the key is in the file of the certificate.

        Raises:
            UsageError: a token is required and was not given, or the certificate cannot be used.
        """
        self.access = Access(host, token, names, "fleet page")
        self._tls: SSLContext | None = None
        if tls_certificate is not None or tls_key is not None:
            from arenite.host.http_server.tls import server_context

            self._tls = server_context(tls_certificate, tls_key)
        # A connection to the database is for one thread.
        database.close()
        self._executor = ThreadPoolExecutor(1, "arenite-fleet-database")
        self._database = database
        self._clock = clock
        self._report = report
        self._host, self._port = host, port
        self._server: FleetPageServer | None = None
        self._is_closed = False

    @property
    def url(self) -> str:
        """The address to open in a browser. It contains the token if there is one."""
        return self.public_url + self.access.query

    @property
    def public_url(self) -> str:
        """The address without the token."""
        assert self._server is not None
        return url_of(self._host, self._server.port, is_encrypted=self._tls is not None)

    def start(self) -> str:
        """Begin to listen, and return ``url``. Raises ``UsageError`` if the address is in use or is not an address of
        this computer, or if a package is missing."""
        try:
            from arenite.host.fleet.web.handler import FleetPageServer
        except ModuleNotFoundError as error:
            if error.name not in ("h11", "prometheus_client"):
                raise
            raise UsageError(
                f"The fleet page needs {error.name}.", "Install it: pip install 'arenite[fleet]'."
            ) from error
        try:
            self._server = FleetPageServer(
                self._host, self._port, self.access, self._read, _MAX_CLIENTS, self._tls, self._report
            )
        except (OSError, OverflowError) as error:
            raise listening_error(self.access.name, self._host, self._port, error) from error
        self._server.start()
        return self.url

    def close(self) -> None:
        """End all connections, and close the database. Calling it again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        self._executor.submit(self._database.close)
        self._executor.shutdown()

    async def _read(self, work: Callable[[Transaction, int], _T]) -> _T:
        def in_transaction() -> _T:
            with self._database.reading() as transaction:
                return work(transaction, self._clock.now_ms())

        return await asyncio.get_running_loop().run_in_executor(self._executor, in_transaction)
