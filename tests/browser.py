"""Control headless Chromium through its DevTools protocol, for tests of pages."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
# Seconds after which a browser that does not start or answer counts as hung. They are long because a busy computer
# makes the browser slow.
_START_S, _WAIT_S = 120.0, 60.0


class _NavigatedError(AssertionError):
    """The page was replaced by another one while it computed a value."""


#: What the browser reports if the page is replaced while it computes a value.
_NAVIGATED = (
    "navigated or closed",
    "context was destroyed",
    "Cannot find context",
    "default execution context",
)


class Browser:
    """One browser page. ``errors`` lists the errors and warnings that the page wrote to its console. ``flags`` are
    further arguments of the browser."""

    def __init__(self, profile: Path, *flags: str) -> None:
        import websocket

        assert BROWSER is not None
        self._process = subprocess.Popen(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-port=0", "--remote-allow-origins=*", f"--user-data-dir={profile}",
             *flags, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.errors: list[str] = []
        self._numbers = itertools.count(1)
        self._loaded: set[str] = set()  # the navigations whose pages are complete
        try:
            port = int(_wait(lambda: (profile / "DevToolsActivePort").read_text().split()[0]))
            tab = _wait(lambda: _first_tab(port))
            self._socket = websocket.create_connection(tab, timeout=_WAIT_S)
        except BaseException:
            self._end(signal.SIGKILL)
            raise
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self._socket.close()
        self._end(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._end(signal.SIGKILL)
            self._process.wait()

    def _end(self, number: signal.Signals) -> None:
        """Send a signal to the process group, because Debian's command is a shell script and the browser is its
        child."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    @property
    def group(self) -> int:
        """The number of the group of the browser's processes."""
        return self._process.pid

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result. Store errors that the page reports."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    navigated = any(text in message["error"].get("message", "") for text in _NAVIGATED)
                    raise (_NavigatedError if navigated else AssertionError)(f"{method}: {message['error']}")
                return message["result"]
            self._event(message)

    def _event(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self._loaded.add(params["loaderId"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            # Ignore the browser's hint about reading a canvas, because only the tests read it, not the page.
            if "willReadFrequently" not in json.dumps(params["args"]):
                self.errors.append(json.dumps(params["args"])[:600])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            if "willReadFrequently" in params["entry"]["text"]:
                return
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        """Open the page at ``url`` and wait until it is complete. Afterwards the earlier page has no connection.

        The browser answers before the new page replaces the earlier one, so it is not enough to wait until the
        document is complete: this may still be the earlier document.
        """
        navigation = self.call("Page.navigate", url=url).get("loaderId")
        end = time.monotonic() + _START_S
        while navigation is not None and navigation not in self._loaded:
            assert time.monotonic() < end, f"{url} is not complete after {_START_S:.0f} s"
            self._event(json.loads(self._socket.recv()))
        self.until("document.readyState === 'complete'")

    def size(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the page in CSS pixels, its color scheme, and whether the browser is that of a phone."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, script: str) -> Any:
        """Return the value of a JavaScript expression. A promise is awaited."""
        reply = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise AssertionError(f"{script}: {json.dumps(reply['exceptionDetails'])[:600]}")
        return reply["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until ``script`` is true and return its value."""
        return _wait(lambda: self.value(script), description=script)

    def picture(self, path: Path, full: bool = True) -> None:
        """Write a PNG image of the page, or with ``full`` false of its visible part only."""
        reply = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(reply["data"]))


def _first_tab(port: int) -> str:
    """Return the address of the WebSocket that controls the browser's first page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
        return next(t["webSocketDebuggerUrl"] for t in json.load(answer) if t["type"] == "page")


def _wait(condition: Any, description: str = "the browser") -> Any:
    """Call ``condition`` until its result is true, and return the result."""
    end = time.monotonic() + _START_S
    while True:
        try:
            value = condition()
        except (OSError, IndexError, StopIteration, _NavigatedError):
            value = None
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{description} is still false after {_START_S:.0f} s")
        time.sleep(0.05)
