"""A client for the few commands of W3C WebDriver that open a page: https://www.w3.org/TR/webdriver2/"""

from __future__ import annotations

import http.client
import json
from typing import Any

_HOST = "127.0.0.1"
#: A browser on a busy computer needs up to this number of seconds for a command.
_TIMEOUT_S = 120.0


class WebDriverError(Exception):
    """The driver refused a command, or did not answer. The message is the driver's own."""


class WebDriver:
    """The driver that listens on ``port`` of this computer, with at most one session: a browser with one window."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._session = ""

    def ready(self) -> bool:
        """Return whether the driver answers and can start a browser."""
        try:
            return bool(self._call("GET", "/status")["ready"])
        except (WebDriverError, KeyError, TypeError):
            return False

    def start_browser(self) -> None:
        """Start the browser. Raises ``WebDriverError`` if the driver cannot."""
        session = self._call("POST", "/session", {"capabilities": {}})
        self._session = f"/session/{session['sessionId']}"

    def open(self, url: str) -> None:
        """Open ``url`` in the browser's window, and wait until the page has loaded."""
        self._call("POST", f"{self._session}/url", {"url": url})

    def window_is_open(self) -> bool:
        """Return whether the browser still runs and has its window."""
        try:
            self._call("GET", f"{self._session}/window")
        except WebDriverError:
            return False
        return True

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=_TIMEOUT_S)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json; charset=utf-8"})
            reply = connection.getresponse()
            value = json.loads(reply.read())["value"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            raise WebDriverError(f"the driver does not answer: {error}") from error
        finally:
            connection.close()
        if reply.status != http.client.OK:
            fields = value if isinstance(value, dict) else {}
            raise WebDriverError(": ".join(str(fields[k]) for k in ("error", "message") if fields.get(k)))
        return value
