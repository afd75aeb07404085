"""Download a package of a pinned version from the npm registry over HTTPS, without npm or Node."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from arenite.errors import ToolError
from arenite.models.manifest import Package
from arenite.models.web import download_file

REGISTRY = "https://registry.npmjs.org"


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
    if not url.startswith(("https://", "http://")):
        raise ToolError(
            f"The npm registry '{registry()}' is not a web address.",
            "Set npm_config_registry to an address that begins with https://, or unset it.",
        )
    download_file(
        url,
        package,
        target,
        report,
        source=registry(),
        hint="Check the network, the proxy (https_proxy) and the registry (npm_config_registry).",
    )
