"""Download a package of a pinned version from the npm registry over HTTPS, without npm or Node."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from arenite.errors import ToolError
from arenite.models.manifest import Package

REGISTRY = "https://registry.npmjs.org"

TIMEOUT_SECONDS = 60.0
"""A download fails if no byte arrives for this time."""

_CHUNK_BYTES = 1 << 16


def registry() -> str:
    """Return the address of the registry: npm's environment variable ``npm_config_registry``, or ``REGISTRY``."""
    configured = os.environ.get("npm_config_registry")  # noqa: SIM112 (npm's spelling)
    return (configured or REGISTRY).rstrip("/")


def tarball_url(package: Package) -> str:
    """Return the address of the package's archive. The archive of a scoped package such as ``@scope/name`` is called
    ``name-VERSION.tgz``."""
    return f"{registry()}/{package.name}/-/{package.name.rsplit('/', 1)[-1]}-{package.version}.tgz"


def download(package: Package, target: Path, report: Callable[[int, int], None]) -> None:
    """Write the package's archive to the file ``target``, and check its hash. ``report(done, total)`` is called
    during the download with numbers of bytes.

    Raises ``ToolError`` if there is no network, the package is unknown, or the hash of the file is not the pinned hash.
    """
    url = tarball_url(package)
    name = f"{package.name} {package.version}"
    if not url.startswith(("https://", "http://")):
        raise ToolError(
            f"The npm registry '{registry()}' is not a web address.",
            "Set npm_config_registry to an address that begins with https://, or unset it.",
        )
    digest = hashlib.sha256()
    done = 0
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer, target.open("wb") as file:
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
            f"Could not download {name} from {registry()}: {str(reason).rstrip('.')}.",
            "Check the network, the proxy (https_proxy) and the registry (npm_config_registry). "
            "Data that were downloaded before work offline.",
        ) from error
    if digest.hexdigest() != package.sha256:
        raise ToolError(
            f"The registry has a file for {name} that differs from the pinned one "
            f"(SHA-256 {package.sha256[:12]}…), so it was not used.",
            "Use a registry that mirrors npm's registry unchanged.",
        )
