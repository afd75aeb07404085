"""Download a source archive of a pinned version from the package index of pip, without running anything in it.

``pip download`` builds the metadata of a source archive, for which it installs the newest build tools and runs the
archive's setup.py. This module reads the index itself, with pip's settings: ``index-url``, ``extra-index-url``,
``find-links``, ``cert`` and ``proxy`` of its files and its environment. It knows no netrc file and no keyring.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from arenite.errors import ToolError
from arenite.models.manifest import Package
from arenite.models.web import TIMEOUT_SECONDS, download_file

DEFAULT_INDEX = "https://pypi.org/simple"
_MAX_PAGE_BYTES = 1 << 26


def archive_name(package: Package) -> str:
    """Return the name of the source archive."""
    return f"{package.name.replace('-', '_')}-{package.version}.tar.gz"


def download(package: Package, target: Path, report: Callable[[int, int], None]) -> None:
    """Write the source archive to the file ``target``, and check its hash. ``report(done, total)`` is called during the
    download with numbers of bytes.

    Raises ``ToolError`` if no index has the archive, or if its hash is not the pinned hash.
    """
    settings = pip_settings()
    name = archive_name(package)
    for folder in settings.get("find-links", "").split():
        path = Path(folder.removeprefix("file://")) / name
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == package.sha256:
            shutil.copyfile(path, target)
            return
    project = re.sub(r"[-_.]+", "-", package.name).lower()
    indexes = [settings.get("index-url", DEFAULT_INDEX), *settings.get("extra-index-url", "").split()]
    passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
    indexes = [_without_password(index, passwords) for index in indexes]
    opener = _opener(settings, passwords)
    reasons = []
    for index in indexes:
        host = urlsplit(index).hostname or index
        try:
            url = _find(opener, f"{index.rstrip('/')}/{project}/", name)
        except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
            reasons.append(f"{host}: {getattr(error, 'reason', None) or error}")
            continue
        if url is None:
            reasons.append(f"{host} does not have it")
            continue
        hint = "Check the network and the package index of pip."
        download_file(url, package, target, report, source=host, hint=hint, opener=opener)
        return
    raise ToolError(
        f"Could not download {name}: {'; '.join(reasons)}.", "Check the network and the package index of pip."
    )


def pip_settings() -> dict[str, str]:
    """Return pip's settings for downloads: those of its files, and those of the environment, which come first."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    sections: dict[str, dict[str, str]] = {}
    for line in result.stdout.splitlines():
        match = re.fullmatch(r"(global|download|:env:)\.([\w-]+)=(['\"].*['\"])", line)
        if match is not None:
            sections.setdefault(match[1], {})[match[2]] = str(ast.literal_eval(match[3]))
    return {
        **sections.get("global", {}),
        **sections.get("download", {}),
        **sections.get(":env:", {}),
    }


def _without_password(index: str, passwords: urllib.request.HTTPPasswordMgrWithPriorAuth) -> str:
    """Return the address of the index without user and password, which are moved to ``passwords``."""
    parts = urlsplit(index)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is not None:
        host = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "/", "", ""))
        passwords.add_password(
            None, host, unquote(parts.username), unquote(parts.password or ""), is_authenticated=True
        )
    return bare


def _opener(
    settings: dict[str, str], passwords: urllib.request.HTTPPasswordMgrWithPriorAuth
) -> urllib.request.OpenerDirector:
    """Return what opens addresses with pip's certificates and its proxy."""
    context = ssl.create_default_context(cafile=settings.get("cert"))
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    handlers.append(urllib.request.HTTPBasicAuthHandler(passwords))
    if settings.get("proxy"):
        proxies = {"http": settings["proxy"], "https": settings["proxy"]}
        handlers.append(urllib.request.ProxyHandler(proxies))
    return urllib.request.build_opener(*handlers)


class _Links(HTMLParser):
    """Collects the links of a page of an index by the name of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            address = urldefrag(href).url
            self.links.setdefault(unquote(urlsplit(address).path.rsplit("/", 1)[-1]), address)


def _find(opener: urllib.request.OpenerDirector, page: str, name: str) -> str | None:
    """Return the address of the file ``name`` that the page of an index links to, or None."""
    if page.startswith("file:"):
        page += "index.html"
    request = urllib.request.Request(page, headers={"Accept": "text/html"})
    with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
        text = answer.read(_MAX_PAGE_BYTES).decode("utf-8", "replace")
        page = answer.geturl()
    links = _Links()
    links.feed(text)
    return urljoin(page, links.links[name]) if name in links.links else None
