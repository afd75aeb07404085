"""Start an installed browser without a window on one page."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arenite.errors import ToolError
from arenite.host.web.browser_bench.webkit import DISPLAY_SERVER, DRIVER, open_webkit
from arenite.processes import Child, temporary_folder


@dataclass(frozen=True)
class BrowserKind:
    """A browser: the names of its command, the first one that is installed is used, and its Debian package.

    ``more`` has other commands that it needs, with their Debian packages.
    """

    name: str
    commands: tuple[str, ...]
    package: str
    more: tuple[tuple[str, str], ...] = ()


class OpenBrowser(Protocol):
    """A browser with a page."""

    def ended(self) -> str:
        """Return why the browser has ended, or "" while it runs."""
        ...


CHROMIUM = BrowserKind(
    "chromium", ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"), "chromium"
)
FIREFOX = BrowserKind("firefox", ("firefox", "firefox-esr"), "firefox-esr")
WEBKIT = BrowserKind("webkit", (DRIVER,), "webkit2gtk-driver", ((DISPLAY_SERVER, "xvfb"),))
BROWSERS = {kind.name: kind for kind in (CHROMIUM, FIREFOX, WEBKIT)}

#: Preferences of a new Firefox profile: no page of welcome, no updates, and timers with the best resolution.
_FIREFOX_PREFERENCES = """\
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.update.enabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("trailhead.firstrun.didSeeAboutWelcome", true);
"""


def browser_command(kind: BrowserKind) -> str:
    """Return the path of the browser's command. Raises ``ToolError`` if it, or another command that it needs, is not
    installed."""
    path = next((found for found in map(shutil.which, kind.commands) if found), None)
    missing = [(command, package) for command, package in kind.more if shutil.which(command) is None]
    packages = " ".join([*([] if path else [kind.package]), *(package for _, package in missing)])
    if path is None:
        raise ToolError(f"The browser {kind.name} is not installed.", f"On Debian: apt install {packages}")
    if missing:
        names = " and ".join(command for command, _ in missing)
        raise ToolError(
            f"The browser {kind.name} needs {names}, which is not installed.",
            f"On Debian: apt install {packages}",
        )
    return path


@contextmanager
def open_browser(kind: BrowserKind, url: str) -> Iterator[OpenBrowser]:
    """Open ``url`` in a new browser without a window, and yield the browser. At the end, the browser ends.

    The browser gets a profile of its own. Raises ``ToolError`` if it is not installed or does not start.
    """
    program = browser_command(kind)
    with temporary_folder(f"arenite-{kind.name}-") as profile:
        if kind is WEBKIT:
            with open_webkit(url, profile) as window:
                yield window
        else:
            command = _command(kind, program, profile, _start_page(profile, url))
            with _open_command(command, profile) as browser:
                yield browser


def _start_page(folder: Path, url: str) -> str:
    """Write a page to the private ``folder`` that leads to ``url``, and return its address. Other users of this
    computer can read the browser's command line, but not this file, so they do not see the token in ``url``."""
    page = folder / "start.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(url)}">')
    return page.as_uri()


def _command(kind: BrowserKind, program: str, profile: Path, url: str) -> list[str]:
    """Return the command that opens ``url`` without a window, with the new profile in the folder ``profile``."""
    if kind is FIREFOX:
        (profile / "user.js").write_text(_FIREFOX_PREFERENCES)
        return [program, "--headless", "--no-remote", "--profile", str(profile), url]
    # Chromium's sandbox refuses to run as root.
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [
        program,
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        f"--user-data-dir={profile}",
        *sandbox,
        url,
    ]


class _BrowserProcess:
    """A browser that is one command."""

    def __init__(self, process: Child) -> None:
        self._process = process

    def ended(self) -> str:
        return "" if self._process.poll() is None else f"it ended with exit code {self._process.returncode}"


@contextmanager
def _open_command(command: Sequence[str], home: Path) -> Iterator[_BrowserProcess]:
    # Firefox keeps files in the home folder beside its profile.
    environment = {**os.environ, "HOME": str(home)}
    browser = Child(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        yield _BrowserProcess(browser)
    finally:
        browser.kill()
        browser.wait()
