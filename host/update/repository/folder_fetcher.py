"""Read a repository from a folder instead of a server."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from tuf.api.exceptions import DownloadHTTPError
from tuf.ngclient.fetcher import FetcherInterface

_CHUNK_BYTES = 1 << 20


class FolderFetcher(FetcherInterface):
    """Reads ``file://`` addresses. A missing file is reported as a server does, with status 404."""

    def _fetch(self, url: str) -> Iterator[bytes]:
        path = unquote(urlsplit(url).path)
        try:
            file = open(path, "rb")  # noqa: SIM115 - the generator closes it
        except (FileNotFoundError, IsADirectoryError) as error:
            raise DownloadHTTPError(f"There is no file {path}", 404) from error

        def chunks() -> Iterator[bytes]:
            with file:
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk

        return chunks()
