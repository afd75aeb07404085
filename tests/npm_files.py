"""Files of npm packages for tests and benchmarks, pinned by hash and kept in the cache. Nothing of a package runs on
this computer outside a browser."""

from __future__ import annotations

from arenite.files import cache_directory, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import Package


def npm_package(name: str, version: str, sha256: str, nbytes: int, licence: str) -> Package:
    """Return the description of a package whose archive has ``nbytes`` bytes and the hash ``sha256``."""
    url = f"https://www.npmjs.com/package/{name}/v/{version}"
    return Package(name, version, sha256, nbytes, licence, url, (), "npm")


def npm_file(package: Package, member: str) -> bytes:
    """Return the bytes of a file in the archive of ``package``. Raises ``ToolError`` if it cannot be downloaded."""
    stored = cache_directory() / "npm" / package.sha256[:12] / member.replace("/", "__")
    if not stored.is_file():
        with download_package(package, cache_directory() / "npm", progress=False) as archive:
            replace_file(stored, read_member(archive, (member,)), durable=False)
    return stored.read_bytes()
