"""Runs of the camera loop with updates, for tests: a publisher, a run in a thread, and waiting for its events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.session import CameraSession
from tests.host.camera.serving.real_servers import server_of
from tests.host.update.repository.repositories import Publisher

#: How long a test waits for an event.
LIMIT_S = 180.0


def copy_of(name: str, path: Path, padding: int = 0) -> Path:
    """Write a zoo model to ``path``, with ``padding`` bytes behind it that no reader looks at. Another number of bytes
    makes another version with the same answers."""
    server = server_of(name)
    data = server.model.path.read_bytes()
    server.close()
    path.write_bytes(data + bytes(padding))
    return path


class Collector:
    """A sink that keeps (number of the frame, model, answer) of every served frame."""

    def __init__(self) -> None:
        self.served: list[tuple[int, str, Answer | None]] = []

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        self.served.append((served.sequence, served.model, served.answer))

    def close(self) -> None:
        pass


class Run:
    """A run of the loop in a thread. ``record`` is its record after the run."""

    def __init__(self, session: CameraSession) -> None:
        self.session = session
        self.collector = Collector()
        session.loop.sinks.append(self.collector)
        self.record: dict[str, Any] = {}
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.record = self.session.run().to_json()
        except BaseException as error:
            self.error = error

    @property
    def updates(self) -> dict[str, Any]:
        updates: dict[str, Any] = self.session.servers.parts["updates"]()
        return updates

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.updates["events"] if event["event"] == kind]

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait until ``condition`` is true."""
        limit = time.monotonic() + LIMIT_S
        while not condition():
            assert self._thread.is_alive(), self.error
            assert time.monotonic() < limit, self.updates
            time.sleep(0.02)

    def wait_for_event(self, kind: str) -> dict[str, Any]:
        self.wait_for(lambda: self.events(kind))
        return self.events(kind)[0]

    def wait_for_frames(self, count: int) -> None:
        """Wait until ``count`` more frames are served."""
        goal = len(self.collector.served) + count
        self.wait_for(lambda: len(self.collector.served) >= goal)

    def end(self) -> dict[str, Any]:
        """End the run, and return its record."""
        self.session.stop()
        self._thread.join(LIMIT_S)
        assert self.error is None, self.error
        return self.record


@contextmanager
def camera_run(
    publisher: Publisher, model: Path, location: str | None = None, **options: Any
) -> Iterator[Run]:
    """Run the loop on the synthetic source, with short times for updates."""
    settings: dict[str, Any] = {
        "sources": ("synthetic",),
        "pace": "file",
        "model": str(model),
        "repository": location or str(publisher.folder),
        "trusted_root": publisher.root,
        "check_every_s": 1.0,
        "shadow_s": 0.5,
        "probation_s": 1.0,
    }
    with CameraSession(CameraOptions.of(**{**settings, **options})) as session:
        run = Run(session)
        try:
            yield run
        finally:
            session.stop()
            run._thread.join(LIMIT_S)
