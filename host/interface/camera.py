"""``Camera``: run a model on the frames of a camera, a video or pictures, and iterate over the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arenite.errors import UsageError

if TYPE_CHECKING:
    from arenite.host.camera.frames.served_frame import ServedFrame
    from arenite.host.camera.summary import CameraResult


class Camera:
    """A camera loop as a context manager that yields answers.

        with arenite.Camera(model="blazeface", source="/dev/video0") as camera:
            for served in camera:
                print(served.answer)

    ``model`` and ``source`` have the same values as the options of ``arenite camera``. ``options`` are fields of
    ``CameraOptions``, such as ``frames``, ``limits`` and ``runtime``. The loop runs in its own thread. It stops at the
    end of the ``with`` block or of the ``for`` loop. A program that is slower than a live camera misses the oldest
    answers.

    Raises ``AreniteError`` at the start of the ``with`` block if the model or the source cannot be opened, and from the
    iterator if the loop fails.
    """

    def __init__(
        self,
        model: str = "blazeface",
        source: str = "auto",
        *,
        report: Callable[[str], None] = lambda text: None,
        **options: Any,
    ) -> None:
        from arenite.host.camera.options import CameraOptions
        from arenite.host.camera.session import CameraSession

        self._session = CameraSession(CameraOptions.of(model=model, sources=(source,), **options), report)
        self._open = False

    def __enter__(self) -> Camera:
        self._session.__enter__()
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        self._session.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[ServedFrame]:
        if not self._open:
            raise UsageError("The camera is not open.", "Use it as `with arenite.Camera(...) as camera:`.")
        return self._session.stream()

    def run(self) -> CameraResult:
        """Process frames until a limit or the end of the source is reached, without yielding answers, and return the
        result."""
        if not self._open:
            raise UsageError("The camera is not open.", "Use it as `with arenite.Camera(...) as camera:`.")
        return self._session.run()

    def stop(self) -> None:
        """End the loop. Any thread may call this method."""
        self._session.stop()

    @property
    def result(self) -> CameraResult | None:
        """The result of the run (frames, stage times, energy and temperatures), or None while the loop runs."""
        return self._session.result

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.camera/1``. Raises ``UsageError`` before the run has ended."""
        if self.result is None:
            raise UsageError("The camera loop has not ended.", "Read the result after the loop.")
        return self.result.to_json()
