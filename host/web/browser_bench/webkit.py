"""Open a page in WebKitGTK. It always has a window, so it gets a display of its own that nobody sees."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from arenite.errors import ToolError
from arenite.host.web.browser_bench.webdriver import WebDriver, WebDriverError
from arenite.processes import Child

DRIVER, DISPLAY_SERVER = "WebKitWebDriver", "Xvfb"
#: A server or a driver on a busy computer needs up to this number of seconds to start.
_START_S = 60.0
#: The server gets this number of seconds to remove its lock file and its socket.
_END_S = 5.0
#: The address family of an entry in an Xauthority file that is valid for every display: FamilyWild in X11/Xauth.h.
_EVERY_DISPLAY = 65535
_COOKIE_NAME = b"MIT-MAGIC-COOKIE-1"


class WebKitWindow:
    """A window of WebKitGTK. ``ended`` returns why it has ended, or "" while it is open."""

    def __init__(self, driver: WebDriver, processes: Mapping[str, Child]) -> None:
        self._driver = driver
        self._processes = processes

    def ended(self) -> str:
        for name, process in self._processes.items():
            if process.poll() is not None:
                return f"{name} ended with exit code {process.returncode}"
        return "" if self._driver.window_is_open() else "its window was closed"


@contextmanager
def open_webkit(url: str, folder: Path) -> Iterator[WebKitWindow]:
    """Open ``url`` in WebKitGTK on a new display, and yield its window. At the end, all its processes end.

    ``folder`` is an empty folder for the browser's files. Raises ``ToolError`` if the display or the browser does not
    start.
    """
    with contextlib.ExitStack() as stack:
        server, environment = _start_display(stack, folder)
        port = _free_port()
        driver_process = _start(stack, [DRIVER, f"--port={port}"], {**environment, **_private(folder)})
        driver = WebDriver(port)
        end = time.monotonic() + _START_S
        while not driver.ready():
            if driver_process.poll() is not None or time.monotonic() > end:
                raise ToolError(f"{DRIVER} does not start.", f"Run `{DRIVER} --port=4444` to see why.")
            time.sleep(0.05)
        try:
            driver.start_browser()
            driver.open(url)
        except WebDriverError as error:
            raise ToolError(
                f"WebKitGTK cannot open a page: {error}.",
                "Install its packages again. On Debian: apt install --reinstall webkit2gtk-driver",
            ) from error
        yield WebKitWindow(driver, {DISPLAY_SERVER: server, DRIVER: driver_process})


def _start_display(stack: contextlib.ExitStack, folder: Path) -> tuple[Child, dict[str, str]]:
    """Start a display server, and return it and the environment of programs that use it. The number of the display is
    the first that is free."""
    keys = folder / "Xauthority"
    keys.touch(0o600)
    keys.write_bytes(_key_file(secrets.token_bytes(16)))
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as numbers:
        command = [DISPLAY_SERVER, "-displayfd", str(writing), "-screen", "0", "1280x1024x24"]
        try:
            server = _start(stack, [*command, "-nolisten", "tcp", "-auth", str(keys)], os.environ, writing)
        finally:
            os.close(writing)
        line = b""
        end = time.monotonic() + _START_S
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([numbers], [], [], max(0.0, end - time.monotonic()))
            part = numbers.read(16) if ready else b""
            if not part:
                raise ToolError(
                    f"{DISPLAY_SERVER} does not start.", f"Run `{DISPLAY_SERVER} :99` to see why."
                )
            line += part
    environment = {**os.environ, "DISPLAY": f":{int(line)}", "XAUTHORITY": str(keys), "GDK_BACKEND": "x11"}
    environment.pop("WAYLAND_DISPLAY", None)
    return server, environment


def _key_file(key: bytes) -> bytes:
    """Return an Xauthority file. Without a key, every user of this computer could see and use the display."""
    fields = (b"", b"", _COOKIE_NAME, key)  # address, number of the display, name, key
    return struct.pack(">H", _EVERY_DISPLAY) + b"".join(struct.pack(">H", len(f)) + f for f in fields)


def _private(folder: Path) -> dict[str, str]:
    """Return variables with which the browser keeps its files in ``folder``, and starts no service of a desktop."""
    folders = {f"XDG_{name}_HOME": str(folder) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    return {
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        **folders,
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "GIO_USE_VFS": "local",
        "GSETTINGS_BACKEND": "memory",
        "NO_AT_BRIDGE": "1",
    }


def _start(
    stack: contextlib.ExitStack, command: Sequence[str], environment: Mapping[str, str], *files: int
) -> Child:
    """Start a program that ends with ``stack``. It inherits the file descriptors ``files``."""
    process = Child(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=files,
    )
    stack.callback(process.stop, _END_S)
    return process


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
