"""A fleet with a server and a gateway, which run as programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arenite.host.cli.main import main
from tests.host.cli.conftest import Arenite
from tests.host.fleet.broker_helpers import until
from tests.host.gateway.smp_plant import Program


def hash_of(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()


@contextmanager
def program(log: Path, *arguments: str) -> Iterator[None]:
    log.unlink(missing_ok=True)
    with Program(log, *arguments) as running:
        yield
        running.stop()


class Plant:
    """A fleet with a server, and a gateway to its devices, which have the board ``board``."""

    def __init__(self, folder: Path, port: int, arenite: Arenite, board: str) -> None:
        self._folder, self._arenite, self._board = folder, arenite, board
        self.url, self._broker = f"sqlite:{folder / 'fleet.db'}", f"127.0.0.1:{port}"
        self.log = folder / "gateway.log"
        (folder / "images").mkdir(exist_ok=True)

    def fleet(self, *words: str) -> Any:
        return self._arenite("fleet", *words, "--database", self.url, "--json").json

    def roll_out(self, number: int, release: str, image: bytes | None) -> Any:
        """Roll a release out. Return what became of the rollout."""
        self.add(release, image)
        return self.finish(number, release)

    def start(self, release: str, soak_s: int = 1) -> None:
        """Start the rollout of a release that was added."""
        settings = [f"--set=soak_s={soak_s}", "--set=min_inferences=0", "--set=min_heartbeats=1"]
        self.fleet("rollout", "start", release, *settings)

    def finish(self, number: int, release: str) -> Any:
        """Start the rollout of a release that was added. Return what became of it."""
        self.start(release)
        show = ("rollout", "show", str(number))
        until(lambda: self.fleet(*show)["state"] not in ("running", "rolling_back"))
        return self.fleet(*show)

    def add(self, release: str, image: bytes | None, **fields: str) -> None:
        """Add a release. ``fields`` are further ones of its image."""
        if image is not None:
            (self._folder / "images" / f"{release}.bin").write_bytes(image)
        self._add(release, image=hash_of(image or b"nobody has it"), **fields)

    def add_pair(self, release: str, firmware: bytes, model: bytes) -> None:
        """Add a release whose firmware and model change together."""
        for kind, image in (("firmware", firmware), ("model", model)):
            (self._folder / "images" / f"{release}.{kind}.bin").write_bytes(image)
        self._add(release, firmware=hash_of(firmware), model=hash_of(model))

    def _add(self, release: str, **fields: str) -> None:
        entry = {"board": self._board, **fields}
        file = self._folder / f"{release}.json"
        file.write_text(json.dumps({"schema": "arenite.release/1", "release": release, "images": [entry]}))
        assert main(["fleet", "rollout", "add", str(file), "--database", self.url]) == 0

    @contextmanager
    def server(self) -> Iterator[None]:
        log = self._folder / "server.log"
        words = ("fleet", "serve", "--database", self.url, "--broker", self._broker, "--fleet", "plant")
        with program(log, *words):
            until(lambda: b"Serving" in log.read_bytes())
            yield

    @contextmanager
    def gateway(self, *devices: str) -> Iterator[None]:
        words = ("gateway", "--broker", self._broker, "--fleet", "plant", "--heartbeat", "1")
        paths = ("--images", str(self._folder / "images"), "--state", str(self._folder / "state"))
        with program(self.log, *words, *paths, *(f"--device={device}" for device in devices)):
            yield
