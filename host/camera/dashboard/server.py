"""The dashboard: a small HTTP server with a web page, the live data for the page, and the metrics.

The server has its own thread; the dashboard costs the loop's thread a few microseconds per frame. Pictures are scaled
only while a browser shows them, and the loop never waits for a client. The modules of the server are imported only by
``start``.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arenite.errors import UsageError
from arenite.host.camera.dashboard.preview import Preview
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.history import FIELDS, History
from arenite.host.camera.observe.metrics import Metrics
from arenite.host.camera.sinks.writer import to_stderr
from arenite.host.http_server.access import Access
from arenite.host.http_server.addresses import listening_error, url_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from arenite.host.camera.dashboard.handler import DashboardServer

#: If the loop has sent no state for this number of seconds, ``/healthz`` reports that the loop has stalled.
STALLED_S = 10.0
#: The number of updates that are stored for slow pages.
_MAX_NEWS = 64


class Dashboard:
    """The dashboard. It is a sink of the loop's served frames, and a listener of the loop's state
    (``observe/loop_state.py``), which arrives about twice a second.

    ``close`` must be called before the source of the frames is closed.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        *,
        title: str = "arenite camera",
        metrics: Metrics | None = None,
        names: tuple[str, ...] = (),
        max_clients: int = 32,
        tls_certificate: Path | None = None,
        tls_key: Path | None = None,
        report: Callable[[str], None] = to_stderr,
    ) -> None:
        """Args:
            host: the address to bind. Any address except a loopback address requires a ``token``.
            port: the port to bind. With 0, the system chooses a free port.
            token: the token that clients must send once; with ``auto``, a token is generated.
            title: the title of the page.
            metrics: the metrics that are shown at ``/metrics`` and updated by this dashboard; None creates new metrics.
            names: further names of this computer that browsers may use for the dashboard.
            max_clients: the maximum number of connections at a time; a page uses two connections.
            tls_certificate: a PEM file with a certificate; None: connections are not encrypted.
            tls_key: a PEM file with the certificate's private key; None: the key is in the file of the certificate.
            report: called with lines of text for people.

        Raises:
            UsageError: a token is required and was not given, or the certificate cannot be used.
        """
        self.title = title
        self.metrics = metrics if metrics is not None else Metrics()
        self.access = Access(host, token, names)
        self.run_id = f"{time.time_ns():x}"
        self.history = History()
        self.preview = Preview(report, self._wake)
        self.max_clients = max_clients
        self._tls: SSLContext | None = None
        if tls_certificate is not None or tls_key is not None:
            from arenite.host.http_server.tls import server_context

            self._tls = server_context(tls_certificate, tls_key)
        self._report = report
        self._host, self._port = host, port
        self._latest: ServedFrame | None = None
        self.cameras = 1  # the number of cameras that have sent frames so far
        self._state: Mapping[str, Any] = {}
        self._news: deque[tuple[int, dict[str, Any]]] = deque(maxlen=_MAX_NEWS)
        self._number = 0
        self._updated_ns = 0
        self._lock = threading.Lock()
        self._server: DashboardServer | None = None
        self.ended = False

    @property
    def token(self) -> str | None:
        return self.access.token

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
        this computer, or if h11 is not installed."""
        try:
            from arenite.host.camera.dashboard.handler import DashboardServer
        except ModuleNotFoundError as error:
            if error.name != "h11":
                raise
            raise UsageError(
                "The dashboard needs h11.", "Install it: pip install 'arenite[dashboard]'."
            ) from error
        try:
            server = DashboardServer(self._host, self._port, self, self.max_clients, self._tls, self._report)
        except (OSError, OverflowError) as error:
            raise listening_error(self.access.name, self._host, self._port, error) from error
        self._server = server
        self.preview.start()
        server.start()
        return self.url

    def take(self, served: ServedFrame, frame: Frame | None = None) -> None:
        self.metrics.take(served, frame)
        self._latest = served
        preview = self.preview
        preview.give_back()
        if served.source >= self.cameras:
            self.cameras = served.source + 1
        if preview.watched and frame is not None:
            preview.offer(served, frame)

    def update(self, state: Mapping[str, Any]) -> None:
        self.preview.give_back()
        self.metrics.update(state)
        now = time.monotonic_ns()
        t_s = state.get("t_s")
        point = self.history.add(state, now / 1e9 if t_s is None else t_s)
        news: dict[str, Any] = {"state": state, "point": point, "log": self.history.new_actions(state)}
        news["cameras"] = self.cameras
        with self._lock:
            self._state, self._updated_ns = state, now
            self._number += 1
            self._news.append((self._number, news))
        self._wake()

    def close(self) -> None:
        """End all connections. Calling it again does nothing."""
        with self._lock:
            if self.ended:
                return
            self.ended = True
        self.preview.end()
        if self._server is not None:
            self._server.close()

    def _wake(self) -> None:
        """Wake the handlers, so that they send what is new."""
        if self._server is not None:
            self._server.wake()

    # The HTTP handlers call the following methods in the server's thread.

    def hello(self) -> tuple[int, dict[str, Any]]:
        """Return the number of the latest update, and all data that a page needs at its start."""
        with self._lock:
            return self._number, {
                "run": self.run_id,
                "title": self.title,
                "cameras": self.cameras,
                "fields": FIELDS,
                "points": list(self.history.points),
                "log": list(self.history.log),
                "state": self._state,
            }

    def news(self, after: int) -> list[tuple[int, dict[str, Any]]] | None:
        """Return the updates after number ``after``, with their numbers. Return None if some of them are no longer
        stored."""
        with self._lock:
            updates = [(number, news) for number, news in self._news if number > after]
        return updates if not updates or updates[0][0] == after + 1 else None

    def health(self) -> tuple[bool, str]:
        """Return whether frames are being served, and a short text about it."""
        if not self._state.get("ready"):
            return False, "warming up"
        silent_s = (time.monotonic_ns() - self._updated_ns) / 1e9
        return (False, f"stalled for {silent_s:.0f} s") if silent_s > STALLED_S else (True, "ok")

    def answers(self) -> dict[str, Any] | None:
        latest = self._latest
        return latest.to_json() if latest is not None else None
