"""Download a file of a pinned hash over HTTPS."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from arenite.errors import ToolError
from arenite.models.manifest import Package

TIMEOUT_SECONDS = 60.0
"""A download fails if no byte arrives for this time."""

_CHUNK_BYTES = 1 << 16


def download_file(
    url: str,
    package: Package,
    target: Path,
    report: Callable[[int, int], None],
    *,
    source: str,
    hint: str,
    opener: urllib.request.OpenerDirector | None = None,
) -> None:
    """Write the file at ``url`` to ``target``, and compare it with the hash of ``package``.

    ``report(done, total)`` is called during the download with numbers of bytes. The error says ``source``, the place
    that should have the file, and ``hint``, what to check if the download fails. ``opener`` opens the address.

    Raises ``ToolError`` if there is no network or no such file, or if its hash is not the pinned hash.
    """
    name = f"{package.name} {package.version}"
    digest = hashlib.sha256()
    done = 0
    try:
        open_url = urllib.request.urlopen if opener is None else opener.open
        with open_url(url, timeout=TIMEOUT_SECONDS) as answer, target.open("wb") as file:
            while chunk := answer.read(_CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                report(min(done, package.bytes), package.bytes)
                if done > package.bytes:
                    break  # the file is larger than the pinned file
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        TimeoutError,
        ValueError,
        ConnectionError,
    ) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(error, urllib.error.HTTPError):
            reason = f"HTTP status {error.code}, {reason}"
        raise ToolError(
            f"Could not download {name} from {source}: {str(reason).rstrip('.')}.",
            f"{hint} Data that were downloaded before work offline.",
        ) from error
    if digest.hexdigest() != package.sha256:
        raise ToolError(
            f"{source} has a file for {name} that differs from the pinned one (SHA-256 {package.sha256[:12]}…), so it "
            "was not used.",
            "Use a registry, mirror or proxy that passes files on unchanged.",
        )
