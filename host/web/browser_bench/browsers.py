"""Start an installed browser without a window on one page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from arenite.errors import ToolError
from arenite.processes import Child, temporary_folder


@dataclass(frozen=True)
class BrowserKind:
    """A browser: the names of its command, the first one that is installed is used, and its Debian package."""

    name: str
    commands: tuple[str, ...]
    package: str


CHROMIUM = BrowserKind(
    "chromium", ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"), "chromium"
)
FIREFOX = BrowserKind("firefox", ("firefox", "firefox-esr"), "firefox-esr")
BROWSERS = {kind.name: kind for kind in (CHROMIUM, FIREFOX)}

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
    """Return the path of the browser's command. Raises ``ToolError`` if it is not installed."""
    path = next((found for found in map(shutil.which, kind.commands) if found), None)
    if path is None:
        raise ToolError(
            f"The browser {kind.name} is not installed.", f"On Debian: apt install {kind.package}"
        )
    return path


@contextmanager
def open_browser(kind: BrowserKind, url: str) -> Iterator[Child]:
    """Open ``url`` in a new browser without a window, and yield its process. At the end, the browser ends.

    The browser gets a profile of its own. Raises ``ToolError`` if it is not installed.
    """
    program = browser_command(kind)
    with temporary_folder(f"arenite-{kind.name}-") as profile:
        if kind is FIREFOX:
            (profile / "user.js").write_text(_FIREFOX_PREFERENCES)
            command = [program, "--headless", "--no-remote", "--profile", str(profile), url]
        else:
            # Chromium's sandbox refuses to run as root.
            sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
            command = [
                program,
                "--headless=new",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={profile}",
                *sandbox,
                url,
            ]
        # Firefox keeps files in the home folder beside its profile.
        environment = {**os.environ, "HOME": str(profile)}
        browser = Child(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            yield browser
        finally:
            browser.kill()
            browser.wait()
