"""Repositories of models for tests: keys, a publisher, and a server of static files."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arenite.host.update.keys import generate_key
from arenite.host.update.repository.client import ModelRepository
from arenite.host.update.repository.model_target import ModelTarget
from arenite.host.update.repository.publisher import (
    Expiry,
    RoleKeys,
    add_model,
    init_repository,
    refresh_repository,
)
from tests.host.small_graphs import classifier, save

NO_TUF = "needs tuf: pip install 'arenite[update]'"
#: A date in the past on which an online signature of seven days is valid no more.
LONG_AGO = datetime.now(UTC) - timedelta(days=30)


@dataclass
class Publisher:
    """A publisher with keys of its own and a repository in ``folder``."""

    folder: Path
    keys: RoleKeys = field(init=False)
    root: Path = field(init=False)

    def __post_init__(self) -> None:
        keys = self.folder.parent / f"{self.folder.name}-keys"
        keys.mkdir()
        names = ("root", "targets", "online")
        for name in names:
            generate_key(keys / f"{name}.pem")
        self.keys = RoleKeys(*(keys / f"{name}.pem" for name in names))
        self.root = init_repository(self.folder, self.keys)

    def add(self, model: Path, version: str, now: datetime | None = None, **more: int | None) -> ModelTarget:
        return add_model(self.folder, model, "detector", version, self.keys, expiry=Expiry(now=now), **more)

    def refresh(self, now: datetime | None = None) -> None:
        refresh_repository(self.folder, RoleKeys(online=self.keys.online), Expiry(now=now))


def write_model(path: Path, number: int = 0) -> None:
    """Write a model. Models with other numbers have other bytes, behind the end of the flatbuffer."""
    save(classifier(), path)
    path.write_bytes(path.read_bytes() + bytes([number]) * 4000)


def client(publisher: Publisher, cache: Path, location: str | None = None) -> ModelRepository:
    """Return a client of the publisher's repository, at ``location`` or in its folder."""
    return ModelRepository(location or str(publisher.folder), publisher.root, cache)


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def http_server(folder: Path) -> Iterator[str]:
    """Serve the files of ``folder`` with Python's server of static files; yield its address."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
