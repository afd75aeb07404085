"""Start a model in a process of its own (``shadow_worker.py``), and ask it for answers to frames."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from arenite.errors import ModelError
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.updates.frame_pipe import send_frame
from arenite.processes import Child

WORKER = (sys.executable, "-m", "arenite.host.camera.updates.shadow_worker")
#: Time in seconds after which a model that gives no answer has failed: while it is opened, and for a frame.
OPEN_TIMEOUT_S, FRAME_TIMEOUT_S = 180.0, 60.0


class ShadowProcess:
    """A model in a process of its own. Use it as a context manager. ``stop`` ends it from another thread.

    Attributes:
        facts: what ``shadow_worker.open_candidate`` found out about the model.
    """

    def __init__(
        self,
        name: str,
        options: CameraOptions,
        previous: CameraModel,
        slots: int,
        format: Format,
        window: CropWindow | None,
    ) -> None:
        """``name`` is for messages, ``previous`` is the model that serves, and ``slots`` is the number of frames that
        the loop processes at the same time."""
        self._name = name
        self._request = {
            "options": options,
            "previous": previous,
            "slots": slots,
            "format": format,
            "window": window,
        }
        self.facts: dict[str, Any] = {}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - ``close`` closes it
        self._late = False
        self._stopped = False
        self._child: Child | None = None

    def __enter__(self) -> ShadowProcess:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Start the process, and open the model. Raises ``ModelError`` if it does not work."""
        child = self._child = Child(
            WORKER, quick_start=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        assert child.stdin is not None
        if self._stopped:
            child.kill()
        with self._limit(OPEN_TIMEOUT_S):
            pickle.dump(self._request, child.stdin)
            child.stdin.flush()
            self.facts = self._reply()

    def serve(self, frame: Frame, window: CropWindow | None) -> tuple[Answer, float]:
        """Return the answer to ``frame``, and the time in milliseconds without the way there and back. The frame is
        released as soon as it was sent. Raises ``ModelError``."""
        child = self._child
        assert child is not None and child.stdin is not None
        with self._limit(FRAME_TIMEOUT_S):
            try:
                send_frame(child.stdin, frame, window)
            finally:
                frame.release()
            reply = self._reply()
        return reply["answer"], reply["ms"]

    def stop(self) -> None:
        """End the process; the call in progress raises ``ModelError``."""
        self._stopped = True
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        child = self._child
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        self._log.close()

    @contextmanager
    def _limit(self, seconds: float) -> Iterator[None]:
        """Kill the process if the block takes longer than ``seconds``. Raises ``ModelError`` if the process ended."""
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise ModelError(
                self._failure(seconds), "Publish a model that works on this computer."
            ) from error
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._late = True
        if self._child is not None:
            self._child.kill()

    def _reply(self) -> dict[str, Any]:
        assert self._child is not None and self._child.stdout is not None
        reply: dict[str, Any] = pickle.load(self._child.stdout)
        if "problem" in reply:
            raise ModelError(reply["problem"], "Publish a model that works on this computer.")
        return reply

    def _failure(self, seconds: float) -> str:
        assert self._child is not None
        if self._late:
            return f"{self._name} gave no answer within {seconds:g} s."
        if self._stopped:
            return f"The check of {self._name} was stopped."
        status = self._child.wait()
        self._log.seek(0)
        lines = [line for line in self._log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        last = f" Its last line was: {lines[-1].strip()}" if lines else ""
        how = f"crashed ({signal.Signals(-status).name})" if status < 0 else f"ended with status {status}"
        return f"{self._name} {how} in its own process.{last}"
