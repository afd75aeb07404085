"""Download a package of a pinned version, from the npm registry, from a web address or with pip. pip uses its
configured index, mirror or proxy."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from arenite.errors import ToolError
from arenite.models import npm, source_archive
from arenite.models.manifest import Package
from arenite.models.web import download_file
from arenite.processes import Child
from arenite.safe_console import SafeConsole

QUIET_SECONDS = 2.0
"""A download with pip that takes less time leaves no line."""

TIMEOUT_SECONDS = 900.0
"""A download with pip fails if it takes longer than this time."""

_POLL_SECONDS = 0.1


@contextmanager
def download_package(package: Package, directory: Path, progress: bool = True) -> Iterator[Path]:
    """Download ``package`` to a temporary folder in ``directory``, and yield the path of the file. The file is
    deleted at the end of the context.

    pip checks the pinned hash before it opens the file, and nothing is installed. With ``progress``, standard error
    shows a bar on a terminal. If a download with pip takes longer than ``QUIET_SECONDS``, a line follows.

    Raises:
        ToolError: There is no network, the index does not have the package, the hash of the file is not the pinned
            hash, or pip is not installed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="download-", dir=directory) as temporary:
        folder = Path(temporary)
        if package.registry in ("npm", "sdist", "web"):
            names = {"npm": "package.tgz", "sdist": source_archive.archive_name(package)}
            file = folder / names.get(package.registry, package.url.rsplit("/", 1)[-1])
            _download_with_bar(package, file, progress)
            yield file
            return
        requirements = folder / "requirements.txt"
        requirements.write_text(
            f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", "utf-8"
        )
        target = folder / "package"
        command = [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--progress-bar=off"),
            *("--disable-pip-version-check", "--retries=2", "--require-hashes"),
            *("--dest", str(target), "--requirement", str(requirements)),
            *package.pip,
        ]
        _run(command, package, folder, progress)
        files = list(target.iterdir())
        if len(files) != 1:
            raise ToolError(f"pip downloaded {len(files)} files for {package.name} instead of one.")
        yield files[0]


@contextmanager
def _bar(package: Package, progress: bool) -> Iterator[tuple[Progress, TaskID]]:
    """Show a bar of progress on a terminal, and yield it with its task, which counts bytes."""
    console = SafeConsole(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    show_bar = progress and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not show_bar) as bar:
        yield bar, bar.add_task(f"Downloading {package.name} {package.version}", total=package.bytes)


def _download_with_bar(package: Package, file: Path, progress: bool) -> None:
    """Download ``package`` from the npm registry or from its address, with a bar of progress on a terminal."""
    with _bar(package, progress) as (bar, task):

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done)

        if package.registry == "npm":
            npm.download(package, file, report)
        elif package.registry == "sdist":
            source_archive.download(package, file, report)
        else:
            hint = "Check the network and the proxy (https_proxy)."
            source = urlsplit(package.url).netloc
            download_file(package.url, package, file, report, source=source, hint=hint)


def _run(command: list[str], package: Package, folder: Path, progress: bool) -> None:
    """Run the pip command, with its output and its temporary files in ``folder``. Raises ``ToolError`` if it fails or
    takes too long."""
    label = f"{package.name} {package.version} ({package.bytes / 1e6:.1f} MB)"
    log, parts = folder / "log.txt", folder / "parts"
    parts.mkdir()
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(parts))
    started = monotonic()
    with (
        log.open("wb") as stream,
        Child(command, stdout=stream, stderr=stream, env=environment) as process,
        _bar(package, progress) as (bar, task),
    ):
        try:
            while process.poll() is None:
                try:
                    process.wait(_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    bar.update(task, completed=_bytes_of_files(parts))
                    if monotonic() - started > TIMEOUT_SECONDS:
                        raise ToolError(
                            f"The download of {label} did not end within {TIMEOUT_SECONDS:.0f} s.",
                            "Check the network, then try again.",
                        ) from None
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise _failure(package, log.read_text("utf-8", "replace"))
    if progress and monotonic() - started > QUIET_SECONDS:
        SafeConsole(stderr=True).print(f"Downloaded {label} in {monotonic() - started:.0f} s.")


def _bytes_of_files(folder: Path) -> int:
    """Return the size of the files in ``folder`` and its folders. pip may remove one at any time."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def _failure(package: Package, log: str) -> ToolError:
    """Return the error for a failed download: pip's error as one sentence, and what to try."""
    name = f"{package.name} {package.version}"
    if "No module named pip" in log:
        return ToolError(
            f"This Python has no pip, which is needed to download {name}.", "Run `python -m ensurepip`."
        )
    if "DO NOT MATCH THE HASHES" in log:
        return ToolError(
            f"The package index has a file for {name} that differs from the pinned one "
            f"(SHA-256 {package.sha256[:12]}…), so it was not used.",
            "Use an index that mirrors PyPI unchanged.",
        )
    errors = [line.partition("ERROR: ")[2] for line in log.splitlines() if "ERROR: " in line]
    reason = (
        errors[-1].rstrip(".") if errors else (log.strip().splitlines() or ["pip printed no message"])[-1]
    )
    if "after connection broken" in log:  # in this case pip only reports that it did not find the version
        reason = "the package index cannot be reached"
    return ToolError(
        f"Could not download {name}: {reason}.",
        "Check the network and the package index of pip. Models that were downloaded before work offline.",
    )
